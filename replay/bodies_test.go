package replay

import (
	"bytes"
	"slices"
	"testing"

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
