package replay

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

const sessionsDir = "../check/testdata/sessions"

// Bodies that are not kept are read again, in whatever order.
func TestBodies(t *testing.T) {
	file := sessionsDir + "/envoy-per-type-restart.xdsp"
	s := newBodies(func() (*recorder.Reader, error) { return recorder.Open(file) })
	all := recordertest.Entries(t, file)
	slices.Reverse(all)
	for range 2 {
		for _, e := range all {
			if e.Kind != session.KindMessage {
				continue
			}
			got, err := s.body(t.Context(), e.Seq)
			if err != nil || !bytes.Equal(got, e.Message.Data.Bytes()) {
				t.Fatalf("entry %d: %d bytes, %v; want %d", e.Seq, len(got), err, e.Message.Size)
			}
		}
		slices.Reverse(all)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// A recording that can be read again has so much of it kept; of one that cannot, more, and then it cannot be played.
func TestBodiesAreBounded(t *testing.T) {
	again := func() (*recorder.Reader, error) { return nil, errors.New("is gone") }
	for _, c := range []struct {
		name  string
		again func() (*recorder.Reader, error)
		most  int
		want  string // of the entry that is too much
	}{
		{"file", again, keepBodies, "is gone"},
		{"pipe", nil, mostBodies, "entry 2 is not there any more"},
	} {
		large := make([]byte, c.most-80) // 16 a chunk, 64 a message
		s := newBodies(c.again)
		if err := s.see(1, session.Chunks{large}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, is := s.kept[1]; !is {
			t.Errorf("%s: what is just not too much is not kept", c.name)
		}
		if err := s.see(2, session.Chunks{large}); (err == nil) != (c.again != nil) {
			t.Errorf("%s: %v", c.name, err)
		} else if err != nil && err.Error() != "more than 512 MiB came through the pipe: write the recording to a file first" {
			t.Error(err)
		}
		if _, err := s.body(t.Context(), 2); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if err := s.see(3, session.Chunks{[]byte("more")}); c.again != nil && err != nil || len(s.kept) != 1 {
			t.Errorf("%s: %v, %d are kept", c.name, err, len(s.kept))
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// A chunk that came before counts once, and a short one is kept without the block around it.
func TestBodiesShare(t *testing.T) {
	s := newBodies(nil)
	block := make([]byte, 4096)
	for seq, c := range map[session.Seq]session.Chunks{1: {block[:shared], block[:shared-1]}, 2: {block[:shared]}} {
		if err := s.see(seq, c); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(shared + 16 + shared - 1 + 16 + 2*64); s.bytes != want {
		t.Errorf("%d bytes, want %d", s.bytes, want)
	}
	if unsafe.SliceData(s.kept[1][0]) != unsafe.SliceData(block) || unsafe.SliceData(s.kept[1][1]) == unsafe.SliceData(block) {
		t.Error("the long one is to be kept as it came, the short one not")
	}
}

// What is not in the recording any more, or never was a message, is said.
func TestBodiesGone(t *testing.T) {
	file := sessionsDir + "/envoy-sotw.xdsp"
	s := newBodies(func() (*recorder.Reader, error) { return recorder.Open(file) })
	all := recordertest.Entries(t, file)
	for _, e := range all {
		if e.Kind == session.KindMessage {
			continue
		}
		if b, err := s.body(t.Context(), e.Seq); err == nil {
			t.Fatalf("entry %d, no message, has the body %q", e.Seq, b)
		}
	}
	last := all[len(all)-1].Seq
	want := fmt.Sprintf("entry %d cannot be read again: EOF", last+1)
	if _, err := s.body(t.Context(), last+1); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for range 2 {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
