// Package resources is the view of what one client has.
package resources

import (
	"fmt"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is what one client has: the one that is selected in Clients, or that
// was asked for.
type View struct {
	clients chooser
	Win     widget.Window // over the rows, after one for the client
	at      treeKey
	client  string // that was asked for, "" for that of Clients
	beside  string // what was selected in Clients by then

	words  string
	byType bool
	folded map[treeKey]bool
	folds  int

	Forest  *forest   // nil: none yet
	placed  *forest   // in which the selection was looked for
	sought  [2]string // type and name of what is to be selected when it is there
	around  around    // what refers to the selected one
	Asked   treeQuery
	asking  bool
	askedAt time.Time
	took    time.Duration // that the last one took
	shown   []chosen.Column
	titles  int // lines above the rows, as drawn last
}

// chooser is the view in which a client is chosen.
type chooser interface {
	Selected(scr view.Screen) view.Selection
	Empty(scr view.Screen) []widget.Line
}

func New(clients chooser) *View {
	return &View{clients: clients, folded: make(map[treeKey]bool)}
}

func (v *View) Title() string { return "Resources" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter", Help: "words that a resource must have"},
		{Act: key.Open, Hint: "message", Help: "the message that brought it; on the client: the list of clients"},
		{Act: key.Toggle, Hint: "fold"},
		{Act: key.Form, Hint: "by type", Help: "a list by type, or the tree again"},
		{Act: key.Diff, Hint: "diff", Help: "what changed in the resource"},
		{Act: key.Resources, Hint: "next client", Help: "the resources of the next client"},
		{Act: key.Only, Hint: "only", Help: "the messages that carry the resource"},
		{Act: key.Copy, Hint: "copy", Help: "copy the name"},
		{Act: key.Left, Help: "fold, or go to what refers to it"},
		{Act: key.Right, Help: "unfold"},
		{Act: key.Columns},
		{Act: key.Narrower},
		{Act: key.Wider},
		{Act: key.Ladder},
	})
}

// Of is the client whose resources are shown.
func (v *View) Of(scr view.Screen) string {
	now := v.clients.Selected(scr).Client
	if v.client != "" && v.beside == now {
		return v.client
	}
	v.client = ""
	return now
}

func (v *View) Choose(scr view.Screen, client string) {
	if v.Of(scr) != client {
		v.at, v.Win = treeKey{}, widget.Window{Rows: v.Win.Rows}
	}
	v.client, v.beside = client, v.clients.Selected(scr).Client
}

// Select selects a resource of the client, if it has it.
func (v *View) Select(typ, name string) { v.sought = [2]string{typ, name} }

// drawn is what a command brings.
type drawn struct {
	forest *forest
	took   time.Duration
}

// Tick asks for the tree again if the log has grown, and makes rows of it.
func (v *View) Tick(scr view.Screen) tea.Cmd {
	v.settle()
	client := v.Of(scr)
	q := treeQuery{client, scr.Seen().Generation, v.words, v.byType, v.folds}
	if v.asking || client == "" || q == v.Asked {
		return nil
	}
	same := v.Forest != nil && v.Forest.query.client == client
	fresh := q
	fresh.Words, fresh.byType, fresh.folds = v.Asked.Words, v.Asked.byType, v.Asked.folds
	var have *engine.Tree
	var effects map[[2]string]effect.Effect
	if same && (fresh == v.Asked || scr.Now().Sub(v.askedAt) < max(view.Judgement, 4*v.took)) {
		// What is shown is another part of what is known.
		if have, effects = v.Forest.Tree, v.Forest.effects; fresh != v.Asked {
			if q.generation = v.Asked.generation; q == v.Asked {
				return nil
			}
		}
	}
	v.asking, v.Asked = true, q
	if have == nil {
		v.askedAt = scr.Now()
	}
	folded, log := maps.Clone(v.folded), scr.Log()
	return view.Answer(v, func() any {
		begin := time.Now()
		if have == nil {
			have, effects = log.Feed.Tree(client), log.Feed.EffectsOf(client)
		}
		f := Flatten(q, have, folded)
		f.effects = effects
		return drawn{f, time.Since(begin)}
	})
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case drawn:
		v.Forest, v.took, v.asking = msg.forest, msg.took, false
		v.settle()
		return v.Tick(scr)
	case carried:
		if msg.seq == 0 {
			scr.Say("no response that has %s is in the recording any more", scr.Aliases().Name(msg.node.Name))
			return nil
		}
		return scr.Act(key.Open, view.Selection{Seq: msg.seq, Name: msg.node.Name})
	}
	return nil
}

func (v *View) Rows() []treeRow {
	if v.Forest == nil {
		return nil
	}
	return v.Forest.rows
}

// settle puts the window where the selection is; the first place is that of the
// client itself.
func (v *View) settle() {
	rows := v.Rows()
	if v.at != (treeKey{}) && v.placed != v.Forest {
		i := v.Win.At - 1
		if i < 0 || i >= len(rows) || rows[i].key() != v.at {
			if i = slices.IndexFunc(rows, func(r treeRow) bool { return r.key() == v.at }); i >= 0 {
				v.Win.At = i + 1
			}
		}
	}
	v.placed = v.Forest
	if v.sought[1] != "" && v.Forest != nil && v.Forest.query.client == v.Asked.client {
		if i := slices.IndexFunc(rows, func(r treeRow) bool { return r.node != nil && [2]string{r.node.Type, r.node.Name} == v.sought }); i >= 0 {
			v.Win.At = i + 1
			v.keep()
		}
		v.sought = [2]string{}
	}
	v.Win.Fit(len(rows)+1, v.Win.Rows)
}

func (v *View) keep() {
	v.at = treeKey{}
	if r := v.row(); r != nil {
		v.at = r.key()
	}
}

// row is the one that is selected, nil for the client itself.
func (v *View) row() *treeRow {
	if rows := v.Rows(); v.Win.At > 0 && v.Win.At <= len(rows) {
		return &rows[v.Win.At-1]
	}
	return nil
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	v.settle()
	if v.Win.Move(a, len(v.Rows())+1) {
		v.keep()
		return nil
	}
	client := v.Of(scr)
	switch a {
	case key.Filter:
		return scr.Prompt(view.RowFilter, v.words)
	case key.Form:
		v.byType = !v.byType
		return nil
	case key.Narrower, key.Wider:
		return view.Resize(scr, v, "RESOURCE", a)
	case key.Columns:
		return scr.Act(key.Columns, view.Selection{})
	}
	if client == "" {
		scr.Say("no client has asked for anything yet")
		return nil
	}
	if a == key.Resources {
		return v.nextClient(scr, client)
	}
	r := v.row()
	if r == nil {
		return v.doClient(scr, client, a)
	}
	if n := r.node; n != nil {
		switch a {
		case key.Open:
			return v.openMessage(scr, client, n)
		case key.Diff:
			return scr.Act(key.Diff, view.Selection{Client: client, Type: n.Type, Name: n.Name, Seq: n.Seq})
		case key.Only:
			return scr.Act(key.Only, view.Selection{Client: client, Type: n.Type, Name: n.Name})
		case key.Copy:
			return scr.Copy(scr.Aliases().Name(n.Name), "the name")
		case key.Ladder:
			return scr.Act(key.Ladder, v.Selected(scr))
		}
	}
	switch a {
	case key.Open, key.Toggle:
		v.fold(scr, r, !r.folded)
	case key.Left:
		v.fold(scr, r, true)
	case key.Right:
		v.fold(scr, r, false)
	default:
		scr.Say("that is for a resource, and this is a title")
	}
	return nil
}

// doClient is what keys do on the line of the client.
func (v *View) doClient(scr view.Screen, client string, a key.Action) tea.Cmd {
	switch a {
	case key.Open:
		return scr.Act(key.View1, view.Selection{Client: client})
	case key.Only:
		return scr.Act(key.Only, view.Selection{Client: client})
	case key.Copy:
		return scr.Copy(scr.Aliases().Name(client), "the name")
	case key.Ladder:
		return scr.Act(key.Ladder, view.Selection{Client: client})
	default:
		scr.Say("that is for a resource, and this is the client; r goes to the next one")
	}
	return nil
}

// nextClient goes on in the order of Clients.
func (v *View) nextClient(scr view.Screen, client string) tea.Cmd {
	all := scr.Seen().Standing
	i := slices.IndexFunc(all, func(c engine.ClientStatus) bool { return c.Client == client })
	if len(all) < 2 {
		scr.Say("there is no other client")
		return nil
	}
	v.Choose(scr, all[(i+1)%len(all)].Client)
	return v.Tick(scr)
}

func (v *View) fold(scr view.Screen, r *treeRow, close bool) {
	switch {
	case close && (!r.folds || r.folded) && r.depth > 0: // to what refers to it
		for i := v.Win.At - 2; i >= 0; i-- {
			if v.Rows()[i].depth < r.depth {
				v.Win.At = i + 1
				v.keep()
				return
			}
		}
	case !r.folds && r.node != nil && r.node.Again:
		scr.Say("what it refers to stands where it comes first")
	case !r.folds:
		scr.Say("it refers to nothing")
	case close != r.folded:
		if close {
			v.folded[r.key()] = true
		} else {
			delete(v.folded, r.key())
		}
		v.folds++
	}
}

// carried is which response had a resource last.
type carried struct {
	node *engine.Node
	seq  session.Seq
}

// openMessage shows the response that had a resource last.
func (v *View) openMessage(scr view.Screen, client string, n *engine.Node) tea.Cmd {
	switch {
	case n.State == engine.Missing, n.State == engine.NotOverXDS:
		scr.Say("no message carried it: it was not sent")
		return nil
	case n.Seq != 0:
		return scr.Act(key.Open, view.Selection{Seq: n.Seq, Name: n.Name})
	}
	scr.Say("looking for the message that brought it")
	log := scr.Log()
	return view.Answer(v, func() any { return carried{n, log.Fetch.Carrier(log.Context, client, n.Type, n.Name)} })
}

func (v *View) Selected(scr view.Screen) view.Selection {
	s := view.Selection{Client: v.Of(scr)}
	if r := v.row(); r != nil && r.node != nil {
		s.Type, s.Name, s.Seq = r.node.Type, r.node.Name, r.node.Seq
	}
	return s
}

func (v *View) Query() string             { return v.words }
func (v *View) Language() view.PromptKind { return view.RowFilter }

// Preview is how many resources some words would show and hide.
func (v *View) Preview(_ view.Screen, text string) (string, tea.Cmd) {
	if v.Forest == nil {
		return "", nil
	}
	g, shown := flattener{words: text}, 0
	for _, n := range v.Forest.nodes {
		if g.matches(n) {
			shown++
		}
	}
	return view.Forecast(shown, len(v.Forest.nodes)), nil
}

func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	v.words = text
	return v.Tick(scr), nil
}

func (v *View) Where(scr view.Screen) string {
	if v.Of(scr) == "" || v.Forest == nil {
		return "0 of 0"
	}
	s := (&widget.Window{At: v.Win.At - 1}).Place(len(v.Rows()))
	if v.Win.At == 0 {
		s = render.Count(len(v.Rows()), "line", "lines")
	}
	if v.byType {
		return s + "   by type"
	}
	return s + "   tree"
}

// About is what is to say of the resource that is selected.
func (v *View) About(scr view.Screen) widget.Line {
	r := v.row()
	switch {
	case v.Of(scr) == "":
		return widget.Line{}
	case r == nil:
		return widget.Text(widget.Plain, fmt.Sprintf("%s: %s; r: the next client, enter: all clients", scr.Aliases().Name(v.Of(scr)), v.tally()))
	case r.node == nil:
		return widget.Text(widget.Plain, r.title)
	}
	n := r.node
	l := widget.Spans(widget.In(widget.Plain, n.Type+" "+scr.Aliases().Name(n.Name)+": "))
	switch n.State {
	case engine.Missing:
		l.Add(widget.Bad, "something refers to it or asks for it, and it was not sent")
	case engine.NotOverXDS:
		l.Add(widget.Muted, "it was not sent; mostly such a cluster is in the client's bootstrap")
	case engine.Rejected:
		l.Add(widget.Bad, "rejected")
		if t := scr.Seen().Type(v.Of(scr), n.Type); t != nil && t.Nack != "" {
			l.Add(widget.Plain, " by "+fmt.Sprint(uint64(t.NackSeq))+"; "+fmt.Sprintf("%q", scr.Aliases().Text(t.Nack)))
		}
	case engine.Sent:
		l.Add(widget.Warned, "sent, and not answered yet")
	case engine.Uncertain:
		l.Add(widget.Warned, "part of the conversation was not seen")
	default:
		l.Add(widget.Good, "accepted")
		if n.Version != "" {
			l.Add(widget.Plain, " at "+n.Version)
		}
	}
	v.aboutEffect(scr, &l, n)
	if r.section == dangling {
		l.Add(widget.Warned, "; nothing refers to it")
	}
	if n.Again {
		l.Add(widget.Muted, "; what it refers to stands where it comes first")
	}
	return l
}

// tally counts the resources by state.
func (v *View) tally() string {
	if v.Forest == nil {
		return "reading"
	}
	s := render.Count(v.Forest.Total, "resource", "resources")
	for _, state := range []engine.ResourceState{engine.Rejected, engine.Missing, engine.Uncertain, engine.Sent, engine.Acked} {
		if n := v.Forest.States[state]; n > 0 {
			s += fmt.Sprintf("  %s %s", state, render.Number(int64(n)))
		}
	}
	return s
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if y < v.titles {
		v.Win.At = 0
	} else if i := max(v.Win.Top, 1) + y - v.titles; i <= len(v.Rows()) {
		v.Win.At = i
	}
	v.keep()
	if twice {
		return v.Do(scr, key.Open)
	}
	return nil
}

// around is what refers to a resource, worked out once.
type around struct {
	in    *forest
	of    [2]string
	above []*engine.Node
}

// above are the resources that refer to one.
func (v *View) above(n *engine.Node) []*engine.Node {
	of := [2]string{n.Type, n.Name}
	if v.around.in == v.Forest && v.around.of == of {
		return v.around.above
	}
	v.around = around{in: v.Forest, of: of}
	var look func(list []*engine.Node)
	look = func(list []*engine.Node) {
		for _, p := range list {
			if slices.ContainsFunc(p.Children, func(c *engine.Node) bool { return c.Type == n.Type && c.Name == n.Name }) {
				v.around.above = append(v.around.above, p)
			}
			look(p.Children)
		}
	}
	if t := v.Forest.Tree; t != nil {
		look(t.Roots)
		look(t.Dangling)
	}
	return v.around.above
}
