package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/session"
)

// versus compares a response with the versions that its client had.
type versus struct {
	f     *Fetcher
	of    *Fetched
	from  origins
	had   map[string]found // by the form in which names are compared
	gone  map[session.Seq]bool
	state *Fetched // where each response has all there is: what the client had
	stood Edition  // that it is

	whole             bool
	compared, weighed int
}

// found is the version of a resource that was there before.
type found struct {
	edition  Edition
	resource *decode.Resource // nil: it was removed
}

// maxOrigins bounds the responses that are read for one comparison.
const maxOrigins = 500

// read reads the versions that the client had.
func (v *versus) read(ctx context.Context) error {
	at := make(map[session.Seq]What)
	if s := v.from.state; s.seq != 0 {
		at[s.seq] = s.verdict
	}
	for _, o := range v.from.by {
		at[o.seq] = o.verdict
	}
	seqs := make([]session.Seq, 0, len(at))
	for seq := range at {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	v.gone = make(map[session.Seq]bool)
	for i, seq := range seqs {
		if i == maxOrigins {
			for _, rest := range seqs[i:] {
				v.gone[rest] = true
			}
			break
		}
		got, err := v.f.fetchOne(ctx, seq)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || got.Change.Message == nil:
			v.gone[seq] = true
		default:
			v.take(got, at[seq])
		}
	}
	return nil
}

// take takes from a response what the client had by it.
func (v *versus) take(got *Fetched, verdict What) {
	m := got.Change.Message
	edition := func(version string) Edition {
		if version == "" {
			version = m.Version
		}
		return Edition{got.Entry.Seq, version, verdict}
	}
	all := v.from.state.seq == got.Entry.Seq
	if all {
		v.state, v.stood = got, edition("")
	}
	mine := func(name string) bool {
		return all || v.from.by[v.f.index.carried.hash(name)].seq == got.Entry.Seq
	}
	for i := range m.Resources {
		if r := &m.Resources[i]; !r.Empty && mine(r.Name) {
			v.had[decode.NormalName(r.Name)] = found{edition(r.Version), r}
		}
	}
	for _, n := range m.Removed {
		if mine(n) {
			v.had[decode.NormalName(n)] = found{edition(""), nil}
		}
	}
}

// lost says why it is not known what the client had of a resource of which
// nothing was found.
func (v *versus) lost(name string) Knowledge {
	switch {
	case v.gone[v.from.state.seq], v.gone[v.from.by[v.f.index.carried.hash(name)].seq]:
		return LetGo
	case v.state == nil:
		return v.from.accepted
	}
	m := v.state.Change.Message
	if slices.ContainsFunc(m.Resources, func(r decode.Resource) bool { return decode.NormalName(r.Name) == decode.NormalName(name) }) {
		return Unseen // it was prolonged there, and what it was is elsewhere
	}
	return Known
}

func (v *versus) compare() *Against {
	m := v.of.Change.Message
	seq := v.of.Entry.Seq
	verdict := Nothing
	if r, ok := v.f.index.BySeq(seq); ok {
		verdict = v.f.index.Verdict(&r)
	}
	out := &Against{Seq: seq, Type: v.of.Change.Type}
	here := make(map[string]bool, len(m.Resources))
	for i := range m.Resources {
		r := &m.Resources[i]
		version := r.Version
		if version == "" {
			version = m.Version
		}
		c := Compared{Name: r.Name, Kind: diff.Added, New: Edition{seq, version, verdict}}
		normal := decode.NormalName(r.Name)
		here[normal] = true
		have, had := v.had[normal]
		switch {
		case had:
			c.Old = have.edition
		case v.state != nil: // the client had a state that it was not in
			c.Old = v.stood
		}
		switch {
		case r.Empty:
			c.Kind = diff.Same // a heartbeat: the content stays
		case have.resource == nil:
			if !had {
				c.Lost = v.lost(r.Name)
			}
			c.Only = v.only(r)
		case bytes.Equal(have.resource.Body, r.Body) && have.resource.TypeURL == r.TypeURL:
			c.Kind = diff.Same
		case !v.room(len(r.Body) + len(have.resource.Body)):
			c.Kind = diff.Changed
		default:
			types := v.of.Change.Types
			old, now := decode.Decoder{Types: types}.Resource(have.resource), decode.Decoder{Types: types}.Resource(r)
			c.Kind = diff.Changed
			c.Result = diff.Compare(&old.Root, &now.Root, diff.Options{Types: types})
			if c.Result.Same() {
				c.Kind = diff.Same
			}
		}
		out.add(c)
	}
	v.removed(out, m, verdict, here)
	return out
}

// room says whether so many bytes more may be decoded.
func (v *versus) room(bytes int) bool {
	v.compared++
	v.weighed += bytes
	return v.compared <= maxCompared && v.weighed <= maxWeighed
}

// only is the content of a resource that there is one of.
func (v *versus) only(r *decode.Resource) *document.Tree {
	if !v.whole || !v.room(len(r.Body)) {
		return nil
	}
	doc := decode.Decoder{Types: v.of.Change.Types}.Resource(r)
	return &doc.Root
}

// removed adds what the response takes away.
func (v *versus) removed(out *Against, m *decode.Message, verdict What, here map[string]bool) {
	names := m.Removed
	if v.state != nil && !pulse(m) {
		names = slices.Clip(names)
		for i := range v.state.Change.Message.Resources {
			if n := v.state.Change.Message.Resources[i].Name; !here[decode.NormalName(n)] {
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		c := Compared{Name: n, Kind: diff.Removed, New: Edition{out.Seq, m.Version, verdict}}
		if have := v.had[decode.NormalName(n)]; have.resource != nil {
			c.Old, c.Only = have.edition, v.only(have.resource)
		}
		out.add(c)
	}
}

func (a *Against) add(c Compared) {
	a.Count[c.Kind]++
	a.Resources = append(a.Resources, c)
}
