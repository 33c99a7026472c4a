// Package aftermath looks at what comes after: after a rejection, after a
// reconnect, after another server took over. It asks the account of the engine,
// keeps of what is over a few hashes, and what it has forgotten it does not tell.
package aftermath

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
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

// awaiting says that there is a timer.
type awaiting struct{ is bool }

// Await says that a timer is to be set for a rejection: there is one at a time for
// a type on a stream.
func Await(s *engine.Subscription) bool {
	a := engine.Slot[awaiting](&s.Memory)
	was := a.is
	a.is = true
	return !was && !s.Exempt()
}

// Unresolved says what is wrong if the newest response has been rejected for as
// long as Patience; or how long it is until that may be so.
func Unresolved(s *engine.Subscription, now time.Time) (p *Proof, more time.Duration) {
	a := engine.Slot[awaiting](&s.Memory)
	n := s.Newest()
	if !a.is || s.Stream.Ended || s.Lost || !s.Active() || n == nil || n.Verdict != engine.NACKed || n.JudgedBy == nil || n.JudgedBy.Message.Error == nil {
		a.is = false
		return nil, 0
	}
	by := n.JudgedBy
	if since := now.Sub(by.At); since < Patience {
		return nil, Patience - since
	}
	a.is = false
	p = &Proof{Seqs: []session.Seq{n.Seq, by.Seq}, Cause: "-", Same: words.Said(by.Message.Error.Message)}
	p.Message = fmt.Sprintf("what was rejected is the newest there is, %s later: %s", words.Round(Patience), p.Same)
	return p, 0
}

const (
	// mostReplaced bounds the resources of all clients of which it is remembered
	// what they were before, and formerContents how many contents of each.
	mostReplaced   = 1 << 15
	formerContents = 4
	// mostServers bounds the types of all clients of which it is remembered what
	// their server sent last.
	mostServers = 1 << 14
)

// Memory is what is remembered of all clients. The least recent is forgotten.
type Memory struct {
	seed     maphash.Seed
	begun    bool
	replaced recent.Map[uint64, [formerContents]former]
	servers  recent.Map[uint64, given]
}

// former is a content that a resource had, and the response that replaced it.
type former struct {
	hash uint64
	by   session.Seq
}

// key is a hash of some words, with a seed that no peer can know.
func (m *Memory) key(words ...string) uint64 {
	if !m.begun {
		m.seed, m.begun = maphash.MakeSeed(), true
	}
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, w := range words {
		h.WriteString(w)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func hashOf(c *engine.Content) uint64 { return binary.LittleEndian.Uint64(c.Facts.Hash[:]) }

// Reverted says whether the first response after a reconnect brings contents back
// that had been replaced on the stream before, and remembers what it replaces.
// Endpoints come and go, and are not looked at.
func (m *Memory) Reverted(s *engine.Subscription, n *engine.Response) *Proof {
	t := s.Stream
	if s.Type == "EDS" || s.Exempt() || s.Variants || n.Foreign || t.Node == nil || t.Node.ID == "" {
		return nil
	}
	var p Proof
	again := n.Ordinal == 0 && t.Previous != nil && s.Seeded
	for i, it := range n.Changed {
		was := n.Before[i]
		if was.Content == nil {
			continue
		}
		k := m.key(t.Node.ID, t.Server, s.Key, it.Name)
		by := m.replace(k, hashOf(was.Content), hashOf(it.Content), n.Seq)
		if by == 0 || !again {
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

// replace notes that a response put another content in the place of one, and says
// which had replaced that other content before; 0: none that is remembered.
func (m *Memory) replace(key, was, now uint64, by session.Seq) (before session.Seq) {
	had, _ := m.replaced.Get(key)
	for _, f := range had {
		if f.by != 0 && f.hash == now {
			before = f.by
			break
		}
	}
	copy(had[1:], had[:])
	had[0] = former{was, by}
	m.replaced.Put(key, had, 1, mostReplaced)
	return before
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return words.List(names) + " is"
	}
	return words.List(names) + " are each"
}

// given is all of a type that a server has sent to a client.
type given struct {
	server string
	on     session.StreamID
	seq    session.Seq
	count  int
	sum    [2]uint64
	asked  uint64 // what the client wanted
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
	now := given{server: t.Server, on: t.ID, seq: n.Seq, count: n.Count, sum: n.Sum, asked: r.List.Hash}
	key := m.key(t.Node.ID, t.Node.Cluster, t.Method.Path, s.Key, fmt.Sprint(now.asked))
	was, known := m.servers.Get(key)
	m.servers.Put(key, now, 1, mostServers)
	if !known || was.server == now.server || was.sum == now.sum && was.count == now.count || k.Streams[was.on] != nil {
		return nil
	}
	return &Proof{
		Seqs: []session.Seq{was.seq, n.Seq}, Cause: "-",
		Message: fmt.Sprintf("%s from %s has other content than that of %s before: %s, and %s there", s.Type, words.Clip(now.server), words.Clip(was.server),
			words.Counted(now.count, "resource", "resources"), fmt.Sprint(was.count)),
	}
}
