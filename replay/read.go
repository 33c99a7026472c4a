package replay

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxSteps     = 2 << 20   // messages of a plan
	maxNameBytes = 256 << 20 // of all names of a plan
	maxNotes     = 100
	MaxTopics    = 256
)

// Source gives the entries of a recording, in order.
type Source interface {
	Next(ctx context.Context) (session.Entry, error)
}

// Read makes the plan of a recording. again opens it once more, for the bodies
// of messages; nil says that it cannot be, as with a pipe, so that they have to
// be kept in memory. Damage ends the reading, and is returned with the plan of
// what was read before it.
func Read(ctx context.Context, src Source, again func() (*recorder.Reader, error)) (*Plan, error) {
	p := &planner{
		plan: &Plan{bodies: newBodies(again)}, engine: engine.New(engine.Options{Names: true}),
		open: map[session.StreamID]*openStream{}, lists: map[uint64][]string{}, seed: maphash.MakeSeed(),
		polls: poller{map[*engine.Subscription]*polling{}, map[session.StreamID]*openPoll{}},
	}
	for {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if _, damaged := errors.AsType[*recorder.DamageError](err); damaged {
				p.note("the recording is damaged: %d entries could be read, and what comes after is not played", p.entries)
				return p.finish(), err
			}
			return nil, errors.Join(err, p.plan.Close())
		}
		p.entries++
		p.step(&e)
		if p.full != nil {
			return nil, errors.Join(p.full, p.plan.Close())
		}
	}
	return p.finish(), nil
}

// planner makes a Plan.
type planner struct {
	plan    *Plan
	engine  *engine.Engine
	open    map[session.StreamID]*openStream
	polls   poller
	lists   map[uint64][]string
	seed    maphash.Seed
	names   int64 // bytes
	steps   int
	entries uint64
	left    leftOut
	cut     bool
	full    error
}

// leftOut is what a recording lacks on purpose.
type leftOut struct {
	gaps        int
	entries     uint64
	first, last session.Seq
}

// openStream is a stream while it is read.
type openStream struct {
	*Stream
	owed  map[int32]owed // by topic
	ended bool
	why   string // it is not played; "" if it is
}

// owed is a response that the client has to answer.
type owed struct {
	step int32
	at   time.Time
	time time.Duration // that it may take
}

// silence marks the responses for which the client let that time pass, up to now.
func (p *planner) silence(t *openStream) {
	for _, o := range t.owed {
		if !t.Partial && !p.cut && p.engine.Passed(o.at, p.engine.Now) > o.time {
			t.Steps[o.step].Silent = true
		}
	}
	t.owed, t.Until = nil, p.engine.Now.UnixNano()
}

func (p *planner) note(format string, args ...any) {
	if len(p.plan.Notes) < maxNotes {
		p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
	}
}

func (p *planner) step(e *session.Entry) {
	c := p.engine.Step(e)
	switch e.Kind {
	case session.KindOpen:
		if old := p.open[e.Stream]; old == nil || !e.Carried {
			p.open[e.Stream] = p.begin(e, c.Method)
		}
	case session.KindMessage:
		if !p.poll(e, &c) {
			p.message(e, &c)
		}
	case session.KindHeader:
		p.poll(e, &c)
	case session.KindTrailer, session.KindCancel:
		p.poll(e, &c)
		if t := p.open[e.Stream]; t != nil && !t.ended {
			p.silence(t)
			t.end(e)
		}
	case session.KindDisconnect:
		p.hungUp(e, e.Conn)
		for _, t := range p.open {
			if t.Conn == e.Conn && !t.ended {
				p.silence(t)
				t.end(e)
			}
		}
	case session.KindGap:
		p.gap(e)
	}
}

func (p *planner) begin(e *session.Entry, m xds.Method) *openStream {
	t := &openStream{Stream: &Stream{ID: e.Stream, Conn: e.Conn, Method: m, Opened: e.Seq}}
	switch {
	case Streamed(m):
	case m.Variant == "":
		t.why = "of which the headers were not recorded"
	case m.Variant == xds.VariantREST:
		t.why = restPoll
	case m.Variant.Discovery(), m.Variant == xds.VariantFile:
		t.why = "polls"
	case m.Variant == xds.VariantLRS:
		t.why = "of load reports"
	case m.Variant == xds.VariantCSDS:
		t.why = "of client status"
	default:
		t.why = "of other services"
	}
	return t
}

// restPoll marks a stream that is a poll, and no stream of the plan: it is part of
// a Polling.
const restPoll = "a poll"

func (t *openStream) end(e *session.Entry) {
	t.ended = true
	end := &End{Seq: e.Seq, Side: e.Side, Code: -1}
	if e.Status != nil {
		end.Message = e.Status.Message
		if e.Kind == session.KindTrailer {
			end.Code = e.Status.Code
		}
	}
	t.End = end
}

func (p *planner) gap(e *session.Entry) {
	if e.Gap == nil {
		return
	}
	lost := e.Gap.Cause == session.Lost
	if l := &p.left; !lost {
		if l.gaps == 0 {
			l.first = e.Gap.First
		}
		l.gaps, l.entries, l.last = l.gaps+1, l.entries+e.Gap.Entries, e.Gap.Last
	} else {
		p.note("%s lost when it was recorded: %s", entriesWere(e.Gap.First, e.Gap.Last), unsaid)
	}
	for id, t := range p.open {
		if !t.ended && (len(e.Gap.Streams) >= 1024 || slices.Contains(e.Gap.Streams, id)) {
			t.Partial, t.chosen = true, !lost && (t.chosen || !t.Partial)
		}
	}
}

const unsaid = "what was said in them is neither said again nor expected"

func entriesWere(first, last session.Seq) string {
	if first == last {
		return fmt.Sprintf("entry %d was", first)
	}
	return fmt.Sprintf("entries %d to %d were", first, last)
}

// leftOut says what was left out on purpose, however many holes that made.
func (p *planner) leftOut() {
	switch l := &p.left; {
	case l.gaps == 1:
		p.note("%s left out on purpose: %s", entriesWere(l.first, l.last), unsaid)
	case l.gaps > 1:
		p.note("%d entries between %d and %d were left out on purpose: %s", l.entries, l.first, l.last, unsaid)
	}
}

// room says whether there is room for one more step, that of an entry.
func (p *planner) room(seq session.Seq) bool {
	if p.steps >= maxSteps && !p.cut {
		p.cut = true
		p.note("the recording has more than %d messages: those after entry %d are not played", maxSteps, seq-1)
	}
	return p.steps < maxSteps
}

func (p *planner) message(e *session.Entry, c *engine.Change) {
	t := p.open[e.Stream]
	if t == nil && e.Stream != 0 {
		t = p.begin(e, c.Method)
		t.Partial = true
		p.open[e.Stream] = t
	}
	if t == nil || t.ended || t.why != "" || c.Sub == nil {
		return
	}
	m := c.Message
	if !p.room(e.Seq) {
		return
	}
	key, whole := c.Sub.Key, e.Message.Whole()
	if key == "" && !whole {
		p.note("entry %d was recorded in part, and not of which type it is: it is not said again", e.Seq)
		t.Partial, t.chosen = true, false
		return
	}
	at := t.TopicOf(key)
	if at == None {
		if len(t.Topics) >= MaxTopics {
			return
		}
		at = int32(len(t.Topics))
		t.Topics = append(t.Topics, &Topic{Key: key, Type: c.Type, TypeURL: m.TypeURL, Whole: c.Sub.Whole()})
	}
	if t.Client == "" && c.Client != "" {
		t.Client = c.Client
	}
	t.Envoy = t.Envoy || c.Stream.EnvoyClient()
	if len(t.Steps) == 0 {
		p.plan.Streams = append(p.plan.Streams, t.Stream)
		t.Partial, t.chosen = t.Partial || e.Carried || c.Uncertain, t.chosen && !e.Carried
	}
	st := Step{
		Seq: e.Seq, At: e.Time.UnixNano(), Topic: at, Server: m.Response(), Answered: None, Echo: None,
		Whole: whole, Masked: e.Message.Masked,
	}
	if m.Response() {
		topic := t.Topics[at]
		topic.Responses = append(topic.Responses, int32(len(t.Steps)))
		delete(t.owed, at)
		if n := c.Response; n != nil && c.Sub.Owed(n) && whole {
			if t.owed == nil {
				t.owed = map[int32]owed{}
			}
			t.owed[at] = owed{int32(len(t.Steps)), n.At, p.engine.AckTime(c.Sub, n, false)}
		}
	} else {
		if o, is := t.owed[at]; is && (!whole || c.Request.Echoed != nil && c.Request.Echoed.Seq == t.Steps[o.step].Seq) {
			delete(t.owed, at)
		}
		p.request(t, &st, c)
	}
	if !st.Whole {
		p.note("entry %d was recorded in part: it is not said again", e.Seq)
	} else if err := p.plan.bodies.see(e.Seq, e.Message.Data); err != nil {
		p.full = err
	}
	t.Steps = append(t.Steps, st)
	p.steps++
}

func (p *planner) request(t *openStream, st *Step, c *engine.Change) {
	m, q := c.Message, c.Request
	t.Topics[st.Topic].Requests++
	st.Nonce = m.Nonce != ""
	if q.Echoed != nil {
		st.Echo = t.StepOf(q.Echoed.Seq)
	}
	if st.Echo != None {
		st.Holds = engine.Short(m.Version) == q.Echoed.Version
		if v := VerdictOf(q); v != Unanswered {
			r := &t.Steps[st.Echo]
			r.Answered, r.Verdict, st.Answers = int32(len(t.Steps)), v, true
		}
	}
	st.Resumes = q.Ordinal == 0 && !st.Nonce && (m.Version != "" || len(m.InitialVersions) > 0)
	added, removed := NamesChanged(c)
	st.Added, st.Removed = p.keep(added), p.keep(removed)
}

// NamesChanged are the names that a request begins and ceases to ask for. A first
// request without names asks for everything, unless it answers something: then
// it is not the first.
func NamesChanged(c *engine.Change) (added, removed []string) {
	added, removed = c.Added, c.Removed
	if c.Request.Ordinal == 0 && c.Message.Nonce == "" && len(added) == 0 && len(c.Message.Names) == 0 && len(c.Message.Subscribe) == 0 {
		added = []string{Everything}
	}
	return added, removed
}

// keep returns the one list that equals names, which many clients ask for.
func (p *planner) keep(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	var h maphash.Hash
	h.SetSeed(p.seed)
	size := int64(0)
	for _, n := range names {
		h.WriteString(n)
		h.WriteByte(0)
		size += int64(len(n)) + 16
	}
	sum := h.Sum64()
	have, is := p.lists[sum]
	if is && slices.Equal(have, names) {
		return have
	}
	if p.names += size; p.names > maxNameBytes {
		p.full = fmt.Errorf("the clients of the recording ask for more than %d MiB of different names: too many to replay", maxNameBytes>>20)
		return nil
	}
	names = slices.Clone(names)
	p.lists[sum] = names
	return names
}

// finish says what is left out, and gives the plan.
func (p *planner) finish() *Plan {
	p.leftOut()
	others := map[string]int{}
	for _, t := range p.open {
		p.silence(t)
		if t.why != "" && t.why != restPoll {
			others[t.why]++
		}
	}
	why := make([]string, 0, len(others))
	for w := range others {
		why = append(why, w)
	}
	slices.Sort(why)
	for _, w := range why {
		p.note("not played: %d %s %s", others[w], Plural(others[w], "stream", "streams"), w)
	}
	for _, s := range p.plan.Streams {
		if s.Partial && !s.chosen {
			p.note("%s was not recorded from its beginning, or not without loss: what is missing is neither said again nor expected", s)
		}
		if !slices.Contains(p.plan.Clients, s.Client) {
			p.plan.Clients = append(p.plan.Clients, s.Client)
		}
		for i := range s.Steps {
			if s.Steps[i].Resumes {
				if !p.follows(s) {
					p.note("%s begins with versions that its client already had: a client that has none is not sent what they stand for", s)
				}
				break
			}
		}
	}
	p.finishPolls()
	p.engine, p.open, p.lists, p.polls = nil, nil, nil, poller{}
	return p.plan
}

// follows says whether the client had a stream before this one, on which it may
// have come by the versions that it declares.
func (p *planner) follows(s *Stream) bool {
	for _, o := range p.plan.Streams {
		if o == s {
			return false
		}
		if o.Client == s.Client && len(o.Steps) > 0 {
			return true
		}
	}
	return false
}
