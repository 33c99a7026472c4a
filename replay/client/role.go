package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

func plainError(err error) string {
	st := status.Convert(err)
	return fmt.Sprintf("%s: %s", st.Code(), st.Message())
}

// heardEnd is how the server ended a stream.
type heardEnd struct {
	code codes.Code
	text string
}

// converse says what was recorded and hears what the server says, until there
// is nothing more of either.
func (r *role) converse(ctx context.Context, stream grpc.ClientStream) {
	heard, ended := make(chan []byte), make(chan heardEnd, 1)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with the stream or with the conversation
		for {
			var b []byte
			err := stream.RecvMsg(&b)
			if err != nil {
				end := heardEnd{}
				if !errors.Is(err, io.EOF) {
					st := status.Convert(err)
					end = heardEnd{st.Code(), st.Message()}
				}
				ended <- end
				return
			}
			select {
			case heard <- b:
			case <-stop:
				return
			}
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var gone *heardEnd
	for {
		next, wait, leave := replay.None, time.Duration(-1), false
		if gone == nil {
			next, wait, leave = r.next(ctx, time.Now())
		}
		if r.first < len(r.Steps) {
			r.Reach(r.Steps[r.first].Seq)
		} else {
			r.Reach(replay.AtEnd)
		}
		if next != replay.None && !leave {
			r.sayNext(ctx, stream, next)
			continue
		}
		var step <-chan struct{}
		if leave {
			step = r.client.o.Step
		} else if wait < 0 {
			if gone != nil {
				return
			}
			if wait = r.patience(); wait <= 0 {
				return
			}
		}
		if leave {
			wait = time.Hour
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
			return
		case b := <-heard:
			r.client.ledger.Received()
			r.row.Begun = true
			r.receive(ctx, stream, b)
		case end := <-ended:
			gone = &end
			r.code = int32(end.code)
			if r.unsaid() && !r.End.ByServer() {
				r.broken = fmt.Sprintf("the server ended the stream: %s", end.code)
				if end.text != "" {
					r.broken += ": " + replay.Bounded(end.text)
				}
			}
		case <-step:
			r.sayNext(ctx, stream, next)
		case <-timer.C:
		}
	}
}

// neverAsked says that the request which asked for a type was not recorded, so
// that none is sent and no response can come.
func (r *role) neverAsked(at int32) bool {
	topic := r.Topics[at]
	if !r.Partial || len(topic.Responses) == 0 {
		return false
	}
	for i := range r.Steps[:topic.Responses[0]] {
		if st := &r.Steps[i]; !st.Server && st.Topic == at && st.Whole {
			return false
		}
	}
	return true
}

// unsaid says whether there are requests that were not sent.
func (r *role) unsaid() bool {
	for i := range r.Steps {
		if st := &r.Steps[i]; !st.Server && !r.sent[i] && st.Whole && !r.topics[st.Topic].mute {
			return true
		}
	}
	return false
}

// patience is how much longer to wait for what the server may say, when there is
// nothing to say ourselves.
func (r *role) patience() time.Duration {
	quiet := time.Since(r.quiet)
	settled, heardAll := !r.unsaid(), true
	for i := range r.topics {
		t := &r.topics[i]
		if len(r.Topics[i].Responses) == 0 || t.mute {
			continue
		}
		if t.arrived+t.extra == 0 || t.expected < len(r.Topics[i].Responses) && !t.contents.all() || !t.contents.every() {
			heardAll, settled = false, false
		}
		settled = settled && t.contents.all()
		if t.expected == len(r.Topics[i].Responses) && !r.Partial && len(t.contents.lapsed()) > 0 {
			heardAll = false // what stands at the end may come yet
		}
	}
	awaitsEnd := r.End.ByServer() && told(r.End.Code) && r.code < 0
	switch {
	case r.silent:
		return max(r.client.o.Idle, r.client.o.Linger) - quiet
	case awaitsEnd || !heardAll:
		return r.client.o.Idle - quiet
	case settled:
		return min(replay.Grace/4, r.client.o.Idle) - quiet
	case r.unsaid():
		return r.client.o.Idle - quiet
	}
	return min(2*replay.Grace, r.client.o.Idle) - quiet
}

// told says whether a status says more than that the server went away.
func told(code int32) bool {
	switch codes.Code(code) {
	case codes.OK, codes.Canceled, codes.Unavailable, codes.Unknown:
		return false
	}
	return code > 0
}

// sayNext sends a request, if it can be sent.
func (r *role) sayNext(ctx context.Context, stream grpc.ClientStream, i int32) {
	r.sent[i] = true
	st := &r.Steps[i]
	body, err := r.client.plan.Body(ctx, st.Seq)
	if err != nil {
		r.client.ledger.Note("entry %d is not said again: %v", st.Seq, err)
		return
	}
	t := &r.topics[st.Topic]
	held := t.accepted
	out, ok := r.request(st, body)
	if !ok {
		r.client.ledger.Note("entry %d is not said again: its bytes are no message", st.Seq)
		return
	}
	if out = r.falsify(st, out, held); out == nil {
		return
	}
	t.asked, t.last = true, out
	r.send(stream, out)
}

func (r *role) send(stream grpc.ClientStream, out []byte) {
	r.quiet = time.Now()
	unread := time.AfterFunc(r.client.o.Idle, r.cancel) // a server may never read
	defer unread.Stop()
	if stream.SendMsg(&out) != nil {
		return // the end of the stream says why
	}
	r.row.Sent++
	r.client.ledger.Sent()
}

// request is the bytes of a request, with what the live server gave in the
// place of what the recorded one did.
func (r *role) request(st *replay.Step, body []byte) ([]byte, bool) {
	m := decode.Peek(r.Method, session.Client, "", body)
	t := &r.topics[st.Topic]
	nonce, of := "", 0
	if st.Nonce {
		of = t.replied // which may be what it echoes, if that was not recorded
		if st.Echo != replay.None {
			of = min(len(t.lives), t.place[st.Echo])
		}
		switch {
		case of > 0:
			nonce = t.lives[of-1].nonce
		case r.Partial: // what it answers was lost: it asks anew
		default: // none at all rather than one that the live server never gave
			nonce = t.former
		}
		t.replied = max(t.replied, of)
	}
	if r.Delta() {
		out, ok := edit.Set{edit.NonceOfDeltaRequest: nonce}.Apply(body)
		if ok && len(m.InitialVersions) > 0 && len(t.held) > 0 {
			out, ok = edit.InitialVersions(out, func(name string) (string, bool) { v, is := t.held[name]; return v, is })
		}
		return out, ok
	}
	version := m.Version
	switch {
	case version == "":
	case of > 0 && st.Holds && t.place[st.Echo] <= t.expected:
		version = t.lives[of-1].version
		if m.Error == nil {
			t.accepted = version
		}
	case t.accepted != "":
		version = t.accepted
	case !st.Resumes:
		version = ""
	}
	return edit.Set{edit.NonceOfRequest: nonce, edit.VersionOfRequest: version}.Apply(body)
}

// receive takes a response of the live server.
func (r *role) receive(ctx context.Context, stream grpc.ClientStream, data []byte) {
	r.quiet = time.Now()
	m := decode.Peek(r.Method, session.Server, "", data)
	key := r.TypeKey(m.TypeURL)
	at := r.TopicOf(key)
	if at == replay.None {
		typ := replay.Bounded(xds.ShortType(m.TypeURL))
		if r.client.once("type " + r.Client + key) {
			r.client.ledger.Differ(r.Difference(replay.Difference{
				Seq: r.Opened, Expected: "no response of " + typ, Got: "one", Type: typ, Names: replay.BoundedNames(m.ResourceNames()),
				Detail: "the recording has nothing of this type on the stream",
			}))
		}
		return
	}
	t := &r.topics[at]
	t.overdue = false
	r.expect(ctx, at)
	items := t.contents.receive(&m)
	for i := range m.Resources {
		if res := &m.Resources[i]; r.Delta() && !res.Empty && len(t.held) < maxItems {
			t.held[res.Name] = res.Version
		}
	}
	for _, n := range m.Removed {
		delete(t.held, n)
	}
	if t.arrived < len(r.Topics[at].Responses) && t.stands(items) {
		stands := &r.Steps[r.Topics[at].Responses[t.arrived]]
		t.arrived++
		t.lives = append(t.lives, lived{m.Nonce, m.Version})
		r.expect(ctx, at)
		if !r.Partial || stands.Answered != replay.None {
			return
		}
		t.replied = t.arrived
	} else {
		t.extra++
	}
	// The recorded client has nothing to say to it; one that lives would accept
	// it, and the server may wait for that.
	if t.last == nil || m.Nonce == "" {
		return
	}
	out, ok := r.accept(&m, t)
	if ok {
		t.accepted = m.Version
		r.send(stream, out)
	}
}

// stands says whether a response comes in the place of the next recorded one:
// unless all that it brings has been in the recording before that, and that
// brings something else.
func (t *topicRole) stands(items []item) bool {
	if len(t.brings) == 0 {
		return true
	}
	for _, it := range items {
		if !t.contents.known(it) {
			return true
		}
		for _, b := range t.brings {
			if b.name == it.name && b.holding == it.holding {
				return true
			}
		}
	}
	return false
}

// accept is an ACK for which the recording has no request.
func (r *role) accept(m *decode.Message, t *topicRole) ([]byte, bool) {
	if r.Delta() {
		return edit.Set{2: m.TypeURL, edit.NonceOfDeltaRequest: m.Nonce}.Apply(nil)
	}
	return edit.Set{edit.NonceOfRequest: m.Nonce, edit.VersionOfRequest: m.Version, edit.ErrorOfRequest: ""}.Apply(t.last)
}
