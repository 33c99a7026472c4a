package wire

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// strays are the notes about streams that nobody opened.
func (r *rig) strays() (texts []string) {
	for _, e := range r.log.entries {
		if e.Note != nil && e.Note.Code == session.NoteProtocolError {
			texts = append(texts, e.Note.Text)
		}
	}
	return texts
}

func TestFramesOfStreamsThatWereNeverOpened(t *testing.T) {
	fields := []session.Field{{Name: "grpc-status", Value: "0"}}
	for name, send := range map[string]func(r *rig){
		"the client sends DATA on stream 7":          func(r *rig) { r.client.framer.WriteData(7, false, []byte("x")) },
		"the client sends DATA on stream 9":          func(r *rig) { r.client.framer.WriteData(9, true, nil) },
		"the client sends DATA on stream 3":          func(r *rig) { r.client.framer.WriteData(3, false, []byte("x")) },
		"the client sends HEADERS on stream 3":       func(r *rig) { r.client.writeHeaders(3, fields, true, 0) },
		"the server sends DATA on stream 2147483647": func(r *rig) { r.server.framer.WriteData(1<<31-1, false, []byte("x")) },
		"the server sends DATA on stream 2":          func(r *rig) { r.server.framer.WriteData(2, false, []byte("x")) },
		"the server sends HEADERS on stream 7":       func(r *rig) { r.server.writeHeaders(7, fields, false, 0) },
		"the server sends HEADERS on stream 3":       func(r *rig) { r.server.writeHeaders(3, fields, true, 0) },
	} {
		r := newRig(t, 1<<20)
		r.grpc(1)
		r.grpc(5) // 3 is passed over
		for range 3 {
			send(r)
			r.flush()
		}
		if got := r.strays(); len(got) != 1 || !strings.HasPrefix(got[0], name+", which was never opened") {
			t.Errorf("%s: notes %q", name, got)
		}
	}
}

// What comes late on a stream that was there is nothing unusual, and of streams
// that a blind direction opened nothing is known.
func TestFramesOfStreamsThatAreOver(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.server.framer.WriteRSTStream(1, 0)
	r.client.framer.WriteRSTStream(1, 0)
	r.flush()
	r.client.framer.WriteData(1, true, []byte("x"))
	r.server.writeHeaders(1, []session.Field{{Name: "grpc-status", Value: "0"}}, true, 0)
	r.client.framer.WriteContinuation(1, true, nil) // outside of a block: nobody can follow
	r.flush()
	r.server.framer.WriteData(9, false, []byte("x"))
	r.flush()
	if got := r.strays(); len(got) != 0 {
		t.Errorf("notes %q", got)
	}
}

func TestFramesOfStreamsThatWereNeverOpenedAreBounded(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	for i := range uint32(1000) {
		r.client.framer.WriteData(3+2*i, false, []byte("x"))
		r.server.framer.WriteData(3+2*i, false, []byte("x"))
	}
	r.flush()
	last := r.last()
	if got := r.strays(); len(got) != 2*maxStrays || last.Note == nil || !strings.HasPrefix(last.Note.Hint, "it is the last of 8 notes") {
		t.Errorf("%d notes, the last %+v", len(got), last.Note)
	}
}

// A client opens streams with odd numbers (RFC 9113, 5.1.1). Others are recorded,
// and noted.
func TestClientOpensEvenStreams(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(2)
	r.flush()
	if got := r.strays(); len(got) != 1 || !strings.HasPrefix(got[0], "the client opens stream 2, which is not its to open") {
		t.Errorf("notes %q", got)
	}
	for i := range uint32(100) {
		r.grpc(4 + 2*i)
	}
	r.flush()
	opened := 0
	for _, e := range r.log.entries {
		if e.Kind == session.KindOpen {
			opened++
		}
	}
	if got := r.strays(); len(got) != maxStrays || opened != 101 {
		t.Errorf("%d notes, %d opened", len(got), opened)
	}
}
