// Package prompt is a line that is being typed, in place of the message line. It
// asks a Language what may be typed, and knows no view and no screen.
package prompt

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Language says what may be typed. What it lacks does not matter there.
type Language struct {
	// Wrong is what is wrong with a text so far, nil if nothing.
	Wrong func(text string) *Typo
	// Words are what the word behind a text can become.
	Words func(before, word string) []string
	// Help is said beside a text.
	Help func(text string) string
	// Preview says what a text would do, as far as that is known, and goes on to
	// find it out.
	Preview func(text string) (string, tea.Cmd)
}

// Typo is what is wrong with a text, and from which character on, from 0.
type Typo struct {
	At   int
	Text string
}

// Prompt is a line that is being typed.
type Prompt struct {
	Kind  view.PromptKind
	of    Language
	input textinput.Model

	wrong   *Typo  // what is wrong with it so far
	preview string // what it would do
	offer   []string
	next    int    // of offer, that tab takes next
	base    string // what stands before an offer
}

// New begins with a text.
func New(kind view.PromptKind, value string, of Language) (*Prompt, tea.Cmd) {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 4096
	in.SetVirtualCursor(false) // the terminal's own stands there
	in.SetValue(value)
	in.CursorEnd()
	p := &Prompt{Kind: kind, of: of, input: in}
	return p, tea.Batch(p.input.Focus(), p.Look())
}

// Offer begins with the first of some words behind a text; tab goes on to the
// others.
func Offer(kind view.PromptKind, base string, words []string, of Language) (*Prompt, tea.Cmd) {
	p, cmd := New(kind, base+words[0], of)
	p.base, p.offer = base, words
	return p, cmd
}

// Value is what was typed.
func (p *Prompt) Value() string { return strings.TrimSpace(p.input.Value()) }

// Key takes a key. done says that the line is to go: with what was typed, if
// taken, or without. What is wrong is not taken.
func (p *Prompt) Key(k tea.KeyPressMsg) (cmd tea.Cmd, done, taken bool) {
	switch k.String() {
	case "esc":
		return nil, true, false
	case "enter":
		ok := p.wrong == nil || p.Value() == ""
		return nil, ok, ok
	case "tab":
		return p.complete(1), false, false
	case "shift+tab":
		return p.complete(-1), false, false
	}
	return p.Update(k), false, false
}

// Update takes what was typed or pasted.
func (p *Prompt) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	before := p.input.Value()
	p.input, cmd = p.input.Update(msg)
	if p.input.Value() != before {
		p.offer = nil
	}
	return tea.Batch(cmd, p.Look())
}

// Look says at once what is wrong with the text, and what it would do.
func (p *Prompt) Look() (cmd tea.Cmd) {
	p.wrong, p.preview = nil, ""
	if p.of.Wrong != nil {
		p.wrong = p.of.Wrong(p.input.Value())
	}
	if p.of.Preview != nil && p.wrong == nil {
		p.preview, cmd = p.of.Preview(p.Value())
	}
	return cmd
}

// complete replaces the word at the end by what can stand there.
func (p *Prompt) complete(by int) tea.Cmd {
	if p.offer == nil {
		var word string
		p.base, word = p.split()
		if p.of.Words != nil {
			p.offer = p.of.Words(p.base, word)
		}
		p.next = 0
		if by < 0 {
			p.next = len(p.offer) - 1
		}
	} else {
		p.next = (p.next + by + len(p.offer)) % len(p.offer)
	}
	if len(p.offer) == 0 {
		p.offer = nil
		return nil
	}
	p.input.SetValue(p.base + p.offer[p.next])
	p.input.CursorEnd()
	if len(p.offer) == 1 && strings.HasSuffix(p.offer[0], " ") {
		p.offer = nil // what follows is another word
	}
	return p.Look()
}

// split is the text before the word that is being typed, and that word.
func (p *Prompt) split() (base, word string) {
	v := p.input.Value()
	i := strings.LastIndexByte(v, ' ') + 1
	word = v[i:]
	if p.Kind != view.EntryFilter {
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

// Line is the prompt as it is drawn in so many columns, what is wrong in red. hide
// writes texts as they may be seen, whole ones: a part of a name is not known as one.
func (p *Prompt) Line(columns int, hide func(string) string) widget.Line {
	value, from := p.visible(columns, hide)
	l := widget.Text(widget.Title, p.Kind.Sign())
	good, bad := value[from:], ""
	if p.wrong != nil {
		at := min(max(p.shownAt(p.wrong.At, hide), from), len(value))
		good, bad = value[from:at], value[at:]
	}
	l.Add(widget.Plain, good)
	l.Add(widget.Bad, bad)
	if p.wrong != nil && p.input.Value() != "" {
		l.Add(widget.Muted, "   "+hide(p.wrong.Text))
	} else if p.of.Help != nil {
		l.Add(widget.Muted, "   "+hide(p.of.Help(p.input.Value())))
	}
	return l
}

// visible is the text as it is shown, and from which byte on it fits.
func (p *Prompt) visible(columns int, hide func(string) string) (value string, from int) {
	value = hide(p.input.Value())
	cursor := min(p.shownAt(p.input.Position(), hide), len(value))
	for render.Width(render.Safe(value[from:cursor])) > columns-3-len(p.Kind.Sign()) {
		_, n := utf8.DecodeRuneInString(value[from:])
		from += n
	}
	return value, from
}

// shownAt is the byte of the shown text at which a character of the other stands.
func (p *Prompt) shownAt(at int, hide func(string) string) int {
	v := []rune(p.input.Value())
	return len(hide(string(v[:min(at, len(v))])))
}

// Column is where the cursor stands.
func (p *Prompt) Column(columns int, hide func(string) string) int {
	value, from := p.visible(columns, hide)
	cursor := min(max(p.shownAt(p.input.Position(), hide), from), len(value))
	return min(render.Width(p.Kind.Sign())+render.Width(render.Safe(value[from:cursor])), columns-1)
}

// Keys is the line below: what the text would do, what tab goes on to, or what
// keys do.
func (p *Prompt) Keys() widget.Line {
	var l widget.Line
	if p.preview != "" {
		l.Add(widget.Accent, " "+p.preview+" ")
	}
	if len(p.offer) > 1 {
		l.Add(widget.Muted, " tab:")
		for i, o := range p.offer[max(0, p.next-1):] {
			look := widget.Muted
			if i+max(0, p.next-1) == p.next {
				look = widget.Accent
			}
			l.Add(look, " "+strings.TrimSpace(o))
		}
		return l
	}
	for _, k := range [][2]string{{" enter:", "do it"}, {"  tab:", "complete"}, {"  esc:", "cancel"}} {
		l.Add(widget.Muted, k[0])
		l.Add(widget.Plain, k[1])
	}
	return l
}
