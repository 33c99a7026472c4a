package xdstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A Part is what one end of a stream says and waits for, in order. It is played
// as it is written: nothing is checked, filled in or answered by itself, so
// that it can be wrong in just the way that is wanted. A part that is at its
// end, without an End, waits for the other end to end the stream.
type Part []Move

// A Move is one step of a Part: one of Say, Hear, Pause, Do, Alone and End.
type Move struct {
	say   proto.Message
	hear  *cue
	pause time.Duration
	do    func()
	end   *status.Status // nil: not the end
}

// cue is a message that a move waits for.
type cue struct{ typeURL, nonce string }

// Say sends a discovery message.
func Say(m proto.Message) Move { return Move{say: m} }

// Hear waits for a message of the other end, of this type and with this nonce.
// Each message is heard once; those that no move waits for are passed over.
func Hear(typeURL, nonce string) Move { return Move{hear: &cue{typeURL, nonce}} }

// Pause lets time pass.
func Pause(d time.Duration) Move { return Move{pause: d} }

// Do calls f.
func Do(f func()) Move { return Move{do: f} }

// Alone waits until the other end has ended the stream.
func Alone() Move { return Move{} }

// End ends the stream: a server with this status; a client, which has none to
// give, by breaking it off.
func End(code codes.Code, text string) Move { return Move{end: status.New(code, text)} }

func (m Move) String() string {
	switch {
	case m.say != nil:
		f := factsOf(m.say)
		return fmt.Sprintf("say %s %q", ShortType(f.TypeURL), f.Nonce)
	case m.hear != nil:
		return fmt.Sprintf("hear %s %q", ShortType(m.hear.typeURL), m.hear.nonce)
	case m.pause > 0:
		return "pause " + m.pause.String()
	case m.do != nil:
		return "do"
	case m.end != nil:
		return "end"
	}
	return "alone"
}

var errGone = errors.New("the other end has ended the stream")

// stream is either end of a gRPC stream.
type stream interface {
	Context() context.Context
	SendMsg(m any) error
	RecvMsg(m any) error
}

// play plays the part on a stream, which its owner ends afterwards, with the
// status of End if the part has one. The other end's messages are of the kind
// that incoming makes.
func (p Part) play(s stream, incoming func() proto.Message) (*status.Status, error) {
	h := listenTo(s, incoming)
	for i, m := range append(slices.Clone(p), Alone()) {
		var err error
		switch {
		case m.say != nil:
			if err = s.SendMsg(m.say); errors.Is(err, io.EOF) { // so gRPC says it
				err = errGone
			}
		case m.hear != nil:
			err = h.until(func() bool { return h.take(*m.hear) }, nil)
		case m.pause > 0:
			err = h.until(never, time.After(m.pause))
		case m.do != nil:
			m.do()
		case m.end != nil:
			return m.end, nil
		default:
			if err = h.until(never, nil); errors.Is(err, errGone) {
				return nil, nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("move %d of %d (%v): %w", i+1, len(p), m, err)
		}
	}
	return nil, nil
}

func never() bool { return false }

// hearing keeps what the other end of a stream says until a move asks for it.
type hearing struct {
	ctx    context.Context // of the stream
	heard  chan cue
	gone   chan struct{} // closed when the other end has ended the stream
	passed []cue         // heard, and not asked for yet
}

// listenTo starts to listen; it ends with the stream.
func listenTo(s stream, incoming func() proto.Message) *hearing {
	h := &hearing{ctx: s.Context(), heard: make(chan cue), gone: make(chan struct{})}
	go func() {
		defer close(h.gone)
		for {
			m := incoming()
			if s.RecvMsg(m) != nil {
				return
			}
			f := factsOf(m)
			select {
			case h.heard <- cue{f.TypeURL, f.Nonce}:
			case <-h.ctx.Done():
				return
			}
		}
	}()
	return h
}

// take is whether c was said, and hears it.
func (h *hearing) take(c cue) bool {
	i := slices.Index(h.passed, c)
	if i < 0 {
		return false
	}
	h.passed = slices.Delete(h.passed, i, i+1)
	return true
}

// until listens until ok or the timer.
func (h *hearing) until(ok func() bool, timer <-chan time.Time) error {
	for !ok() {
		select {
		case c := <-h.heard:
			h.passed = append(h.passed, c)
		case <-timer:
			return nil
		case <-h.gone:
			return errGone
		}
	}
	return nil
}
