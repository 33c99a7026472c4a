// Package clients is the view of clients and types: who is in sync with what.
package clients

import (
	"cmp"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is the matrix of clients and types, the worst first.
type View struct {
	view.Plain
	win    widget.Window
	At     string // the client that is selected, "" for the first of the list, whoever that is
	Typ    string // a type line of it, "" for the client itself
	open   map[string]bool
	words  string
	gone   map[string]bool // forgotten
	folds  int             // how often a client was folded or unfolded
	made   []clientRow
	madeOf clientQuery
	titled bool            // titles stand above the rows, as drawn last
	shown  []chosen.Column // as drawn last
}

func New() *View {
	return &View{titled: true, open: make(map[string]bool), gone: make(map[string]bool)}
}

// clientOrder is what clients are sorted by.
type clientOrder uint8

const (
	worstFirst clientOrder = iota
	byName
	latestFirst
	byKind
	clientOrders
)

func (o clientOrder) String() string {
	return [...]string{"worst first", "name", "latest first", "kind"}[o]
}

// Order is what clients are sorted by.
func (v *View) Order(scr view.Screen) clientOrder {
	for o := range clientOrders {
		if o.String() == scr.Choice(v.Title()).Sort {
			return o
		}
	}
	return worstFirst
}

func (v *View) Columns(view.Screen) []chosen.Column { return v.shown }

// SortBy sorts by a column; of those of types, all of them, by how bad it is.
func (v *View) SortBy(scr view.Screen, title string) (tea.Cmd, bool) {
	by, is := map[string]clientOrder{"CLIENT": byName, "KIND": byKind, "LAST": latestFirst}[title]
	if !is {
		by = worstFirst
	}
	scr.Choice(v.Title()).Sort = by.String()
	scr.Say("sorted: %s", by)
	return nil, true
}

// clientRow is a client, or one of its types if that is unfolded.
type clientRow struct {
	of  *engine.ClientStatus
	typ *engine.TypeStatus // nil: the client
	end bool               // the last of its types
}

func (v *View) Title() string { return "Clients" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter"},
		{Act: key.Open, Hint: "timeline", Help: "its messages"},
		{Act: key.Toggle, Hint: "unfold", Help: "its types in detail"},
		{Act: key.Resources, Hint: "resources"},
		{Act: key.Diff, Hint: "diff", Help: "what it rejected last, against what it accepted"},
		{Act: key.Sort, Hint: "sort", Help: "the worst first, by name, the latest first, or by kind"},
		{Act: key.Ladder, Help: "its conversation as a ladder"},
		{Act: key.Reverse},
		{Act: key.Columns},
		{Act: key.Narrower},
		{Act: key.Wider},
		{Act: key.Left, Help: "fold"},
		{Act: key.Right, Help: "unfold"},
		{Act: key.Only, Help: "only rows with this client's name"},
		{Act: key.Not, Help: "no rows with this client's name"},
		{Act: key.Copy, Help: "copy the name"},
	})
}

// clientQuery is what decides which rows there are.
type clientQuery struct {
	of                 *engine.ClientStatus // the first of them: another one each time
	clients, forgotten int
	words              string
	sort               clientOrder
	turned             bool
	folds              int
}

// Rows are the lines below the titles. They are asked for several times a frame,
// and made when they may be other ones.
func (v *View) Rows(scr view.Screen) []clientRow {
	q := clientQuery{nil, len(scr.Seen().Standing), len(v.gone), v.words, v.Order(scr), scr.Choice(v.Title()).Turned, v.folds}
	if len(scr.Seen().Standing) > 0 {
		q.of = &scr.Seen().Standing[0]
	}
	if v.madeOf != q { // nothing was made of nobody
		v.made, v.madeOf = v.makeRows(scr), q
	}
	return v.made
}

func (v *View) makeRows(scr view.Screen) []clientRow {
	var all []*engine.ClientStatus
	for i := range scr.Seen().Standing {
		c := &scr.Seen().Standing[i]
		if v.gone[c.Client] && !c.Gone.IsZero() || !wanted(c, v.words) {
			continue
		}
		all = append(all, c)
	}
	switch v.Order(scr) {
	case byName:
		slices.SortStableFunc(all, func(a, b *engine.ClientStatus) int { return cmp.Compare(a.Client, b.Client) })
	case latestFirst:
		slices.SortStableFunc(all, func(a, b *engine.ClientStatus) int { return b.Last.Compare(a.Last) })
	case byKind:
		slices.SortStableFunc(all, func(a, b *engine.ClientStatus) int { return cmp.Compare(a.Agent, b.Agent) })
	}
	if scr.Choice(v.Title()).Turned {
		slices.Reverse(all)
	}
	var out []clientRow
	for _, c := range all {
		out = append(out, clientRow{of: c})
		if v.open[c.Client] {
			for i := range c.Types {
				out = append(out, clientRow{c, &c.Types[i], i == len(c.Types)-1})
			}
		}
	}
	return out
}

// Preview is how many clients some words would show and hide.
func (v *View) Preview(scr view.Screen, text string) (string, tea.Cmd) {
	shown, of := 0, 0
	for i := range scr.Seen().Standing {
		if c := &scr.Seen().Standing[i]; !v.gone[c.Client] || c.Gone.IsZero() {
			of++
			if wanted(c, text) {
				shown++
			}
		}
	}
	return view.Forecast(shown, of), nil
}

func wanted(c *engine.ClientStatus, words string) bool {
	if words == "" {
		return true
	}
	all := c.Client + " " + c.Agent + " " + c.Version + " " + c.Why
	for _, t := range c.Types {
		all += " " + t.Type + " " + t.State.String() + " " + t.Nack
	}
	return widget.HasWords(all, words)
}

func (v *View) settle(scr view.Screen) []clientRow {
	rows := v.Rows(scr)
	if v.At != "" {
		i := slices.IndexFunc(rows, func(r clientRow) bool { return r.of.Client == v.At && r.typName() == v.Typ })
		if i < 0 {
			i = slices.IndexFunc(rows, func(r clientRow) bool { return r.of.Client == v.At })
		}
		if i >= 0 {
			v.win.At = i
		}
	} else {
		v.win.At = 0
	}
	v.win.Fit(len(rows), v.win.Rows)
	return rows
}

func (r *clientRow) typName() string {
	if r.typ == nil {
		return ""
	}
	return r.typ.Type
}

// keep makes what is at the window's place the selection.
func (v *View) keep(rows []clientRow) {
	if v.win.At < len(rows) {
		v.At, v.Typ = rows[v.win.At].of.Client, rows[v.win.At].typName()
	}
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	rows := v.settle(scr)
	if v.win.Move(a, len(rows)) {
		if v.keep(rows); a == key.First {
			v.At, v.Typ = "", ""
		}
		return nil
	}
	of := scr.Choice(v.Title())
	switch a {
	case key.Filter:
		return scr.Prompt(view.RowFilter, v.words)
	case key.Sort:
		of.Sort = ((v.Order(scr) + 1) % clientOrders).String()
		scr.Say("sorted: %s", of.Sort)
		return nil
	case key.Reverse:
		of.Turned = !of.Turned
		return nil
	case key.Narrower, key.Wider:
		return view.Resize(scr, v, "CLIENT", a)
	case key.Columns:
		return scr.Act(key.Columns, view.Selection{})
	}
	if len(rows) == 0 {
		scr.Say("no client has asked for anything yet")
		return nil
	}
	v.keep(rows)
	r := rows[v.win.At]
	switch a {
	case key.Open:
		return v.openTimeline(scr, &r)
	case key.Toggle:
		v.fold(!v.open[v.At])
	case key.Right:
		v.fold(true)
	case key.Left:
		v.fold(false)
	case key.Resources:
		return scr.Act(key.Resources, view.Selection{Client: v.At})
	case key.Ladder:
		return scr.Act(key.Ladder, v.Selected(scr))
	case key.Diff:
		return scr.Act(key.Diff, v.Selected(scr))
	case key.Only, key.Not:
		return scr.Narrow(view.RowFilter, []string{v.At}, a == key.Not)
	case key.Copy:
		return scr.Copy(scr.Aliases().Name(v.At), "the name")
	}
	return nil
}

func (v *View) fold(open bool) {
	v.folds++
	if v.open[v.At] = open; !open {
		v.Typ = ""
	}
}

// openTimeline shows the messages of a client, from where it went wrong.
func (v *View) openTimeline(scr view.Screen, r *clientRow) tea.Cmd {
	q := "client:" + view.Quoted(r.of.Client)
	if r.typ != nil {
		q += " type:" + r.typ.Type
	}
	if w := worstOf(r); w != nil && w.State > engine.Synced {
		return scr.Timeline(q, w.Seq)
	}
	return scr.Timeline(q, 0)
}

// worstOf is the type that a row is about.
func worstOf(r *clientRow) *engine.TypeStatus {
	if r.typ != nil {
		return r.typ
	}
	var worst *engine.TypeStatus
	for i := range r.of.Types {
		if t := &r.of.Types[i]; worst == nil || t.State > worst.State {
			worst = t
		}
	}
	return worst
}

func (v *View) Selected(scr view.Screen) view.Selection {
	rows := v.settle(scr)
	if len(rows) == 0 {
		return view.Selection{}
	}
	r := rows[v.win.At]
	s := view.Selection{Client: r.of.Client}
	if w := worstOf(&r); w != nil {
		s.Type, s.Seq = w.Type, w.Seq
		if w.State == engine.Nacked {
			s.Seq = w.NackSeq
		} else if row, ok := scr.Log().Index.BySeq(w.Seq); ok && row.What == index.ACK && row.Partner() != 0 {
			s.Seq = row.Partner()
		}
	}
	return s
}

func (v *View) Query() string                { return v.words }
func (v *View) Language() view.PromptKind    { return view.RowFilter }
func (v *View) Tick(scr view.Screen) tea.Cmd { v.settle(scr); return nil }
func (v *View) Where(scr view.Screen) string {
	return v.win.Place(len(v.Rows(scr))) + "   sort: " + v.Order(scr).String()
}

func (v *View) Ask(_ view.Screen, text string) (tea.Cmd, error) {
	v.words = text
	return nil, nil
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	rows := v.settle(scr)
	if v.titled {
		if y == 0 {
			return v.Do(scr, key.Sort)
		}
		y--
	}
	if i := v.win.Top + y; i < len(rows) {
		v.win.At = i
		v.keep(rows)
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}

// About is why the selected client is not in sync.
func (v *View) About(scr view.Screen) widget.Line {
	rows := v.settle(scr)
	if len(rows) == 0 {
		return widget.Line{}
	}
	r := rows[v.win.At]
	name := scr.Aliases().Name(r.of.Client)
	t, gone := worstOf(&r), !r.of.Gone.IsZero()
	ago := ""
	if gone && !scr.Log().Feed.Done() {
		ago = "gone " + render.Age(scr.Seen().At.Sub(r.of.Gone)) + ": "
	}
	if gone && (t == nil || t.State != engine.Nacked) {
		return widget.Text(widget.Muted, name+": "+ago+scr.Aliases().Text(r.of.Why))
	}
	if t == nil {
		return widget.Text(widget.Plain, name+" has asked for nothing")
	}
	l := widget.Spans(widget.In(widget.Plain, name+" "+t.Type+": "))
	l.Add(widget.Muted, ago)
	at := scr.Seen().At
	if isPast(scr, r.of, t) && !gone {
		l.Add(widget.Muted, "when its stream ended, "+render.Age(at.Sub(t.Gone))+" ago: ")
		at = t.Gone
	}
	age := render.Duration(at.Sub(t.Since))
	switch t.State {
	case engine.Nacked:
		l.Add(widget.Bad, "rejected "+render.OrDash(t.Rejected))
		if t.Nacks > 1 {
			l.Add(widget.Bad, ", "+render.Number(int64(t.Nacks))+" times in a row")
		}
		switch {
		case t.Version != "":
			l.Add(widget.Plain, ", accepted "+t.Version)
		case t.None:
			l.Add(widget.Plain, ", accepted none")
		}
		l.Add(widget.Plain, "; "+fmt.Sprintf("%q", scr.Aliases().Text(t.Nack)))
		if gone {
			l.Add(widget.Muted, "; "+scr.Aliases().Text(r.of.Why))
		}
	case engine.Stale:
		l.Add(widget.Warned, "no answer to "+render.OrDash(t.Sent)+" for "+age)
	case engine.Pending:
		l.Add(widget.Plain, render.OrDash(t.Sent)+" was sent "+age+" ago")
	case engine.Unknown:
		l.Add(widget.Warned, "what it made of "+render.OrDash(t.Sent)+" cannot be told")
	case engine.NotSent:
		l.Add(widget.Warned, "asked "+age+" ago, and nothing came")
	default:
		l.Add(widget.Good, "in sync")
		if t.Version != "" {
			l.Add(widget.Plain, " with "+t.Version)
		}
		l.Add(widget.Plain, " for "+age)
	}
	typ := t.Type
	if r.typ == nil {
		typ = ""
	}
	aboutEffect(scr, &l, r.of.Client, typ)
	return l
}
