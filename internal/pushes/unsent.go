package pushes

import (
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Who is behind without having been sent anything is told by contents. A resource
// that changed from one content to another is in a line with what it was before;
// a client that still has something of the line, wants the resource, and was not
// sent what others were is behind, if it was in one push with most of them before.
// Others are of no concern, also where they have equal contents: servers give each
// client its own.

// lineKey is a content that a resource had.
type lineKey struct {
	typ, name string
	hash      [16]byte
}

const (
	maxLines  = 1 << 17
	maxAsked  = 64 // changes of a push of which it is asked who has them not
	maxUnsent = 4096
)

type unsentKey struct{ client, typ string }

// follows notes that one content of a resource took the place of another.
func (g *Grouper) follows(typ string, was, is *engine.Resource) {
	if was.Content == nil || is.Content == nil {
		return
	}
	from := lineKey{typ, was.Name, was.Content.Facts.Hash}
	row, ok := g.lines.Get(from)
	if !ok {
		g.nextRow++
		row = g.nextRow
		g.lines.Put(from, row, 1, maxLines)
	}
	to := lineKey{typ, is.Name, is.Content.Facts.Hash}
	if at, ok := g.lines.Get(to); !ok || at != row {
		g.lines.Put(to, row, 1, maxLines)
	}
}

// inLine says whether a content is one that those of a push took the place of.
func (g *Grouper) inLine(ch *changed, hash [16]byte) bool {
	if ch.is[hash] {
		return false
	}
	if ch.was[hash] {
		return true
	}
	row, ok := g.lines.Get(lineKey{ch.typ, ch.name, hash})
	if !ok {
		return false
	}
	for was := range ch.was {
		if at, ok := g.lines.Get(lineKey{ch.typ, ch.name, was}); ok && at == row {
			return true
		}
	}
	return false
}

// freeze fixes who was not sent a push: with the next one contents tell no more.
func (g *Grouper) freeze(k *engine.Engine, p *push) {
	if !p.frozen {
		p.unsent = g.unsentOf(k, p)
		p.frozen = true
		p.touch()
	}
}

// unsents are those who were not sent a push.
func (g *Grouper) unsents(k *engine.Engine, p *push) map[unsentKey]Unsent {
	if !p.frozen && !p.head.Start && p.unsentsAt != g.steps+1 {
		p.unsent, p.unsentsAt = g.unsentOf(k, p), g.steps+1
		p.touch()
	}
	return p.unsent
}

func (g *Grouper) unsentOf(k *engine.Engine, p *push) map[unsentKey]Unsent {
	if p.head.Start {
		return nil
	}
	var news []*changed
	for _, key := range slices.SortedFunc(maps.Keys(p.changes), compareKeys) {
		if ch := p.changes[key]; len(news) < maxAsked {
			news = append(news, ch)
		}
	}
	if len(news) == 0 {
		return nil
	}
	out, alike := make(map[unsentKey]Unsent), make(map[beforeKey]bool)
	for id, cl := range p.server.clients {
		for s := range k.TypesOfClient(id) {
			key := unsentKey{id, s.Type}
			if s.Stream.Ended || s.Lost || !s.Active() || s.Stream.Server != p.server.addr || len(out) >= maxUnsent {
				continue
			}
			if _, known := out[key]; known || p.sent(cl.id, s.Type) {
				continue
			}
			before := beforeKey{typ: s.Type}
			if had := cl.of[s.Type]; had != nil {
				before.push = had.push
			}
			is, asked := alike[before]
			if !asked {
				is = before.push != nil && !before.push.gone && p.joins(before.push, s.Type)
				alike[before] = is
			}
			if !is {
				continue
			}
			for _, ch := range news {
				it := s.Have.Get(ch.name)
				if ch.typ == s.Type && it != nil && it.Content != nil && s.Wants(ch.name) && g.inLine(ch, it.Content.Facts.Hash) {
					n := s.Newest()
					out[key] = Unsent{Client: id, Type: s.Type, Name: ch.name, Owes: n != nil && n.Verdict == engine.Unjudged}
					break
				}
			}
		}
	}
	return out
}

// beforeKey is a push in which a client was last sent a type.
type beforeKey struct {
	push *push
	typ  string
}

// joins says whether most of those who were sent a type were sent it in an earlier
// push, too.
func (p *push) joins(before *push, typ string) bool {
	both, all := 0, 0
	for id := range p.members {
		if p.sent(id, typ) {
			all++
			if before.sent(id, typ) {
				both++
			}
		}
	}
	return all > 0 && 2*both >= all
}

// sent says whether a client was sent something of a type in a push.
func (p *push) sent(id, typ string) bool {
	m := p.members[id]
	return m != nil && m.part(typ) != nil
}
