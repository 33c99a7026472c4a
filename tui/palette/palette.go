// Package palette is the list of everything that can be done here, searched by
// typing. It says what was chosen, and does nothing itself.
package palette

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Item is something that can be done: an action, or else a command.
type Item struct {
	Act     key.Action
	Command string // with what follows it, for a command that takes something
	Keys    string
	Help    string
}

func (i *Item) name() string {
	if i.Act != "" {
		return string(i.Act)
	}
	return ":" + strings.TrimSpace(i.Command)
}

// Palette is the list, and the words that its rows must have.
type Palette struct {
	all   []Item
	input textinput.Model
	win   widget.Window
}

// New is a palette of some things, those that matter most first.
func New(all []Item) (*Palette, tea.Cmd) {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 200
	in.SetVirtualCursor(false)
	p := &Palette{all: all, input: in}
	return p, p.input.Focus()
}

// Of is what a view offers, and then what works everywhere.
func Of(offers []key.Offer) (out []Item) {
	here := make(map[key.Action]bool)
	add := func(a key.Action, help string) {
		b := key.BindingOf(a)
		if help == "" {
			help = b.Help
		}
		out = append(out, Item{Act: a, Keys: strings.Join(b.Keys, " "), Help: help})
		here[a] = true
	}
	for _, o := range offers {
		add(o.Act, o.Help)
	}
	for _, a := range key.Global() {
		if !here[a] && a != key.Palette {
			add(a, "")
		}
	}
	return out
}

// Rows are those with the words that were typed: first those that are called so.
func (p *Palette) Rows() []Item {
	var first, rest []Item
	words := p.input.Value()
	for _, i := range p.all {
		switch {
		case words != "" && strings.HasPrefix(strings.TrimPrefix(i.name(), ":"), strings.ToLower(words)):
			first = append(first, i)
		case widget.HasWords(i.name()+" "+i.Help+" "+i.Keys, words):
			rest = append(rest, i)
		}
	}
	return append(first, rest...)
}

// Key takes a key. done says that the palette is to go; chosen is what is to be
// done then, nil if nothing.
func (p *Palette) Key(k tea.KeyPressMsg) (cmd tea.Cmd, chosen *Item, done bool) {
	rows := p.Rows()
	switch k.String() {
	case "esc", "ctrl+p":
		return nil, nil, true
	case "enter":
		if p.win.At >= len(rows) {
			return nil, nil, false
		}
		return nil, &rows[p.win.At], true
	case "up", "shift+tab":
		p.win.Move(key.Up, len(rows))
	case "down", "tab":
		p.win.Move(key.Down, len(rows))
	case "pgup":
		p.win.Move(key.PageUp, len(rows))
	case "pgdown":
		p.win.Move(key.PageDown, len(rows))
	default:
		cmd = p.Update(k)
	}
	return cmd, nil, false
}

// Update takes what was typed or pasted.
func (p *Palette) Update(msg tea.Msg) (cmd tea.Cmd) {
	before := p.input.Value()
	if p.input, cmd = p.input.Update(msg); p.input.Value() != before {
		p.win = widget.Window{Rows: p.win.Rows}
	}
	return cmd
}

const (
	keyColumns  = 14
	nameColumns = 20
	sign        = " do: "
)

// Cover draws the palette over the lowest lines of a screen.
func (p *Palette) Cover(t *widget.Theme, lines []widget.Line, w int) {
	rows := p.Rows()
	room := max(min(len(lines)-3, 16), 1)
	p.win.Fit(len(rows), room)
	box := []widget.Line{widget.Text(widget.Muted, widget.Repeat(t.Glyph.Line, w))}
	box = append(box, p.win.Draw(len(rows), room, func(i int) widget.Line {
		l := widget.Text(widget.Plain, "  ")
		l.Add(widget.Accent, widget.Left(rows[i].Keys, keyColumns))
		l.Add(widget.Plain, widget.Left(rows[i].name(), nameColumns)+" ")
		l.Add(widget.Muted, rows[i].Help)
		return l
	})...)
	if len(rows) == 0 {
		box = append(box, widget.Text(widget.Plain, "  nothing here has these words"))
	}
	for len(box) < room+1 {
		box = append(box, widget.Blank())
	}
	ask := widget.Text(widget.Title, sign)
	ask.Add(widget.Plain, p.input.Value())
	ask.Add(widget.Muted, "   "+render.Number(len(rows))+" of "+render.Count(len(p.all), "action", "actions"))
	keys := widget.Text(widget.Muted, " enter:")
	keys.Add(widget.Plain, "do it")
	keys.Add(widget.Muted, "  up and down:")
	keys.Add(widget.Plain, "choose")
	keys.Add(widget.Muted, "  esc:")
	keys.Add(widget.Plain, "nothing")
	box = append(box, ask, keys)
	copy(lines[max(len(lines)-len(box), 0):], box[max(len(box)-len(lines), 0):])
}

// Column is where the cursor stands, in the line above the last.
func (p *Palette) Column(columns int) int {
	before := string([]rune(p.input.Value())[:p.input.Position()])
	return min(len(sign)+render.Width(render.Safe(before)), columns-1)
}
