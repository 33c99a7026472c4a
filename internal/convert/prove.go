package convert

import (
	"context"
	"os"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Extent is how much of a session a proof holds.
type Extent uint8

// The extents, from the least to the most.
const (
	TheEntries Extent = iota // of the findings, and what explains them
	TheStreams               // on which they are
	TheWay                   // that led there: what was said with their clients up to the last of them
	TheClients               // that they are about
	TheSession
)

// Proof is what a part of a session is to prove.
type Proof struct {
	Findings []check.Finding // of the session, as Fold leaves them
	Seqs     []session.Seq   // entries that are to be in it, too
	// From makes all entries from this one on a part of every extent; 0: none.
	From session.Seq
	// Way asks for TheWay at least, if that takes no more bytes: without it a
	// client that is played to may not come to where the finding is. One with a
	// stream for each type asks for listeners once it has clusters.
	Way int64
	// Judge is how the session was judged.
	Judge check.Options
}

// Prove writes the least part of a session in which the rules find again what
// they found in the session: see Cut. They are asked. The walk visits the session
// and says of no entry that it is chosen; it is done several times. What ctx ends
// leaves no file.
func Prove(ctx context.Context, path string, of recorder.Facts, walk Walk, p *Proof, o CutOptions) (Result, Extent, error) {
	choice := choiceOf(p)
	if p.Way > 0 {
		if err := choice.learn(walk); err != nil {
			return Result{}, TheWay, err
		}
		done, err := Cut(path, of, choice.walk(walk, TheWay), o)
		if err != nil || done.Entries == 0 {
			return done, TheWay, err
		}
		small := done.Bytes <= p.Way
		if proven, err := p.holds(ctx, path); err != nil || proven && small {
			return done, TheWay, err
		}
		if err := os.Remove(path); err != nil {
			return done, TheWay, err
		}
		if small {
			return p.first(ctx, path, of, walk, choice, o, TheClients, TheSession)
		}
	}
	return p.first(ctx, path, of, walk, choice, o, TheEntries, TheStreams, TheClients, TheSession)
}

// first writes the first of the extents that holds, or the last one.
func (p *Proof) first(ctx context.Context, path string, of recorder.Facts, walk Walk, choice *choice, o CutOptions, extents ...Extent) (done Result, extent Extent, err error) {
	for i, extent := range extents {
		if done, err = Cut(path, of, choice.walk(walk, extent), o); err != nil || done.Entries == 0 {
			return done, extent, err
		}
		if proven, err := p.holds(ctx, path); err != nil || proven || i == len(extents)-1 {
			return done, extent, err
		}
		if err := os.Remove(path); err != nil {
			return done, extent, err
		}
	}
	return done, extent, err
}

// choice says which entries belong to an extent. It learns the streams and
// clients of the wanted entries during the first walk.
type choice struct {
	from    session.Seq // 0: nothing is chosen for its place alone
	last    session.Seq // of those that are wanted
	wanted  map[session.Seq]bool
	streams map[session.StreamID]bool
	clients map[string]bool
}

func choiceOf(p *Proof) *choice {
	c := &choice{from: p.From, wanted: map[session.Seq]bool{}, streams: map[session.StreamID]bool{}, clients: map[string]bool{}}
	for _, seq := range p.Seqs {
		c.wanted[seq] = true
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		for _, seq := range append(slices.Clone(f.Seqs), f.LastSeq) {
			c.wanted[seq] = true
		}
		c.streams[f.Stream] = true
	}
	delete(c.wanted, 0)
	delete(c.streams, 0)
	for seq := range c.wanted {
		c.last = max(c.last, seq)
	}
	return c
}

// learn walks for the streams and clients alone.
func (c *choice) learn(walk Walk) error {
	return c.walk(walk, TheEntries)(func(*session.Entry, *check.Change, bool) error { return nil })
}

func (c *choice) walk(walk Walk, extent Extent) Walk {
	return func(visit Visit) error {
		return walk(func(e *session.Entry, ch *check.Change, _ bool) error {
			if c.wanted[e.Seq] {
				c.streams[e.Stream] = e.Stream != 0
				c.clients[ch.Client] = ch.Client != ""
			}
			chosen := c.wanted[e.Seq] || c.from > 0 && e.Seq >= c.from
			switch extent {
			case TheStreams:
				chosen = chosen || c.streams[e.Stream]
			case TheWay:
				chosen = chosen || e.Seq <= c.last && (c.streams[e.Stream] || c.clients[ch.Client])
			case TheClients:
				chosen = chosen || c.streams[e.Stream] || c.clients[ch.Client]
			case TheSession:
				chosen = true
			}
			return visit(e, ch, chosen)
		})
	}
}

// holds says whether the rules find in a recording what it is to prove. One that
// they cannot read to its end is removed.
func (p *Proof) holds(ctx context.Context, path string) (bool, error) {
	found, err := p.found(ctx, path)
	if err != nil {
		_ = os.Remove(path)
		return false, err
	}
	for i := range p.Findings {
		if !slices.ContainsFunc(found, func(f check.Finding) bool { return same(&f, &p.Findings[i]) }) {
			return false, nil
		}
	}
	return true, nil
}

// found is what the rules find in a recording.
func (p *Proof) found(ctx context.Context, path string) ([]check.Finding, error) {
	r, err := recorder.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	k := check.NewChecker(p.Judge)
	for e, err := range r.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		k.Step(&e)
	}
	return k.Findings(), nil
}

// Among are those of the findings that it is to prove, all if it is to prove none.
func (p *Proof) Among(found []check.Finding) []check.Finding {
	if len(p.Findings) == 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(found), func(f check.Finding) bool {
		return !slices.ContainsFunc(p.Findings, func(of check.Finding) bool {
			return same(&f, &of) || slices.Contains(of.Clients, f.Client) && f.Rule.ID == of.Rule.ID && f.Type == of.Type
		})
	})
}

// same says whether a finding is the one that was found before.
func same(f, before *check.Finding) bool {
	return f.Rule.ID == before.Rule.ID && f.Client == before.Client && f.Type == before.Type &&
		f.Severity >= before.Severity && slices.Equal(f.Names, before.Names)
}
