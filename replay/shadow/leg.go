package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

type state uint8

const (
	waiting state = iota // for its turn, or to be opened again
	open
	left // nobody wants it any more
)

// leg is a stream of the recording as a target is asked for it. When the target
// ends its own stream, or cannot be reached, the leg waits, longer each time, and
// asks for everything again. It never holds up others: who reads too slowly for
// maxQueue requests, and who has no turn before its client leaves, is skipped as
// a whole.
type leg struct {
	at     *target
	of     *stream
	state  state
	types  map[string]*asked // on the stream that is open
	likes  map[string]*likeness
	id     session.StreamID // of that stream, in the target's account
	out    chan []byte
	cancel context.CancelFunc
	since  time.Time // it is followed
	begun  time.Time
	again  time.Time
	tries  int
	opens  int  // how often it was opened
	met    bool // the live server has answered
	heard  bool // something has come on the stream that is open
	failed bool // the last one did
}

const (
	maxQueue   = 256
	maxPending = 1024
	// hold is how long the answer to a target waits for the live client's answer to
	// the same content.
	hold = 500 * time.Millisecond
)

// asked is what a target was asked of one type.
type asked struct {
	list           *engine.NameList // state of the world
	nonce, version string           // that were answered, or accepted
	pending        []reply          // that were not answered yet
	at             time.Time        // of the last request for more
	owed           time.Time        // of the first one that was not answered; zero: none
	bad            int              // resources of the last response that are none of the type
}

// reply is a response of a target.
type reply struct {
	nonce, version string
	at             time.Time
}

// heard is what a target said on a stream, or how that ended.
type heard struct {
	leg  *leg
	id   session.StreamID
	data []byte
	err  error
}

// open asks a target for everything that the client of a stream asks for now.
func (s *shadow) open(l *leg) {
	t, of := l.at, s.k.Streams[l.of.id]
	t.opened++
	l.state, l.id, l.begun, l.heard = open, t.opened, time.Now(), false
	l.opens++
	l.types, l.out = map[string]*asked{}, make(chan []byte, maxQueue)
	ctx, cancel := context.WithCancel(s.ctx)
	l.cancel = cancel
	t.step(&session.Entry{Kind: session.KindOpen, Conn: l.of.conn, Stream: l.id, Side: session.Client, Method: l.of.method.Path})
	cc, err := t.link(l.of.conn)
	if err != nil {
		s.fail(l, err)
		return
	}
	id, out := l.id, l.out
	s.legs.Go(func() { s.converse(metadata.NewOutgoingContext(ctx, l.of.md), cc, l, id, out) })
	for _, sub := range of.Order {
		if s.ask(l, sub, nil); l.state != open {
			return
		}
	}
}

// converse carries what is said on one stream of a target. It ends with ctx.
func (s *shadow) converse(ctx context.Context, cc *grpc.ClientConn, l *leg, id session.StreamID, out <-chan []byte) {
	tell := func(h heard) bool {
		h.leg, h.id = l, id
		select {
		case s.heard <- h:
			return true
		case <-ctx.Done():
			return false
		}
	}
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, l.of.method.Path)
	if err != nil {
		tell(heard{err: err})
		return
	}
	s.legs.Go(func() {
		for {
			select {
			case b := <-out:
				if stream.SendMsg(&b) != nil {
					return // the end of the stream says why
				}
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		var b []byte
		if err := stream.RecvMsg(&b); err != nil {
			tell(heard{err: err})
			return
		}
		if !tell(heard{data: b}) {
			return
		}
	}
}

// ask asks for what the client asks for: for all of it, or for what a request
// has changed.
func (s *shadow) ask(l *leg, sub *engine.Subscription, c *engine.Change) {
	if sub.Lost {
		return
	}
	a := l.types[sub.Key]
	first := a == nil
	if first {
		if !sub.Active() {
			return
		}
		a = &asked{}
	}
	r := request{delta: sub.Stream.Delta(), url: sub.URL}
	more := true
	switch {
	case !r.delta:
		list := sub.Last.List
		if list == nil || !first && (list == a.list || slices.Equal(list.Names, a.list.Names)) {
			return
		}
		a.list = list
		if n := len(a.pending); n > 0 { // the request answers it, too
			a.nonce, a.version, a.pending = a.pending[n-1].nonce, a.pending[n-1].version, nil
		}
		r.names, r.nonce, r.version = list.Names, a.nonce, a.version
	case first:
		r.names = slices.Collect(sub.Names.All())
		if sub.Wild != engine.NotWild && (sub.Wild == engine.ExplicitWild || len(r.names) > 0) {
			r.names = append(r.names, "*")
		}
	default:
		r.names, r.unnames = c.Added, c.Removed
		if more = len(r.names) > 0; !more && len(r.unnames) == 0 {
			return
		}
	}
	l.types[sub.Key] = a
	if a.at = time.Now(); more && a.owed.IsZero() {
		a.owed = a.at
	}
	s.say(l, &r)
}

// say sends a request, and gives up a stream that takes none.
func (s *shadow) say(l *leg, r *request) {
	if l.state != open {
		return
	}
	if len(l.types) <= 1 && s.first(l) {
		r.node = l.of.node
	}
	data := r.encode()
	select {
	case l.out <- data:
	default:
		s.sum.Skipped++
		s.once(Behind, "%s does not take what it is asked: %s is skipped, and asked again from where it stands", l.at.Name, l.of)
		s.leave(l)
		s.queue(l, maxBackoff)
		return
	}
	l.at.step(&session.Entry{
		Kind: session.KindMessage, Conn: l.of.conn, Stream: l.id, Side: session.Client,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	})
}

// first says whether nothing was said on the stream that is open.
func (s *shadow) first(l *leg) bool {
	of := l.at.engine.Streams[l.id]
	return of == nil || of.Requests == 0
}

// leave ends the stream to a target.
func (s *shadow) leave(l *leg) {
	for key := range l.likes {
		s.release(l, key)
	}
	if l.state == open {
		if t := l.at; !l.heard && l.met {
			if t.unheard++; t.unheard == 1 {
				t.owing = l.begun
			}
		}
		l.cancel()
		l.at.step(&session.Entry{Kind: session.KindCancel, Conn: l.of.conn, Stream: l.id, Side: session.Client, Status: &session.Status{Code: -1}})
	}
	if l.failed {
		l.failed = false
		l.at.failing--
	}
	l.state = left
}

// queue lets a leg wait before it asks for everything again.
func (s *shadow) queue(l *leg, wait time.Duration) {
	l.state, l.again = waiting, time.Now().Add(wait)
	l.at.line = append(l.at.line, l)
}

// fail notes that a stream of a target has ended.
func (s *shadow) fail(l *leg, err error) {
	t := l.at
	l.cancel()
	st := status.Convert(err)
	if errors.Is(err, io.EOF) {
		st = status.New(codes.OK, "")
	}
	t.step(&session.Entry{
		Kind: session.KindTrailer, Conn: l.of.conn, Stream: l.id, Side: session.Server,
		Status: &session.Status{Code: int32(st.Code()), Message: st.Message()},
	})
	if !l.failed {
		l.failed = true
		t.failing++
	}
	text, key := fmt.Sprintf("it ended a stream with %s", st.Code()), st.Code().String()
	if m := st.Message(); m != "" {
		text += ": " + bounded(m)
	}
	switch {
	case st.Code() == codes.Unimplemented:
		text = fmt.Sprintf("it does not speak %s, as the clients do", l.of.method.Variant)
		key += l.of.method.Name
	case st.Code() == codes.Unavailable && t.Why != nil:
		if text = bounded(t.Why()); text == "" && l.tries == 0 {
			key = "" // what stands between may say so a moment later
		} else if text == "" {
			text = "it cannot be reached"
		}
	case st.Code() == codes.Unavailable:
		if why := t.refused.Load(); why != nil {
			text = "it cannot be reached: " + bounded((*why).Error())
		}
	}
	if key != "" {
		s.trouble(t, key, text)
	}
	wait := min(time.Second/5<<min(l.tries, 10), maxBackoff)
	l.tries++
	s.queue(l, wait/2+rand.N(wait/2))
}

// hear takes what a target says.
func (s *shadow) hear(h heard) {
	l := h.leg
	if l.id != h.id || l.state != open {
		return
	}
	if h.err != nil {
		s.fail(l, h.err)
		return
	}
	now := time.Now()
	c := l.at.step(&session.Entry{
		Kind: session.KindMessage, Conn: l.of.conn, Stream: l.id, Side: session.Server,
		Message: &session.Message{Data: session.Chunks{h.data}, Size: int64(len(h.data)), WireSize: int64(len(h.data))},
	})
	if !l.heard && l.opens > 1 && l.at.index == 0 {
		s.sum.Again++
	}
	l.heard = true
	s.well(l, now)
	if c.Response == nil {
		return
	}
	a := l.types[c.Sub.Key]
	if a == nil {
		s.once(Noted, "%s gives %s, which the client does not ask for", l.at.Name, bounded(c.Type))
		return
	}
	s.bodies.see(c.Response)
	a.owed, a.bad = time.Time{}, 0
	for i := range c.Message.Resources {
		if r := &c.Message.Resources[i]; !r.Empty && (r.Name == "" || xds.TypeKey(r.TypeURL) != c.Sub.Key) {
			a.bad++
		}
	}
	if a.pending = append(a.pending, reply{c.Message.Nonce, c.Message.Version, now}); len(a.pending) > maxPending {
		a.pending = a.pending[1:]
	}
	s.compare(l, c.Sub.Key, now)
	if sub := s.liveType(l.of, c.Sub.Key); sub != nil {
		s.answer(l, sub, now)
	}
}

// liveType is what the recording says of a type on a stream; nil: nothing.
func (s *shadow) liveType(st *stream, key string) *engine.Subscription {
	of := s.k.Streams[st.id]
	if of == nil {
		return nil
	}
	return of.Subs[key]
}

// typ is what a target has said of a type; nil: nothing.
func (l *leg) typ(key string) *engine.Subscription {
	of := l.at.engine.Streams[l.id]
	if l.state != open || of == nil {
		return nil
	}
	return of.Subs[key]
}

// answer answers what a target has said. The live client's word for the same
// content counts, be it an acceptance or a rejection. Where it says none within
// hold, or the contents are not the same, the shadow accepts: it has nothing that
// a content could break.
func (s *shadow) answer(l *leg, sub *engine.Subscription, now time.Time) {
	a := l.types[sub.Key]
	if a == nil || len(a.pending) == 0 {
		return
	}
	var refusal *decode.Error
	newest, like := sub.Newest(), l.likes[sub.Key]
	switch same := like != nil && like.same(); {
	case same && newest != nil && newest.Verdict == engine.NACKed:
		refusal = &decode.Error{Code: int32(codes.InvalidArgument), Message: "rejected"}
		if by := newest.JudgedBy; by != nil && by.Message.Error != nil {
			refusal = by.Message.Error
		}
	case same && newest != nil && newest.Verdict != engine.Unjudged:
	case now.Sub(a.pending[0].at) < hold:
		return
	}
	pending := a.pending
	a.pending = nil
	r := request{delta: sub.Stream.Delta(), url: sub.URL, rejects: refusal}
	if r.delta {
		for _, p := range pending {
			r.nonce = p.nonce
			s.say(l, &r)
		}
		return
	}
	last := pending[len(pending)-1]
	if a.nonce = last.nonce; refusal == nil {
		a.version = last.version
	}
	r.names, r.nonce, r.version = a.list.Names, a.nonce, a.version
	s.say(l, &r)
}

// owes is since when a target owes the leg an answer; zero: it does not.
func (l *leg) owes(s *shadow) (since time.Time) {
	of := s.k.Streams[l.of.id]
	if of == nil {
		return since
	}
	for _, sub := range of.Order {
		if sub.Responses == 0 || sub.Lost || !sub.Active() {
			continue
		}
		at := sub.Newest().At
		if at.Before(l.since) {
			at = l.since
		}
		if a := l.types[sub.Key]; l.state == open && a != nil {
			at = a.owed
			if b := l.typ(sub.Key); b != nil && b.Responses > 0 {
				continue // what it may have been asked for besides may not exist
			}
		}
		if !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}
