// Package detail is the view of one entry in full, in several forms.
package detail

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Form is how an entry is shown.
type Form uint8

const (
	FormSummary Form = iota
	FormYAML
	FormJSON
	FormWire
	FormDiff
	Forms
)

func (f Form) String() string { return [...]string{"summary", "yaml", "json", "wire", "diff"}[f] }

// View is one entry in full, in one of several forms.
type View struct {
	view.Text
	Seq    session.Seq
	Form   Form
	within string // the resource that was selected in it, in every form

	page  *page   // that the pane holds
	shown pageKey // what it was made of
	laid  int     // columns that it was laid out for; 0: it does not matter
	stamp int     // and with which aliases
	pages map[pageKey]*page
	order []pageKey // of pages, the oldest first
	asked pageKey   // what a command is at
	busy  bool
	stop  context.CancelFunc // of that command
}

// pageKey says what a page was made of: an entry, its form, and what was known
// around it.
type pageKey struct {
	seq      session.Seq
	form     Form
	partner  session.Seq
	findings int
	private  bool // bytes are left out
}

// page is an entry in one form.
type page struct {
	lines  []widget.TextLine
	lay    func(columns int, alias func(string) string) []widget.TextLine // in place of lines, where the width matters
	weight int                                                            // in lines, of what is kept for lay
	err    error
	peer   *session.Peer // where the connection came from and went; nil if that is not known
	kind   session.Kind
	at     time.Time
}

// maxPages bounds the pages that are kept, maxPageLines their lines.
const (
	maxPages     = 32
	maxPageLines = 2 * mostLines
)

func New(scr view.Screen, seq session.Seq) view.View {
	v := &View{Seq: seq, pages: make(map[pageKey]*page)}
	v.Pane.Width = scr.Width()
	return v
}

func (v *View) Title() string { return "Message" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Form, Hint: "form", Help: "summary, YAML, JSON, bytes, and what is different"},
		{Act: key.Filter, Hint: "search", Help: "search the text"},
		{Act: key.Pair, Hint: "pair"},
		{Act: key.Diff, Hint: "diff"},
		{Act: key.Copy, Hint: "copy", Help: "copy what is under the cursor: a value, or all that is below it"},
		{Act: key.CopyAs, Help: "copy the message in another form"},
		{Act: key.Pager, Hint: "pager", Help: "all of it in the pager: $XDSPROXY_PAGER, $PAGER, or less"},
		{Act: key.PrevStream},
		{Act: key.NextStream, Hint: "next"},
		{Act: key.Older, Help: "the response of this type before, on this stream"},
		{Act: key.Newer, Help: "the next response of this type on this stream"},
		{Act: key.Wrap, Hint: "wrap"},
		{Act: key.Toggle, Help: "fold what is below the line, and unfold it"},
		{Act: key.NextMatch, Help: "next match; of a diff, the next difference"},
		{Act: key.PrevMatch},
		{Act: key.Open, Help: "go to the entry that the line is about"},
		{Act: key.Left, Help: "scroll to the left"},
		{Act: key.Right, Help: "scroll to the right"},
		{Act: key.Violation, Help: "the next entry that a rule found something with"},
		{Act: key.Ladder},
		{Act: key.Mark, Hint: "mark"},
		{Act: key.Only, Help: "only entries with what the line says; tab: of this client, this type, and so on"},
		{Act: key.Not, Help: "none of them"},
		{Act: key.DiffMark},
		{Act: key.Resources},
		{Act: key.Note},
	})
}

// goTo shows another entry, and takes the selection of the timeline along.
func (v *View) goTo(scr view.Screen, seq session.Seq) {
	if seq == v.Seq {
		return
	}
	v.cancel()
	v.Seq = seq
	scr.Follow(seq)
}

func (v *View) cancel() {
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
}

// key is what the page that is wanted is made of.
func (v *View) key(scr view.Screen) pageKey {
	k := pageKey{seq: v.Seq, form: v.Form}
	if v.Form == FormSummary || v.Form == FormDiff {
		if r, ok := scr.Log().Index.BySeq(v.Seq); ok {
			k.partner = r.Partner()
		}
	}
	if v.Form == FormSummary {
		for i := range scr.Seen().Findings {
			if f := &scr.Seen().Findings[i]; f.LastSeq == v.Seq || slices.Contains(f.Seqs, v.Seq) {
				k.findings++
			}
		}
	}
	k.private = v.Form == FormWire && scr.Aliases().On
	return k
}

// Tick asks for the page that is to be shown, if it is not there.
func (v *View) Tick(scr view.Screen) tea.Cmd {
	k := v.key(scr)
	if p := v.pages[k]; p != nil {
		v.put(scr, k, p)
		return nil
	}
	if k.private != v.shown.private {
		v.shown = pageKey{} // what is not to be seen any more does not stay until the other is there
	}
	if v.busy && v.asked == k {
		return nil
	}
	v.cancel()
	ctx, stop := context.WithCancel(scr.Log().Context)
	v.busy, v.asked, v.stop = true, k, stop
	findings := index.Findings(scr.Seen().Findings, v.Seq)
	log := scr.Log()
	return view.Answer(v, func() any {
		p := makePage(ctx, log, k, findings)
		return madePage{k, p, ctx.Err() != nil}
	})
}

type madePage struct {
	key  pageKey
	page *page
	void bool // it was given up
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	made, is := msg.(madePage)
	if !is {
		return v.HandlePager(scr, v, msg)
	}
	if v.asked == made.key {
		v.busy, v.stop = false, nil
	}
	if made.void {
		return nil
	}
	v.keep(made.key, made.page)
	return v.Tick(scr)
}

// keep adds a page, and lets go of old ones.
func (v *View) keep(k pageKey, p *page) {
	if v.pages[k] == nil {
		v.order = append(v.order, k)
	}
	v.pages[k] = p
	lines := 0
	for _, p := range v.pages {
		lines += len(p.lines) + p.weight
	}
	for len(v.order) > 1 && (len(v.order) > maxPages || lines > maxPageLines) {
		lines -= len(v.pages[v.order[0]].lines) + v.pages[v.order[0]].weight
		delete(v.pages, v.order[0])
		v.order = v.order[1:]
	}
}

// put shows a page.
func (v *View) put(scr view.Screen, k pageKey, p *page) {
	if v.shown == k && v.page == p {
		return
	}
	same := v.shown.seq == k.seq && v.shown.form == k.form
	v.shown, v.page, v.laid = k, p, 0
	lines := p.lines
	if p.lay != nil {
		v.laid, v.stamp = v.Pane.Width, scr.Aliases().Stamp()
		lines = p.lay(v.laid, scr.Aliases().Text)
	}
	if same {
		v.Pane.Set(lines)
	} else {
		v.Pane.Restart(lines)
		v.find(v.within)
	}
}

// Within selects a resource of the entry, in each of its forms.
func Within(scr view.Screen, seq session.Seq, name string) view.View {
	v := New(scr, seq).(*View)
	v.within = name
	return v
}

// find selects the line where a resource stands.
func (v *View) find(name string) {
	if name == "" {
		return
	}
	at := slices.IndexFunc(v.Pane.Lines, func(l widget.TextLine) bool { return l.Name == "resource" && l.Value == name })
	if at < 0 {
		at = slices.IndexFunc(v.Pane.Lines, func(l widget.TextLine) bool {
			return l.Value == name && (l.Name == "name" || l.Name == "cluster_name")
		})
	}
	v.Pane.Show(at)
}

// resource is the one that the cursor is on, or that the entry was opened for.
func (v *View) resource() string {
	if at := v.Pane.Current(); at >= 0 && v.ready() && v.Pane.Lines[at].Name == "resource" {
		return v.Pane.Lines[at].Value
	}
	return v.within
}

// ready says whether the pane shows what is wanted.
func (v *View) ready() bool { return v.shown.seq == v.Seq && v.shown.form == v.Form }

// Ask searches for words.
func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	cmd, err := v.Text.Ask(scr, text)
	if err != nil {
		err = fmt.Errorf("%w; v shows other forms", err)
	}
	return cmd, err
}

func (v *View) Selected(scr view.Screen) view.Selection {
	r, ok := scr.Log().Index.BySeq(v.Seq)
	if !ok {
		return view.Selection{Seq: v.Seq}
	}
	w := scr.Log().Index.Words(&r)
	return view.Selection{Client: w.Client, Seq: v.Seq, Type: w.Type, Within: v.resource()}
}

func (v *View) Where(view.Screen) string { return v.Pane.Where() }

func (v *View) About(scr view.Screen) widget.Line {
	if f := scr.Seen().Finding(v.Seq); f != nil {
		return widget.Spans(widget.In(view.SeverityRole(f.Severity), f.Rule.ID+" "), widget.In(widget.Plain, scr.Aliases().Text(f.Message)))
	}
	if to := v.lineEntry(); v.ready() && to != 0 && to != v.Seq {
		return widget.Text(widget.Muted, "enter goes to "+view.SeqText(to))
	}
	return widget.Line{}
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	v.Pane.Click(y - len(v.head(scr, scr.Columns())))
	if twice {
		return v.Do(scr, key.Open)
	}
	return nil
}

// Show goes on to another entry.
func (v *View) Show(seq session.Seq) {
	if seq != v.Seq {
		v.cancel()
		v.Seq = seq
	}
}
