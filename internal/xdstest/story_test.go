package xdstest

import (
	"path/filepath"
	"testing"
)

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
			for range 2 {
				if err := s.Play(t.Context(), s.Addr(), func(step string) { t.Log(step) }); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
