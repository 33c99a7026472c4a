package pushes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Heads are the pushes that are remembered, oldest first, from those behind number
// after on. It costs little for those of which nothing has changed since.
func (g *Grouper) Heads(k *engine.Engine, after int) []Head {
	of := g.pushes[min(max(after-g.let, 0), len(g.pushes)):]
	out := make([]Head, len(of))
	for i, p := range of {
		out[i] = g.head(k, p)
	}
	return out
}

// head counts what is in a push.
func (g *Grouper) head(k *engine.Engine, p *push) Head {
	unsent := g.unsents(k, p)
	if p.counted && !slices.ContainsFunc(p.gaps, (*window).lasts) {
		return p.sum
	}
	h := p.head
	h.Types = slices.Clone(h.Types)
	h.Version, h.Burst = p.version(), p.version() == "" && h.Responses > 1
	h.Clients = len(p.members) + len(p.moreClients)
	for _, m := range p.members {
		switch m.state() {
		case Rejects:
			h.Rejected++
		case Pends:
			h.Pending++
		case Gone:
			h.Left++
		case Unclear:
			h.Unclear++
		default:
			h.Accepted++
		}
	}
	h.Unsent = clientsOf(unsent)
	for _, c := range p.listChanges() {
		switch c.How {
		case Added:
			h.Added++
		case Changed:
			h.Changed++
		case Removed:
			h.Removed++
		case Renamed:
			h.Renamed++
		}
	}
	h.Swaps = len(p.swaps)
	for _, w := range p.gaps {
		if h.Gap = max(h.Gap, w.most(g.now)); w.lasts() {
			h.Open++
		}
	}
	p.sum, p.counted = h, true
	return h
}

// clientsOf counts the clients of a list, each of which may be there with several
// types.
func clientsOf(unsent map[unsentKey]Unsent) int {
	ids := make(map[string]bool, len(unsent))
	for key := range unsent {
		ids[key.client] = true
	}
	return len(ids)
}

// Push is one push in full, by its number; false if there is none, or it was
// forgotten.
func (g *Grouper) Push(k *engine.Engine, n int) (Push, bool) {
	i := n - 1 - g.let
	if i < 0 || i >= len(g.pushes) {
		return Push{}, false
	}
	p := g.pushes[i]
	out := Push{Head: g.head(k, p), MoreClients: len(p.moreClients), MoreChanges: len(p.moreChanges), MoreGaps: p.moreGaps}
	for _, t := range p.order {
		out.Each = append(out.Each, t.Type)
	}
	out.Changes = p.listChanges()
	for _, m := range p.members {
		out.Members = append(out.Members, m.list())
	}
	slices.SortFunc(out.Members, func(a, b Client) int {
		return cmp.Or(cmp.Compare(gravity(a.State), gravity(b.State)), strings.Compare(a.Client, b.Client))
	})
	out.Unsents = slices.SortedFunc(maps.Values(p.unsent), func(a, b Unsent) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), cmp.Compare(xds.Rank(a.Type), xds.Rank(b.Type)), strings.Compare(a.Type, b.Type))
	})
	for _, w := range p.gaps {
		out.Missing = append(out.Missing, g.gap(w))
	}
	slices.SortStableFunc(out.Missing, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(b.Most, a.Most), strings.Compare(a.Client, b.Client), strings.Compare(a.Name, b.Name))
	})
	for _, key := range slices.SortedFunc(maps.Keys(p.swaps), compareKeys) {
		s := p.swaps[key]
		out.Moves = append(out.Moves, Swap{
			Type: key.typ, Name: key.name, Instead: slices.Sorted(maps.Keys(s.instead)), Via: slices.Sorted(maps.Keys(s.via)),
			Clients: s.clients, Gapless: s.gapless, Margin: s.margin,
		})
	}
	return out, true
}

// gravity sorts states, the worst first.
func gravity(state string) int {
	return slices.Index([]string{Rejects, Pends, Gone, Unclear, Accepts}, state)
}

func (m *member) list() Client {
	c := Client{Client: m.id, State: m.state(), Order: slices.Clone(m.order), Sent: m.sent, Done: m.done}
	for _, p := range m.parts {
		c.Types = append(c.Types, Part{
			Type: p.typ, State: p.state(), Responses: p.responses, Changed: p.changed, Seq: p.refs[len(p.refs)-1].seq, Sent: p.sent,
			Answer: p.answer, Answered: p.answered, Nacks: p.nacks, Reason: p.reason,
		})
	}
	return c
}

func (g *Grouper) gap(w *window) Gap {
	out := Gap{
		Client: w.client, Type: w.typ, Name: w.name, How: w.how, ByType: w.byType, By: w.by, Instead: w.instead,
		Least: w.least(g.now), Most: w.most(g.now), Open: w.lasts(), Unsure: w.refused || w.until != nil && !w.closed,
		From: w.from.seq, At: w.from.sent,
	}
	if w.until != nil {
		out.Until = w.until.seq
	}
	return out
}

func compareKeys(a, b resourceKey) int {
	return cmp.Or(cmp.Compare(xds.Rank(a.typ), xds.Rank(b.typ)), strings.Compare(a.typ, b.typ), strings.Compare(a.name, b.name))
}

// listChanges are the resources that are not what they were, sorted. One that was
// removed while one with equal content came is one that was renamed.
func (p *push) listChanges() []Change {
	more := make(map[*changed]int)
	for _, w := range p.wholes {
		for _, ch := range w.changes {
			more[ch] += w.clients
		}
	}
	renamed, old := p.renames()
	out := make([]Change, 0, len(p.changes))
	for _, key := range slices.SortedFunc(maps.Keys(p.changes), compareKeys) {
		ch := p.changes[key]
		if old[ch] {
			continue
		}
		c := Change{Type: ch.typ, Name: ch.name, How: Changed, Version: ch.version, Contents: len(ch.is), Clients: ch.changed, Seq: ch.seq}
		if n := ch.added + more[ch]; n > c.Clients {
			c.How, c.Clients = Added, n
		}
		if ch.removed > c.Clients {
			c.How, c.Clients, c.Contents = Removed, ch.removed, 0
		}
		if from := renamed[ch]; from != nil {
			c.How, c.From = Renamed, from.name
		}
		out = append(out, c)
	}
	return out
}

// renames are the resources that were added with what others were that were
// removed, but for the name, where there is only one of each.
func (p *push) renames() (renamed map[*changed]*changed, old map[*changed]bool) {
	type body struct {
		typ  string
		hash uint64
	}
	came, went := make(map[body][]*changed), make(map[body][]*changed)
	for _, ch := range p.changes {
		switch {
		case ch.added > 0 && ch.changed+ch.removed == 0 && ch.body != 0:
			came[body{ch.typ, ch.body}] = append(came[body{ch.typ, ch.body}], ch)
		case ch.removed > 0 && ch.added+ch.changed == 0 && ch.old != 0:
			went[body{ch.typ, ch.old}] = append(went[body{ch.typ, ch.old}], ch)
		}
	}
	for b, from := range went {
		if to := came[b]; len(from) == 1 && len(to) == 1 {
			if renamed == nil {
				renamed, old = make(map[*changed]*changed), make(map[*changed]bool)
			}
			renamed[to[0]], old[from[0]] = from[0], true
		}
	}
	return renamed, old
}
