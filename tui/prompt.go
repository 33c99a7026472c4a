package tui

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/menu"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// prompt is a line that is being typed, in place of the message line.
type prompt struct {
	kind  view.PromptKind
	to    view.View // that gets what is typed
	input textinput.Model

	wrong *typo // what is wrong with it so far
	offer []string
	next  int // of offer, that tab takes next
	base  string
}

// typo is what is wrong with a text, and from which character on, from 0.
type typo struct {
	at   int
	text string
}

// Prompt asks for something for the view on top, unless it is asked already.
func (m *Model) Prompt(kind view.PromptKind, value string) tea.Cmd {
	if m.prompt != nil {
		return nil
	}
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 4096
	in.SetVirtualCursor(false) // the terminal's own stands there
	in.SetValue(value)
	in.CursorEnd()
	cmd := in.Focus()
	m.prompt = &prompt{kind: kind, to: m.top(), input: in}
	m.prompt.check(m)
	return cmd
}

func (p *prompt) key(m *Model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.prompt = nil
		return nil
	case "enter":
		return p.accept(m)
	case "tab":
		p.complete(m, 1)
		return nil
	case "shift+tab":
		p.complete(m, -1)
		return nil
	}
	return p.update(m, k)
}

func (p *prompt) update(m *Model, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(msg)
	p.offer = nil
	p.check(m)
	return cmd
}

// check says at once what is wrong.
func (p *prompt) check(m *Model) {
	p.wrong = nil
	switch p.kind {
	case view.EntryFilter:
		p.wrong = wrongFilter(p.input.Value())
	case view.CommandPrompt:
		p.wrong = m.wrongCommand(p.input.Value())
	}
}

// accept does what was typed. What is wrong stays on the screen.
func (p *prompt) accept(m *Model) tea.Cmd {
	value := strings.TrimSpace(p.input.Value())
	if p.wrong != nil && value != "" {
		return nil
	}
	m.prompt = nil
	switch p.kind {
	case view.CommandPrompt:
		return m.command(value)
	case view.NotePrompt:
		return m.writeNote(value)
	case view.ExportPrompt:
		if v, is := p.to.(*menu.Exporter); is {
			return v.Write(m, value)
		}
	}
	f, is := p.to.(view.Filterable)
	if !is {
		return nil
	}
	cmd, err := f.Ask(m, value)
	if err != nil {
		m.Complain(err)
	}
	return tea.Batch(cmd, m.tickAll())
}

// complete replaces the word at the end by what can stand there.
func (p *prompt) complete(m *Model, by int) {
	if p.offer == nil {
		var word string
		p.base, word = p.split()
		p.offer = p.candidates(m, word)
		p.next = 0
		if by < 0 {
			p.next = len(p.offer) - 1
		}
	} else {
		p.next = (p.next + by + len(p.offer)) % max(len(p.offer), 1)
	}
	if len(p.offer) == 0 {
		p.offer = nil
		return
	}
	p.input.SetValue(p.base + p.offer[p.next])
	p.input.CursorEnd()
	p.check(m)
}

// split is the text before the word that is being typed, and that word.
func (p *prompt) split() (base, word string) {
	v := p.input.Value()
	i := strings.LastIndexByte(v, ' ') + 1
	word = v[i:]
	if p.kind != view.EntryFilter {
		return v[:i], word
	}
	if strings.HasPrefix(word, "-") {
		i++
	}
	if j := strings.IndexByte(v[i:], ':'); j >= 0 {
		i += j + 1
		i += strings.LastIndexByte(v[i:], ',') + 1
	}
	return v[:i], v[i:]
}

// line is the prompt as it is drawn, what is wrong in red.
func (p *prompt) line(m *Model) widget.Line {
	value, from := p.visible(m.w)
	l := widget.Text(widget.Title, p.kind.Sign())
	good, bad0 := value, ""
	if p.wrong != nil {
		at := min(max(p.wrong.at-from, 0), len([]rune(value)))
		good, bad0 = string([]rune(value)[:at]), string([]rune(value)[at:])
	}
	l.Add(widget.Plain, good)
	l.Add(widget.Bad, bad0)
	if p.wrong != nil && p.input.Value() != "" {
		l.Add(widget.Muted, "   "+p.wrong.text)
	} else if m.prompt.kind != view.NotePrompt {
		l.Add(widget.Muted, "   "+p.help(m))
	}
	return l
}

// visible is the part of the text that fits, and at which character it begins.
func (p *prompt) visible(columns int) (string, int) {
	v := []rune(p.input.Value())
	from := 0
	for render.Width(render.Safe(string(v[from:p.input.Position()]))) > columns-3-len(p.kind.Sign()) {
		from++
	}
	return string(v[from:]), from
}

func (p *prompt) cursor(m *Model) *tea.Cursor {
	value, from := p.visible(m.w)
	before := string([]rune(value)[:p.input.Position()-from])
	row := m.h - 2
	return tea.NewCursor(min(render.Width(p.kind.Sign())+render.Width(render.Safe(before)), m.w-1), row)
}

func (p *prompt) help(m *Model) string {
	switch p.kind {
	case view.EntryFilter:
		if p.input.Value() == "" {
			return "client:gw-* type:eds,cds -kind:ack   sev:error   text:\"duplicate address\""
		}
	case view.RowFilter:
		return "words that a row must have"
	case view.ExportPrompt:
		return "nothing is overwritten"
	case view.TextSearch:
		return "words that a line must have; n and N go on"
	case view.CommandPrompt:
		return m.helpCommand(p.input.Value())
	}
	return ""
}

func (p *prompt) keys(*Model) widget.Line {
	if len(p.offer) > 1 {
		l := widget.Text(widget.Muted, " tab:")
		for i, o := range p.offer[max(0, p.next-1):] {
			look := widget.Muted
			if i+max(0, p.next-1) == p.next {
				look = widget.Accent
			}
			l.Add(look, " "+o)
		}
		return l
	}
	return widget.Spans(widget.In(widget.Muted, " enter:"), widget.In(widget.Plain, "do it"), widget.In(widget.Muted, "  tab:"), widget.In(widget.Plain, "complete"), widget.In(widget.Muted, "  esc:"), widget.In(widget.Plain, "cancel"))
}
