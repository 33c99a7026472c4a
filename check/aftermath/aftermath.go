// Package aftermath looks at what comes after: after a rejection, after a
// reconnect, after another server took over. It asks the account of the engine,
// keeps only a few hashes of what is over, and says nothing of what it has forgotten.
package aftermath

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Proof is what goes into a finding.
type Proof struct {
	Names       []string
	Seqs        []session.Seq
	Cause, Same string
	Message     string
}

// Patience is how long a client is left with what it has rejected until that is
// worth a word. A server that waits for somebody to mend the configuration cannot
// do it sooner.
const Patience = 5 * time.Minute

// Await says that a timer is to be set for a rejection: there is one at a time for
// a type on a stream.
func Await(s *engine.Subscription) bool {
	a := engine.Slot[notes](&s.Memory)
	was := a.awaiting
	a.awaiting = true
	return !was && !s.Exempt()
}

// Unresolved says what is wrong if what was rejected has been the newest there is of
// some resource for as long as Patience; or how long it is until that may be so.
func Unresolved(s *engine.Subscription, now time.Time) (p *Proof, more time.Duration) {
	a := engine.Slot[notes](&s.Memory)
	r, is := s.Rejection()
	if !a.awaiting || s.Stream.Ended || s.Lost || !s.Active() || !is {
		a.awaiting = false
		return nil, 0
	}
	if since := now.Sub(r.At); since < Patience {
		return nil, Patience - since
	}
	a.awaiting = false
	p = &Proof{Seqs: []session.Seq{r.Seq, r.By}, Cause: "-", Same: words.Said(r.Why)}
	p.Message = fmt.Sprintf("what was rejected is the newest there is, %s later: %s", words.Round(Patience), p.Same)
	return p, 0
}

func hashOf(c *engine.Content) uint64 { return binary.LittleEndian.Uint64(c.Facts.Hash[:]) }

// Reverted says whether the first response after a reconnect brings contents back
// that had been replaced on the stream before, and remembers what it replaces.
// Endpoints come and go, and are not looked at.
func (m *Memory) Reverted(s *engine.Subscription, n *engine.Response) *Proof {
	t := s.Stream
	if len(n.Changed) == 0 || s.Type == "EDS" || s.Exempt() || s.Variants || n.Foreign || t.Node == nil || t.Node.ID == "" {
		return nil
	}
	mine := engine.Slot[notes](&s.Memory)
	had := m.histories.of(&mine.history, mostHistories, func() uint64 { return m.key(t.Node.ID, t.Server, s.Key) })
	var p *Proof
	if n.Ordinal == 0 && t.Previous != nil && s.Seeded {
		p = m.again(had, n)
	}
	for i, it := range n.Changed {
		if was := n.Before[i]; was.Content != nil {
			m.replaced.add(had, replacement{name: m.key(it.Name), was: hashOf(was.Content), by: n.Seq})
		}
	}
	return p
}

// again says which contents of a response had been replaced before.
func (m *Memory) again(had *history, n *engine.Response) *Proof {
	if had.last == 0 {
		return nil
	}
	is := map[replacement]session.Seq{}
	for i, it := range n.Changed {
		if n.Before[i].Content != nil {
			is[replacement{name: m.key(it.Name), was: hashOf(it.Content)}] = 0
		}
	}
	for r := range m.replaced.of(had) {
		by := r.by
		r.by, r.before = 0, 0
		if found, asked := is[r]; asked && found == 0 {
			is[r] = by
		}
	}
	var p Proof
	for i, it := range n.Changed {
		if n.Before[i].Content == nil {
			continue
		}
		by := is[replacement{name: m.key(it.Name), was: hashOf(it.Content)}]
		if by == 0 {
			continue
		}
		if p.Names = append(p.Names, it.Name); len(p.Names) == 1 {
			p.Seqs = []session.Seq{by, n.Seq}
		}
	}
	if len(p.Names) == 0 {
		return nil
	}
	p.Cause = "-"
	p.Message = fmt.Sprintf("after the reconnect %s again as it was before entry %d replaced it", isOrAre(p.Names), p.Seqs[0])
	return &p
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return words.List(names) + " is"
	}
	return words.List(names) + " are each"
}

// given is all of a type that a server has sent to a client for the same wishes.
type given struct {
	server string
	on     session.StreamID
	seq    session.Seq
	count  int
	sum    [2]uint64
}

// Fallback says whether another server than before sends a client something else
// for the same wishes, after the stream to the one before has ended. That can be
// told of responses that have all of a type.
func (m *Memory) Fallback(k *engine.Engine, s *engine.Subscription, n *engine.Response) *Proof {
	t, r := s.Stream, n.Wanted
	if n.Kind != decode.SotwResponse || !s.Full() || s.Exempt() || n.Foreign || r == nil || r.List == nil ||
		t.Node == nil || t.Node.ID == "" || t.Server == "" || len(n.Heartbeats)+len(n.Nameless) > 0 {
		return nil
	}
	mine := engine.Slot[notes](&s.Memory)
	if mine.asked != r.List.Hash {
		mine.asked, mine.given = r.List.Hash, held[given]{}
	}
	last := m.servers.of(&mine.given, mostServers, func() uint64 {
		return m.key(t.Node.ID, t.Node.Cluster, t.Method.Path, s.Key, strconv.FormatUint(r.List.Hash, 10))
	})
	was, now := *last, given{server: t.Server, on: t.ID, seq: n.Seq, count: n.Count, sum: n.Sum}
	*last = now
	if was.seq == 0 || was.server == now.server || was.sum == now.sum && was.count == now.count || k.Streams[was.on] != nil {
		return nil
	}
	return &Proof{
		Seqs: []session.Seq{was.seq, n.Seq}, Cause: "-",
		Message: fmt.Sprintf("%s from %s has other content than that of %s before: %s, and %s there", s.Type, words.Clip(now.server), words.Clip(was.server),
			words.Counted(now.count, "resource", "resources"), fmt.Sprint(was.count)),
	}
}
