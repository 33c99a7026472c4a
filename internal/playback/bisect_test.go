package playback

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/replay/bisect"
)

// A client that does not answer may wait for something.
func TestBisectSilent(t *testing.T) {
	err := unfinished(&bisect.SilentError{What: "trial 3", After: time.Second, Lacks: []string{`SDS "key"`}}, &bisect.Result{})
	f, is := err.(*console.Failure)
	if !is || !strings.Contains(strings.Join(f.Hints, "\n"), `SDS "key"`) || !strings.Contains(strings.Join(f.Hints, "\n"), "--timeout") {
		t.Errorf("%+v", err)
	}
}
