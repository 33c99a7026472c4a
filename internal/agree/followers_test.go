package agree

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// followers are all who tell something of a session: watch, status, tree, diff,
// metrics and check, and what a client accepted. Everything that this test asks
// of the program is asked here.
type followers struct {
	checker   *check.Checker
	table     *render.Table
	metrics   map[string]*admin.Metrics   // by client
	histories map[string]*history.History // by name of a resource
}

// newFollowers follow a session in which there are resources of these names.
func newFollowers(o check.Options, names []string) *followers {
	f := &followers{
		checker: check.NewChecker(o), table: render.NewTable(0, render.Style{}),
		metrics: make(map[string]*admin.Metrics), histories: make(map[string]*history.History),
	}
	for _, name := range names {
		f.histories[name] = history.New(history.Selection{Name: name}, nil)
	}
	return f
}

// step gives the next entry to all of them.
func (f *followers) step(e *session.Entry) check.Change {
	c := f.checker.Step(e)
	f.table.See(e, &c)
	for _, h := range f.histories {
		h.Step(e, &c.Change)
	}
	if e.Kind == session.KindMessage {
		m := f.metrics[c.Client]
		if m == nil {
			m = admin.NewMetrics(nil)
			f.metrics[c.Client] = m
		}
		m.Step(e, &c)
	}
	return c
}

// watched is what a line of watch says of a message.
type watched struct {
	client, typ, what, res string
	also                   []string
}

// watch reads what is printed of the entry that was stepped last.
func (f *followers) watch(e *session.Entry, c *check.Change) watched {
	cells := f.table.Cells(e, c)
	w := watched{client: cells[2], typ: cells[3], what: cells[4], res: cells[6]}
	words := strings.Fields(cells[8])
	for len(words) > 1 && words[0] == "also" {
		w.also, words = append(w.also, words[1]), words[2:]
	}
	return w
}

// line is the same as people read it.
func (f *followers) line(e *session.Entry, c *check.Change) string { return f.table.Line(e, c) }

// standing is what status says of a type of a client; false if nothing. What it
// says of several clients of that name counts as one, of which the worst is shown.
func (f *followers) standing(all []engine.ClientStatus, key laneKey) (out engine.TypeStatus, is bool) {
	for _, c := range all {
		if c.Client != key.client {
			continue
		}
		for _, t := range c.Types {
			if t.Type == key.typ && (!is || t.State > out.State) {
				out, is = t, true
			}
		}
	}
	return out, is
}

// nacksOf is how often a client has rejected in a row, as status says; false if
// it does not say.
func nacksOf(t engine.TypeStatus) (n int, says bool) { return t.Nacks, true }

// nodes are the states of the resources of a client, as tree says.
func (f *followers) nodes(client string) map[typedName]string {
	out := make(map[typedName]string)
	t := f.checker.Tree(client)
	if t == nil {
		return out
	}
	var walk func(list []*engine.Node)
	walk = func(list []*engine.Node) {
		for _, n := range list {
			out[typedName{n.Type, n.Name}] = string(n.State)
			walk(n.Children)
		}
	}
	walk(t.Roots)
	walk(t.Dangling)
	return out
}

type typedName struct{ typ, name string }

// diffed is what diff says of a resource of a client last; false if nothing.
func (f *followers) diffed(key laneKey, name string) (out history.Version, is bool) {
	h := f.histories[name]
	if h == nil {
		return out, false
	}
	for _, v := range h.Versions() {
		if v.Client == key.client && v.Type == key.typ {
			out, is = v, true
		}
	}
	return out, is
}

// accepted is what a client accepted last of a type.
func (f *followers) accepted(key laneKey) map[string][16]byte {
	out := make(map[string][16]byte)
	for h := range f.checker.Held(key.client) {
		if h.Type == key.typ {
			out[h.Name] = h.Hash
		}
	}
	return out
}

// counted is how many responses of a type a client has accepted and rejected, as
// metrics say. Types that have no label of their own are not told apart.
func (f *followers) counted(client string) map[string]map[string]int {
	out := make(map[string]map[string]int)
	if f.metrics[client] == nil {
		return out
	}
	r := prometheus.NewRegistry()
	r.MustRegister(f.metrics[client])
	families, err := r.Gather()
	if err != nil {
		panic(err)
	}
	for _, of := range families {
		word := map[string]string{"xdsproxy_acks_total": engine.ACK, "xdsproxy_nacks_total": engine.NACK}[of.GetName()]
		if word == "" {
			continue
		}
		for _, x := range of.GetMetric() {
			typ := x.GetLabel()[0].GetValue()
			if out[typ] == nil {
				out[typ] = make(map[string]int)
			}
			out[typ][word] = int(x.GetCounter().GetValue())
		}
	}
	return out
}

// rejections is how often check has found that a client rejected a type.
func (f *followers) rejections() map[laneKey]int {
	out := make(map[laneKey]int)
	for _, found := range f.checker.Findings() {
		if found.Rule.ID == "nack-received" {
			out[laneKey{found.Client, found.Type}] += found.Count
		}
	}
	return out
}

// acceptedBefore is the response that was accepted last before a message, as the
// Change of it says; false if it does not say.
func acceptedBefore(c *check.Change) (seq session.Seq, says bool) { return c.Accepted, true }

// carry is which entries a new segment repeats.
type carry struct{ *engine.Engine }

func newCarry() carry { return carry{engine.New(engine.Options{Envelopes: true})} }

// cut is which entries one needs beside those that were chosen.
func cut(all []session.Entry, from int) (context map[session.Seq]bool) {
	x, k := engine.NewExcerpt(), check.NewChecker(check.Options{})
	for i := range all {
		c := k.Step(&all[i])
		x.Step(&all[i], &c.Change, i >= from)
	}
	context = make(map[session.Seq]bool)
	for _, seq := range x.Context() {
		context[seq] = true
	}
	return context
}
