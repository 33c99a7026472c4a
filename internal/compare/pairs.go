package compare

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// sessions is a comparison of two recordings.
type sessions struct {
	f        *Comparison
	a, b     *holder
	name     string
	style    render.Style
	differs  bool
	contents []contentDiff
	masked   int // values that could not be compared
	veiled   int // resources with such
	unkept   int // resources of which it is not known what differs
}

// contentDiff is what differs in the resource that was named.
type contentDiff struct {
	title  string
	result *diff.Result
}

func (s *sessions) client(p clientPair) render.ClientDiff {
	c := render.ClientDiff{Client: p.a, Types: []render.TypeDiff{}}
	switch {
	case !p.inB:
		c.Only = "a"
	case !p.inA:
		c.Only = "b"
	case p.a != p.b:
		c.Other = p.b
	}
	types := s.a.Types(p.a)
	for _, t := range s.b.Types(p.b) {
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for _, t := range types {
		if s.f.Type != "" && t != s.f.Type {
			continue
		}
		if of, any := s.typ(p, t); any {
			c.Types = append(c.Types, of)
		}
	}
	return c
}

// typ compares one type of a client, both sides sorted by name.
func (s *sessions) typ(p clientPair, typ string) (t render.TypeDiff, any bool) {
	t.Type = typ
	var as, bs []engine.Held
	if p.inA {
		as = s.a.Of(p.a, typ)
	}
	if p.inB {
		bs = s.b.Of(p.b, typ)
	}
	for len(as)+len(bs) > 0 {
		var a, b *engine.Held
		if len(bs) == 0 || len(as) > 0 && as[0].Name <= bs[0].Name {
			a = &as[0]
		}
		if len(as) == 0 || len(bs) > 0 && bs[0].Name <= as[0].Name {
			b = &bs[0]
		}
		if a != nil {
			as = as[1:]
		}
		if b != nil {
			bs = bs[1:]
		}
		if s.resource(&t, p, a, b) {
			any = true
		}
	}
	return t, any
}

// resource enters one resource; it returns false of one that was not asked
// for.
func (s *sessions) resource(t *render.TypeDiff, p clientPair, a, b *engine.Held) bool {
	named := a
	if a == nil {
		named = b
	}
	if s.name != "" && named.Name != decode.NormalName(s.name) {
		return false
	}
	pair := render.ResourcePair{Name: named.Name, State: render.PairDiffers}
	if a != nil {
		pair.A = &render.Accepted{Seq: uint64(a.Seq), Version: a.Version}
	}
	if b != nil {
		pair.B = &render.Accepted{Seq: uint64(b.Seq), Version: b.Version}
	}
	switch {
	case a == nil:
		t.OnlyB++
		pair.State = render.PairOnlyB
	case b == nil:
		t.OnlyA++
		pair.State = render.PairOnlyA
	case a.Hash == b.Hash:
		t.Same++
		return true
	default:
		t.Differ++
		was, is := s.a.contents.get(a.Hash), s.b.contents.get(b.Hash)
		switch {
		case s.a.contents.lost(a.Hash), s.b.contents.lost(b.Hash):
			s.unkept++
		case was != nil && is != nil:
			in := decode.Decoder{Types: s.f.Types}
			old, now := in.Resource(was), in.Resource(is)
			if n := max(blank(&old.Root), blank(&now.Root)); n > 0 {
				pair.Masked = n
				s.masked, s.veiled = s.masked+n, s.veiled+1
			}
			r := s.f.compare(old, now)
			if r.Same() { // but for an order that means nothing, and masks
				t.Differ--
				t.Same++
				return true
			}
			if s.name == "" {
				break
			}
			pair.Changes = render.NewChanges(r)
			s.contents = append(s.contents, contentDiff{t.Type + " " + render.Safe(named.Name) + " of " + render.Safe(clientText([]string{p.a})), r})
		}
	}
	s.differs = true
	if s.f.All || s.name != "" {
		from := s.a.made.of(a, nil)
		if b != nil {
			from = s.b.made.of(b, nil)
		}
		pair.Sources, pair.MoreSources = from.list, from.more
		t.Resources = append(t.Resources, pair)
	}
	return true
}
