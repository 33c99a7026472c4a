package xdstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// limited ends what hangs.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// The story is played without a proxy here: it must come to its end by itself,
// twice, on either kind of socket.
func TestStoryPlays(t *testing.T) {
	for name, listen := range map[string]string{
		"tcp":  "127.0.0.1:0",
		"unix": "unix:" + filepath.Join(t.TempDir(), "control-plane.sock"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := NewStory(listen)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			account := NewAccount()
			s.control.opts.Account = account
			s.control.Stop()
			if err := s.control.Start(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var said []string
				if err := s.Play(limited(t), s.Addr(), func(step string) { said = append(said, step) }); err != nil {
					t.Fatal(err)
				}
				if len(said) != 12 {
					t.Errorf("%q", said)
				}
			}
			streams, asked := 0, map[string]bool{}
			for _, r := range account.Records() {
				streams = max(streams, r.Stream)
				// The end may come before a client lets go of the last ones.
				letsGo := r.Removed != nil || len(r.Names) == 0 && !isDelta(r.Method) && r.TypeURL != resource.ListenerType && r.TypeURL != resource.ClusterType
				if r.Kind == session.KindMessage && r.Side == session.Client && !letsGo {
					slices.Sort(r.Names)
					asked[fmt.Sprintf("%s %s +%q %d %s\n", path.Base(r.Method), ShortType(r.TypeURL), r.Names, r.ErrorCode, r.Error)] = true
				}
			}
			if streams != 10 {
				t.Errorf("%d streams", streams)
			}
			golden.Is(t, "testdata/story.golden", strings.Join(slices.Sorted(maps.Keys(asked)), ""))
		})
	}
}

// What goes wrong ends the story, and is said with what it was.
func TestStoryBreaksOff(t *testing.T) {
	s, err := NewStory("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var said []string
	err = s.Play(ctx, s.Addr(), func(step string) {
		if said = append(said, step); strings.HasPrefix(step, "an update") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "demo: the update: ") || len(said) != 4 {
		t.Errorf("%v after %q", err, said)
	}
}
