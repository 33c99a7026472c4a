package server

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// mostPoll is the largest poll that is taken.
const mostPoll = 64 << 20

// polling plays one subscription by polls. Its turns come one after the other,
// each with a live poll.
type polling struct {
	*replay.Polling
	*replay.Member
	server *server

	mu     sync.Mutex
	row    replay.Played
	at     int // turn whose turn it is
	done   bool
	judged bool         // the turn was compared
	astray int          // polls that did not say what the recorded one of the turn said
	given  *replay.Turn // whose content was sent last; nil: none was
	begun  time.Time
}

// serveHTTP serves gRPC and REST on one listener. It returns what ends it.
func (s *server) serveHTTP(g *grpc.Server, l net.Listener) (serve func() error, leave func()) {
	h := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				g.ServeHTTP(w, r)
				return
			}
			s.poll(w, r)
		}),
		Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
	}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	serve = func() error {
		if err := h.Serve(l); err != http.ErrServerClosed {
			return err
		}
		return nil
	}
	return serve, func() {
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if h.Shutdown(soon) != nil {
			_ = h.Close()
		}
		g.Stop()
	}
}

// poll answers a live poll.
func (s *server) poll(w http.ResponseWriter, r *http.Request) {
	method := xds.LookupMethod(r.URL.Path)
	if method.Variant != xds.VariantREST {
		s.ledger.Note("a client asked for %s, which is not played", replay.Bounded(r.URL.Path))
		http.Error(w, "a replay does not play this path", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostPoll))
	if err != nil {
		return
	}
	s.ledger.Received()
	m := decode.Peek(method, session.Client, r.Header.Get("Content-Type"), body)
	p, refused := s.matchPoll(&method, &m)
	switch {
	case p != nil:
		p.answer(w, r, &m)
	case refused:
		http.Error(w, "the recording has no such client", http.StatusServiceUnavailable)
	default:
		s.hold(r)
	}
}

// hold leaves a poll unanswered.
func (s *server) hold(r *http.Request) {
	select {
	case <-s.over:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// matchPoll gives a live poll the subscription that it is of. Without one it says
// whether the client is none of the recording; else it is left unanswered.
func (s *server) matchPoll(method *xds.Method, m *decode.Message) (p *polling, refused bool) {
	id := ""
	if m.Node != nil {
		id = m.Node.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	client, why := s.whom(id)
	if why != "" {
		return nil, true
	}
	p, is := replay.PollingOf(s.pollings, client, method.Path, m.Names)
	if !is {
		key := fmt.Sprint(client, method.Path, m.Names)
		if len(s.strange) < replay.MaxTopics && !s.strange[key] {
			s.strange[key] = true
			what := "everything"
			if len(m.Names) > 0 {
				what = replay.Few(replay.BoundedNames(m.Names))
			}
			s.turnAway("%s polls for %s %s, which %s did not ask for in the recording", replay.ClientName(replay.Bounded(id)), method.Type, what, replay.ClientName(client))
			s.ledger.Differ(replay.Difference{
				Expected: "no poll for " + method.Type + " of " + what, Got: "one",
				Client: replay.Bounded(id), Type: method.Type, Names: replay.BoundedNames(m.Names),
				Detail: "the recording never answered it, so it is left unanswered",
			})
		}
		return nil, false
	}
	s.bound[client] = id
	return p, false
}

// begin notes the first live poll.
func (p *polling) begin(m *decode.Message) {
	s := p.server
	p.row.Begun, p.begun = true, time.Now()
	s.touch()
	s.stir() // from now on it ends sooner
	if m.Node != nil && m.Node.ID != p.Client {
		p.row.By = replay.Bounded(m.Node.ID)
		s.ledger.Note("client %s plays %s of the recording", replay.ClientName(p.row.By), replay.ClientName(p.Client))
	}
	s.ledger.Say(fmt.Sprintf("%s begins", p.Polling))
}

// answer answers a poll when its turn has come.
func (p *polling) answer(w http.ResponseWriter, r *http.Request, m *decode.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.row.Begun {
		p.begin(m)
	}
	newest := ""
	if p.given != nil {
		newest = p.given.Reply.Version
	}
	says := replay.ClaimOf(m.Version, newest, p.given != nil)
	if !p.hear(says, m) {
		p.fill(w, r, says)
		return
	}
	for at := p.at; ; {
		news := p.Group.Moved()
		wait, step := p.wait(time.Now())
		if wait <= 0 && step == nil {
			break
		}
		if p.early(says) {
			p.fill(w, r, says)
			return
		}
		stepped, over := p.pause(r.Context(), wait, news, step)
		if over {
			panic(http.ErrAbortHandler)
		}
		if p.at != at { // another poll of the client took the turn
			p.fill(w, r, says)
			return
		}
		if stepped {
			break
		}
	}
	p.take(w, r, says)
}

// pause waits, with others free to go on, until one of the client has moved or
// somebody gave leave; over says that the poll or the play is.
func (p *polling) pause(ctx context.Context, wait time.Duration, news, step <-chan struct{}) (stepped, over bool) {
	s := p.server
	if step != nil {
		wait = time.Hour
	}
	if timed := s.o.Pace.Kind == replay.PaceTimed || step != nil; timed {
		s.waiting.Add(1)
		defer func() { s.waiting.Add(-1); s.touch() }()
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-news:
	case <-step:
		return true, false
	case <-timer.C:
	case <-s.over:
		return false, true
	case <-ctx.Done():
		return false, true
	}
	return false, false
}

// maxAstray is how many polls that do not say what was recorded a turn is kept for:
// each subscription begins anew now and then, with a poll that has no version.
const maxAstray = 3

// hear holds what a live poll says against the turn, and says whether that is to be
// taken with it.
func (p *polling) hear(says replay.Claim, m *decode.Message) bool {
	if p.done {
		return false
	}
	turn := &p.Turns[p.at]
	same := says == turn.Says
	if !same && p.given != nil && (says == replay.HasNothing || turn.Says == replay.HasNothing || !p.Judges(p.at)) {
		if p.astray++; p.astray < maxAstray {
			return false
		}
	}
	if p.Judges(p.at) && !p.judged {
		p.judged = true
		before := &p.Turns[p.at-1].Reply
		switch {
		case same:
			p.row.Matched++
		default:
			p.server.ledger.Differ(p.Difference(replay.Difference{
				Seq: turn.Poll, Answers: before.Body, Expected: verdictOf(turn.Says), Got: verdictOf(says), Type: p.Method.Type, Names: replay.BoundedNames(p.Names),
				Detail: fmt.Sprintf("the poll after it announces version %q, and it has %q", replay.Bounded(m.Version), replay.Bounded(before.Version)),
			}))
		}
	}
	return true
}

// verdictOf words what a poll says of the content before it: it cannot say that it
// rejects.
func verdictOf(says replay.Claim) string {
	if says == replay.HasNewest {
		return replay.ACKed.String()
	}
	return "no " + replay.ACKed.String()
}

// patience is how long none of a client's polls may have moved before a content is
// sent without those that came before it: they come some seconds apart.
const patience = 3 * replay.Grace

// wait is how much longer the turn has to wait, or for whose leave.
func (p *polling) wait(now time.Time) (time.Duration, <-chan struct{}) {
	o, reply := &p.server.o, &p.Turns[p.at].Reply
	if reply.News && p.Behind(reply.Body) > 0 && p.Owed(reply.Body) {
		if wait := patience - p.Group.Still(now); wait > 0 {
			return wait, nil
		}
		p.Forgo(reply.Body)
	}
	switch {
	case o.Pace.Kind == replay.PaceTimed:
		return o.Pace.After(reply.At-p.Turns[0].At) - now.Sub(p.begun), nil
	case o.Pace.Steps() && reply.News:
		return 0, o.Step
	}
	return 0, nil
}

// early says whether a poll came at a time at which the recorded one was not there
// yet, so that it is answered beside the turns. One that was there is held.
func (p *polling) early(says replay.Claim) bool {
	pace := p.server.o.Pace
	return pace.Kind == replay.PaceTimed && p.given != nil && pace.After(p.Turns[p.at].At-p.Turns[0].At) > time.Since(p.begun)
}

// take takes the turn, and answers as it was answered.
func (p *polling) take(w http.ResponseWriter, r *http.Request, says replay.Claim) {
	at := p.at
	turn := &p.Turns[at]
	reply := &turn.Reply
	if reply.Status == 0 && reply.By != session.Server && at == len(p.Turns)-1 { // nothing comes after it
		p.next(at)
		p.hold(r)
	}
	defer p.next(at)
	if reply.Status != 0 {
		p.row.Sent++
	}
	switch {
	case reply.Status == 0 && reply.By == session.Server:
		panic(http.ErrAbortHandler)
	case reply.Status == 0: // until the client gives up
		p.server.allow(time.Duration(turn.Held()))
		p.hold(r)
	case reply.News:
		p.given = turn
		p.write(w, r, turn)
	case (reply.Status == http.StatusNotModified || reply.Content()) && says != turn.Says:
		p.fill(w, r, says)
	default:
		p.write(w, r, turn)
	}
}

// hold leaves a poll unanswered, with others free to go on.
func (p *polling) hold(r *http.Request) {
	p.mu.Unlock()
	defer p.mu.Lock()
	p.server.hold(r)
}

// fill answers a poll beside the turns: with nothing new, or with the content that
// was sent last to a client that does not have it.
func (p *polling) fill(w http.ResponseWriter, r *http.Request, says replay.Claim) {
	switch {
	case says == replay.HasNewest:
		w.WriteHeader(http.StatusNotModified)
	case p.given != nil:
		p.write(w, r, p.given)
	default:
		p.hold(r)
	}
}

// write writes a recorded reply.
func (p *polling) write(w http.ResponseWriter, r *http.Request, turn *replay.Turn) {
	reply := &turn.Reply
	var body []byte
	if reply.Body != 0 {
		var err error
		if body, err = p.said(r.Context(), turn); err != nil {
			p.server.ledger.Note("entry %d is not said again: %v", reply.Body, err)
			panic(http.ErrAbortHandler)
		}
	}
	if reply.Type != "" {
		w.Header().Set("Content-Type", reply.Type)
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(body)
	p.server.ledger.Sent()
}

// next goes on from a turn to the next, once: while a poll of it was held, the client
// may have polled again.
func (p *polling) next(from int) {
	if p.at != from {
		return
	}
	p.at++
	p.judged, p.astray = false, 0
	p.server.touch()
	if p.at < len(p.Turns) {
		p.Reach(p.Turns[p.at].Poll)
		return
	}
	p.done = true
	p.Reach(replay.AtEnd)
	p.row.Matched += p.asked()
	p.server.ledger.Say(fmt.Sprintf("%s is over: %d of %d as recorded", p.Polling, p.row.Matched, p.expected()))
	p.server.done()
}

// asked counts that it was polled for at all.
func (p *polling) asked() int {
	if p.Partial {
		return 0
	}
	return 1
}

// expected is how much the client is expected to do: to poll, and to say what it
// makes of each content.
func (p *polling) expected() int {
	n := p.asked()
	for i := range p.Turns {
		if p.Judges(i) {
			n++
		}
	}
	return n
}

// missed is the row when the play is over, and enters what did not come. nobody
// says that nothing was played at all.
func (p *polling) missed(nobody bool) replay.Played {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row.Expected = p.expected()
	for i := range p.Turns {
		if p.Turns[i].Reply.Status != 0 {
			p.row.ToSend++
		}
	}
	if p.done || nobody {
		return p.row
	}
	turn := &p.Turns[p.at]
	names := ""
	if len(p.Names) > 0 {
		names = " of " + replay.Few(p.Names)
	}
	d := replay.Difference{Seq: turn.Poll, Expected: "a poll for " + p.Method.Type + names, Got: "none", Type: p.Method.Type, Names: replay.BoundedNames(p.Names)}
	if p.row.Begun {
		d.Expected = "another poll for " + p.Method.Type + names
		if p.astray > 0 {
			d.Got = "one that announces another version"
		}
	}
	left := 0
	for i := range p.Turns[p.at:] {
		if p.Turns[p.at+i].Reply.News {
			left++
		}
	}
	if left > 0 {
		d.Detail = fmt.Sprintf("so %s %s not sent", replay.Responses(left, p.Method.Type), replay.Plural(left, "was", "were"))
	}
	p.server.ledger.Differ(p.Difference(d))
	return p.row
}
