package menu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Exporter asks what is to be exported, and in which form.
type Exporter struct {
	view.Page
	scopes []scope
	scope  int // of scopes
	form   string
}

// scope is a part of the log that can be exported.
type scope struct {
	text   string // what it is
	name   string // what a file of it is called
	filter string
	seqs   []session.Seq
	rule   string // that the entries prove broken; "" if it is no finding
}

// exportForm is a form that the source can write.
type exportForm struct{ name, ext, help string }

// names says whether a form keeps all names, so that it is not written while they
// are hidden.
func (f exportForm) names() bool {
	return slices.Contains([]string{"xdsp", "zip", "html", "md", "mermaid"}, f.name)
}

// forms are those of a scope.
func (s *scope) forms() []exportForm {
	all := exportForms()
	if s.rule == "" {
		return all[1:]
	}
	return all
}

func exportForms() []exportForm {
	return []exportForm{
		{"zip", "zip", "all that an issue needs: the part that proves it, a report, how to see it again"},
		{"xdsp", "xdsp", "a recording to open again: the entries, and what is needed to understand them"},
		{"md", "md", "a report for a bug tracker: what was recorded, what rules found, a diagram, the messages"},
		{"html", "html", "the same as one page for any browser, with every entry"},
		{"mermaid", "mmd", "a sequence diagram"},
		{"csv", "csv", "one line an entry, for a spreadsheet"},
		{"yaml", "yaml", "the messages in full"},
		{"jsonl", "jsonl", "one object an entry, for programs"},
	}
}

// exportHead is how many lines stand above the forms.
const exportHead = 3

// maxExportSeqs bounds how many entries are named one by one.
const maxExportSeqs = 512

// NewExport asks what is to be written: what is selected, what the filter of
// the timeline takes, or more.
func NewExport(log *view.Log, at view.Selection, filter string) view.View {
	v := &Exporter{scopes: scopes(log, at, filter)}
	v.Win.At = exportHead
	return v
}

// scopes are what can be exported from here, the narrowest first.
func scopes(log *view.Log, at view.Selection, filter string) []scope {
	var out []scope
	if at.Rule != "" {
		out = append(out, scope{text: "this finding: " + at.Rule, name: at.Rule, seqs: at.Proof, rule: at.Rule})
	}
	if at.Seq != 0 {
		s := scope{text: fmt.Sprintf("entry %d", at.Seq), name: fmt.Sprintf("%d", at.Seq), seqs: []session.Seq{at.Seq}}
		if r, ok := log.Index.BySeq(at.Seq); ok && r.Partner() != 0 {
			s.seqs = append(s.seqs, r.Partner())
			s.text += fmt.Sprintf(" and %d, its other half", r.Partner())
		}
		out = append(out, s)
	}
	if q := filter; q != "" {
		out = append(out, scope{text: "what the timeline's filter takes: " + q, name: "filtered", filter: q})
	}
	if marks := log.Index.Marks(); len(marks) > 0 && len(marks) <= maxExportSeqs {
		out = append(out, scope{text: "what is marked: " + render.Count(len(marks), "entry", "entries"), name: "marked", seqs: marks})
	}
	if at.Client != "" && !strings.HasPrefix(at.Client, "conn ") {
		out = append(out, scope{text: "all of client " + at.Client, name: "client", filter: "client:" + view.Quoted(at.Client)})
	}
	return append(out, scope{text: "everything", name: "all"})
}

func (v *Exporter) Title() string { return "Export" }

func (v *Exporter) Keys() []key.Offer {
	return append([]key.Offer{
		{Act: key.Open, Hint: "choose", Help: "write it in this form; the name of the file is asked for"},
		{Act: key.NextPane, Hint: "of what", Help: "export something else: more, or less"},
		{Act: key.PrevPane, Help: "the same, backwards"},
	}, v.Offers()...)
}

func (v *Exporter) Do(scr view.Screen, a key.Action) tea.Cmd {
	all := v.paragraphs(scr)
	if cmd, done := v.Page.Do(scr, a, all); done {
		return cmd
	}
	switch a {
	case key.NextPane:
		v.scope = (v.scope + 1) % len(v.scopes)
	case key.PrevPane:
		v.scope = (v.scope + len(v.scopes) - 1) % len(v.scopes)
	case key.Open:
		if p := v.At(all); p != nil && p.Choice != "" {
			return v.choose(scr, p.Choice)
		}
		scr.Say("choose a form below; tab chooses what is exported")
	}
	return nil
}

func (v *Exporter) paragraphs(scr view.Screen) []widget.Paragraph {
	out := []widget.Paragraph{
		{Head: "Export " + scr.Aliases().Text(v.scopes[v.scope].text), Look: widget.Title},
		{Text: fmt.Sprintf("tab: something else (%d of %d)", v.scope+1, len(v.scopes)), Tone: widget.Muted},
		{},
	}
	for _, f := range v.scopes[v.scope].forms() {
		p := widget.Paragraph{Head: f.name, Look: widget.Accent, Text: f.help, Choice: f.name}
		if f.names() && scr.Aliases().On {
			p.Look, p.Text = widget.Muted, "not while P hides names: it has them"
		}
		out = append(out, p)
	}
	return out
}

// freeName is a message: a name that no file has yet.
type freeName struct{ path, form string }

// choose asks for the name of the file.
func (v *Exporter) choose(scr view.Screen, form string) tea.Cmd {
	all := exportForms()
	f := all[slices.IndexFunc(all, func(f exportForm) bool { return f.name == form })]
	if f.names() && scr.Aliases().On {
		scr.Say("this form keeps the names of clients and resources; P shows them first, other forms write aliases")
		return nil
	}
	base := "xdsproxy-" + v.scopes[v.scope].name
	return view.Answer(v, func() any {
		path := base + "." + f.ext
		for n := 2; n < 1000; n++ {
			if _, err := os.Lstat(path); err != nil {
				break
			}
			path = fmt.Sprintf("%s-%d.%s", base, n, f.ext)
		}
		return freeName{path, f.name}
	})
}

// exported is a message: what came of an export.
type exported struct {
	said string
	err  error
}

func (v *Exporter) Handle(scr view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case freeName:
		if scr.Top() != view.View(v) {
			return nil
		}
		v.form = msg.form
		return scr.Prompt(view.ExportPrompt, msg.path)
	case exported:
		if msg.err != nil {
			scr.Complain(msg.err)
			return nil
		}
		// What is most important is on the message line, the rest in the log.
		lines := strings.Split(strings.TrimSpace(msg.said), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			scr.Say("%s", lines[i])
		}
	}
	return nil
}

// Write exports to a path, beside the loop.
func (v *Exporter) Write(scr view.Screen, path string) tea.Cmd {
	if path == "" || path == "-" {
		scr.Say("nothing was exported: a file needs a name")
		return nil
	}
	s := v.scopes[v.scope]
	request := source.ExportRequest{Form: v.form, Filter: s.filter, Path: filepath.Clean(path), Seqs: s.seqs, Rule: s.rule}
	if scr.Aliases().On {
		request.Private = scr.Aliases().Private()
	}
	scr.Pop(v)
	scr.Say("writing %s", path)
	log := scr.Log()
	return view.Answer(v, func() any {
		said, err := log.Export(log.Context, request)
		return exported{said, err}
	})
}

func (v *Exporter) Draw(scr view.Screen, w, h int) []widget.Line {
	return v.Sheet.Draw(v.paragraphs(scr), w, h)
}

func (v *Exporter) Where(scr view.Screen) string { return v.Sheet.Where(v.paragraphs(scr)) }

func (v *Exporter) About(scr view.Screen) widget.Line {
	if scr.Aliases().On {
		return widget.Text(widget.Warned, "aliases stand for names that are known and for addresses; read it before you give it away")
	}
	return widget.Text(widget.Muted, "secrets stay masked, names are written as they are; P writes aliases instead")
}

func (v *Exporter) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if v.Sheet.Click(v.paragraphs(scr), y) && twice {
		return v.Do(scr, key.Open)
	}
	return nil
}
