// Package fold decides which entries only repeat what a line above says already:
// the rounds in which a server sends what it sent and the client answers what it
// answered, and the polls of REST that bring nothing new. It takes nothing away:
// who asks can show every entry all the same.
//
// A response repeats the one before it on its stream and of its type if version,
// resources and their contents are the same; the nonce may differ. An answer
// repeats the one before it if it is of the same kind, accepts the same version
// and gives the same reason. Whatever else comes on the stream of that type ends
// the run. An entry with which a rule proves something, or that has problems, is
// never folded. Of a poll of REST the request stands for its frames; an equal
// request, or an equal response, repeats that of the poll before.
package fold

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Run is what is folded under one entry.
type Run struct {
	head   session.Seq
	rounds uint64
	last   session.Seq
	into   *Run // of a poll: the run that it belongs to
	poll   bool
}

// root is the run that one belongs to. There is one step at most.
func (r *Run) root() *Run {
	if r.into != nil {
		return r.into
	}
	return r
}

// Same is the run that one is a part of, by which runs can be compared.
func (r *Run) Same() *Run { return r.root() }

// Head is the entry that all of it is folded under; 0 if that has not come yet.
func (r *Run) Head() session.Seq { return r.root().head }

// Rounds are how many times it came again: responses with their answers, or polls.
func (r *Run) Rounds() uint64 { return r.root().rounds }

// Last is the newest entry of it.
func (r *Run) Last() session.Seq { return r.root().last }

// Poll says that the rounds are polls.
func (r *Run) Poll() bool { return r.root().poll }

// Place is where an entry stands.
type Place struct {
	Under *Run // it is folded under the head of this one; nil: it stands for itself
	Round bool // it completes one more round of it
	Ended *Run // the run that it ends, nil if none
}

// maxLines bounds the conversations that are remembered, and the polls that are
// open. What is forgotten is not folded.
const maxLines = 1 << 14

// Folder takes the entries of a session in order. It is not safe for concurrent
// use.
type Folder struct {
	seed  maphash.Seed
	lines recent.Map[lineKey, *line]
	polls recent.Map[session.StreamID, *poll]
}

// New is a Folder that has seen nothing.
func New() *Folder { return &Folder{seed: maphash.MakeSeed()} }

// lineKey is a type on a stream; of polls, the subscription that they are of.
type lineKey struct {
	stream session.StreamID
	typ    string
	polls  *engine.Subscription
}

// line is what was said last of one type. A print of 0 is none.
type line struct {
	response, answer       uint64
	responseSeq, answerSeq session.Seq
	owed                   bool // a response came since the last answer
	run                    *Run
}

// poll is one that is open.
type poll struct {
	run  *Run
	of   *line // once it has asked
	news bool  // something of it stands for itself
}

// Step says where an entry stands; proves is whether a rule proved something with
// it.
func (f *Folder) Step(e *session.Entry, c *engine.Change, proves bool) Place {
	if c.Variant == xds.VariantREST && e.Stream != 0 {
		return f.polled(e, c, proves)
	}
	if e.Kind != session.KindMessage || c.Message == nil || c.Type == "" || e.Stream == 0 {
		return Place{}
	}
	l := f.line(lineKey{stream: e.Stream, typ: c.Type})
	var p Place
	odd := c.Uncertain || len(c.Also) > 0 || len(e.Problems) > 0 || len(c.Message.Problems) > 0
	switch {
	case odd:
		p.Ended = l.forget()
	case c.Response != nil:
		p = l.said(e.Seq, f.ofResponse(c))
	case c.What == engine.ACK || c.What == engine.NACK:
		p = l.answered(e.Seq, f.ofRequest(c))
	default:
		p.Ended = l.forget()
	}
	if proves {
		p.Under = nil
	}
	return p
}

func (f *Folder) line(k lineKey) *line {
	l, known := f.lines.Get(k)
	if !known {
		l = &line{}
		f.lines.Put(k, l, 1, maxLines)
	}
	return l
}

// forget ends what was repeated: the next is news.
func (l *line) forget() *Run {
	ended := l.run
	*l = line{}
	return ended
}

// said takes a response.
func (l *line) said(seq session.Seq, print uint64) Place {
	if print != l.response {
		ended := l.run
		*l = line{response: print, responseSeq: seq, owed: true}
		return Place{Ended: ended}
	}
	l.owed = true
	run := l.under()
	run.last = seq
	if l.answer == 0 { // answers are not among what is folded
		run.rounds++
		return Place{Under: run, Round: true}
	}
	return Place{Under: run}
}

// answered takes an ACK or a NACK.
func (l *line) answered(seq session.Seq, print uint64) Place {
	again := print == l.answer && (l.owed || l.response == 0)
	l.owed = false
	if !again {
		ended := l.run
		l.answer, l.answerSeq, l.run = print, seq, nil
		return Place{Ended: ended}
	}
	run := l.under()
	run.rounds, run.last = run.rounds+1, seq
	return Place{Under: run, Round: true}
}

// under is the run that is folded under what was said last.
func (l *line) under() *Run {
	if l.run == nil {
		l.run = &Run{head: max(l.responseSeq, l.answerSeq)}
	}
	return l.run
}

// polled takes an entry of a poll of REST.
func (f *Folder) polled(e *session.Entry, c *engine.Change, proves bool) Place {
	p, open := f.polls.Get(e.Stream)
	if e.Kind == session.KindOpen {
		p = &poll{run: &Run{poll: true, last: e.Seq}}
		f.polls.Put(e.Stream, p, 1, maxLines)
		return place(p.run, proves || len(e.Problems) > 0)
	}
	if !open || p == nil {
		return Place{}
	}
	odd := proves || c.Uncertain || len(e.Problems) > 0
	switch e.Kind {
	case session.KindMessage:
		return p.message(f, e, c, odd)
	case session.KindHalfClose:
		odd = odd || p.of == nil
	case session.KindHeader:
		status := session.Get(e.Headers, ":status")
		odd = odd || p.of == nil || status != "200" && status != "304" && status != ""
	case session.KindTrailer, session.KindCancel:
		f.polls.Put(e.Stream, nil, 1, maxLines)
		odd = odd || p.of == nil || e.Status == nil || e.Status.WasReset || e.Status.HTTP != 200 && e.Status.HTTP != 304
		if odd || p.news {
			return place(p.run, odd)
		}
		run := p.run.root()
		run.rounds, run.last = run.rounds+1, e.Seq
		return Place{Under: p.run, Round: true}
	default:
		odd = true
	}
	p.news = p.news || odd
	return place(p.run, odd)
}

func place(under *Run, odd bool) Place {
	if odd {
		return Place{}
	}
	return Place{Under: under}
}

// message takes what a poll asks, or what it brings.
func (p *poll) message(f *Folder, e *session.Entry, c *engine.Change, odd bool) Place {
	if c.Message == nil || len(c.Message.Problems) > 0 {
		p.news = true
		return Place{}
	}
	if e.Side == session.Server {
		if p.of == nil || c.Response == nil {
			p.news = true
			return Place{}
		}
		print := f.ofResponse(c)
		same := print == p.of.response
		p.of.response = print
		if odd || !same {
			p.news = true
			return Place{}
		}
		return Place{Under: p.run}
	}
	first := p.of == nil
	if p.of = f.line(lineKey{typ: c.Type, polls: c.Sub}); c.Sub == nil {
		p.of = &line{} // it is of none that is known
	}
	print := f.ofRequest(c)
	if first && !odd && print == p.of.answer && p.of.run != nil {
		p.run.into = p.of.run
		return Place{Under: p.run}
	}
	ended := p.of.run
	if p.news = true; first {
		p.run.head = e.Seq
		p.of.answer, p.of.run = print, p.run
	}
	return Place{Ended: ended}
}

func (f *Folder) ofResponse(c *engine.Change) uint64 {
	n := c.Response
	h := f.hash(c)
	h.numbers(n.Sum[0], n.Sum[1], uint64(n.Count)) // and not its size: the nonce is in it
	h.texts(c.Message.Removed)
	if n.Sum == [2]uint64{} { // an account that does not look at contents
		for i := range c.Message.Resources {
			r := &c.Message.Resources[i]
			h.texts([]string{r.Name, r.Version})
			h.numbers(uint64(len(r.Body)))
			_, _ = h.Write(r.Body)
		}
	}
	return h.sum()
}

func (f *Folder) ofRequest(c *engine.Change) uint64 {
	h := f.hash(c)
	h.texts(c.Message.Names)
	h.texts(c.Added)
	h.texts(c.Removed)
	if err := c.Message.Error; err != nil {
		h.numbers(uint64(uint32(err.Code)))
		h.texts([]string{engine.Reason(err.Message)})
	}
	return h.sum()
}

type hash struct{ maphash.Hash }

func (f *Folder) hash(c *engine.Change) *hash {
	h := &hash{}
	h.SetSeed(f.seed)
	h.texts([]string{c.What, c.Message.Version})
	return h
}

func (h *hash) numbers(all ...uint64) {
	var b [8]byte
	for _, n := range all {
		binary.LittleEndian.PutUint64(b[:], n)
		_, _ = h.Write(b[:])
	}
}

func (h *hash) texts(all []string) {
	h.numbers(uint64(len(all)))
	for _, s := range all {
		h.numbers(uint64(len(s)))
		_, _ = h.WriteString(s)
	}
}

// sum is never 0, which stands for nothing.
func (h *hash) sum() uint64 { return h.Sum64() | 1 }
