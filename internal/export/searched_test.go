package export

import (
	"bytes"
	"errors"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/pseudonym"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
)

// A name that is left in what was written is found, and so is one in the name of the file.
func TestSearched(t *testing.T) {
	d := newDesk(t)
	source, other := sessionFile("envoy-sotw-nack"), d.recorded("other.xdsp", spoken)
	names := pseudonym.NewNames(pseudonym.NewKey())
	walk := names.Walk()
	for _, e := range recordertest.Entries(t, source) {
		walk.Entry(&e)
	}
	if err := errors.Join(walk.Err(), names.Settle()); err != nil {
		t.Fatal(err)
	}
	x := &Export{Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stderr: &bytes.Buffer{}}}}
	for _, c := range []struct {
		written, path string
		found, leaks  bool
	}{{other, "part.xdsp", false, false}, {other, "dir/ingress.xdsp", true, false}, {source, "part.xdsp", true, true}} {
		err := x.searched(t.Context(), names, c.written, c.path)
		if _, is := errors.AsType[*pseudonym.LeakError](err); is != c.leaks || (err != nil) != c.found {
			t.Errorf("%s as %s: %v", c.written, c.path, err)
		}
	}
	if err := x.searched(t.Context(), names, d.at("none.xdsp"), "part.xdsp"); err == nil {
		t.Error("a file that is not there was searched")
	}
}
