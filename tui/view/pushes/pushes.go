// Package pushes is the view of what a control plane changed, one row a change:
// how far it is, who is behind, and what was missing meanwhile.
package pushes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/push"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is the list of pushes, oldest first, and what there is to say of the one
// that is selected. It keeps what package pushes keeps, and one of them in full.
type View struct {
	win   widget.Window // in rows
	at    int           // the push that is selected, 0: the newest, whichever that is
	heads []pushes.Head
	rows  []int32 // those of heads that are to be shown
	past  int     // pushes that came before and were let go
	full  pushes.Push
	known bool // full is there

	words  string
	before []string // words that were set before

	of     uint64 // generation of the index that heads are of
	asked  time.Time
	asking bool
	read   bool // heads were asked for at least once

	listed int  // rows that the last drawing left for the list
	titled bool // it had titles above
}

func New() *View { return &View{titled: true} }

// looked is what a command brings.
type looked struct {
	of    uint64
	heads []pushes.Head
	past  int
	full  pushes.Push
	known bool
	wants int // the push that full was to be
}

func (v *View) Title() string { return "Pushes" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter", Help: "words that a push must have: a type, a version, rejected, pending, gap"},
		{Act: key.Open, Hint: "messages", Help: "the messages of the push"},
		{Act: key.Diff, Hint: "diff", Help: "what changed in what was rejected, or else in the first resource"},
		{Act: key.Pager, Hint: "all", Help: "all that is known of the push, in the pager"},
		{Act: key.Follow, Hint: "follow", Help: "stay with the newest, or with this one"},
		{Act: key.Copy, Hint: "copy", Help: "copy what is known of the push"},
		{Act: key.Unfilter, Help: "the words before"},
		{Act: key.Ladder},
		{Act: key.Resources},
	})
}

// Tick asks, beside the loop, for the pushes if there may be others, and for the one
// that is selected.
func (v *View) Tick(scr view.Screen) tea.Cmd {
	v.settle()
	g, n := scr.Log().Index.Generation(), v.selected()
	turned := n != 0 && v.full.N != n
	if v.asking || v.read && !turned && (g == v.of || scr.Now().Sub(v.asked) < view.Judgement) {
		return nil
	}
	v.asking, v.asked = true, scr.Now()
	feed := scr.Log().Feed
	return view.Answer(v, func() any {
		l := looked{of: g, wants: n}
		l.heads, l.past = feed.Pushes()
		if n != 0 {
			l.full, l.known = feed.Push(n)
		}
		return l
	})
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case looked:
		v.heads, v.past, v.of, v.asking, v.read = msg.heads, msg.past, msg.of, false, true
		v.full, v.known = msg.full, msg.known
		v.full.N = msg.wants
		v.list()
		if v.selected() != msg.wants { // another one was selected meanwhile
			return v.Tick(scr)
		}
	case view.PagerReady, view.PagerDone:
		var text view.Text
		return text.HandlePager(scr, v, msg)
	}
	return nil
}

// list makes the rows anew.
func (v *View) list() {
	v.rows = v.rows[:0]
	for i := range v.heads {
		if v.words == "" || widget.HasWords(words(&v.heads[i]), v.words) {
			v.rows = append(v.rows, int32(i))
		}
	}
	v.settle()
}

// words are what a filter looks at.
func words(h *pushes.Head) string {
	r := push.NewRow(h)
	return strings.Join([]string{r.N, r.LongTime, r.Version, h.Server, strings.Join(h.Types, " "), r.Changed.Text, r.Notable()}, " ")
}

// settle puts the window where the selection is.
func (v *View) settle() {
	v.win.At = len(v.rows) - 1
	if v.at != 0 {
		// The one that is selected may be hidden, or let go: then it is the next.
		if i := slices.IndexFunc(v.rows, func(at int32) bool { return v.heads[at].N >= v.at }); i >= 0 {
			v.win.At = i
		}
	}
	v.win.Fit(len(v.rows), v.win.Rows)
}

// head is the one that is selected, nil if there is none.
func (v *View) head() *pushes.Head {
	if v.win.At >= len(v.rows) {
		return nil
	}
	return &v.heads[v.rows[v.win.At]]
}

// selected is its number.
func (v *View) selected() int {
	if h := v.head(); h != nil {
		return h.N
	}
	return 0
}

// now is the one that is selected in full, nil if it was not read yet.
func (v *View) now() *pushes.Push {
	if n := v.selected(); n == 0 || !v.known || v.full.N != n {
		return nil
	}
	return &v.full
}

func (v *View) Query() string             { return v.words }
func (v *View) Language() view.PromptKind { return view.RowFilter }
func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	if text != v.words {
		v.before = append(v.before[max(0, len(v.before)-maxBefore):], v.words)
	}
	v.words = text
	v.list()
	return v.Tick(scr), nil
}

// Preview is how many pushes some words would show and hide.
func (v *View) Preview(_ view.Screen, text string) (string, tea.Cmd) {
	shown := 0
	for i := range v.heads {
		if widget.HasWords(words(&v.heads[i]), text) {
			shown++
		}
	}
	return view.Forecast(shown, len(v.heads)), nil
}

// maxBefore bounds how many filters are kept to go back to.
const maxBefore = 64

func (v *View) Where(view.Screen) string {
	s := v.win.Place(len(v.rows))
	if v.past > 0 {
		s += fmt.Sprintf("   %s before were let go", render.Number(v.past))
	}
	if v.at == 0 && len(v.rows) > 0 {
		s += "   the newest"
	}
	return s
}

// About is the gist of the push that is selected.
func (v *View) About(view.Screen) widget.Line {
	h := v.head()
	if h == nil {
		return widget.Line{}
	}
	r := push.NewRow(h)
	l := widget.Text(widget.Plain, "push "+r.N)
	if h.Version != "" {
		l.Add(widget.Plain, ", version "+render.Middle(r.Version, 30))
	}
	l.Add(widget.Plain, ": "+render.Count(h.Responses, "response", "responses")+" to "+render.Count(h.Clients, "client", "clients"))
	for _, n := range r.Notes {
		l.Add(widget.Plain, ", ")
		l.Add(role(n.Look), n.Text)
	}
	return l
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if v.titled {
		y--
	}
	if i := v.win.Top + y; y >= 0 && y < v.listed && i < len(v.rows) {
		v.win.At = i
		v.at = v.selected()
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}
