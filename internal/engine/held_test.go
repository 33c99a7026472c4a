package engine_test

import (
	"path/filepath"
	"testing"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// The entry of what a client holds has that resource, in every recording, and so has the
// response in which it accepted it, where that is known.
func TestHeldEntries(t *testing.T) {
	files, err := filepath.Glob("../../check/testdata/s[ey]s*/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%v, %d recordings", err, len(files))
	}
	known := 0
	for _, file := range files {
		r, err := recorder.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		k := engine.New(engine.Options{Past: 1 << 30})
		names := map[session.Seq]map[string]bool{}
		for e, err := range r.Entries(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if c := k.Step(&e); c.Message != nil && c.Message.Response() {
				names[e.Seq] = map[string]bool{}
				for i := range c.Message.Resources {
					if r := &c.Message.Resources[i]; !r.Empty {
						names[e.Seq][r.Name] = true
					}
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for client, types := range k.Holdings() {
			for _, list := range types {
				for _, h := range list {
					if !names[h.Seq][h.Name] {
						t.Errorf("%s: %s holds %s %q of entry %d, which does not have it", file, client, h.Type, h.Name, h.Seq)
					}
				}
			}
			for s, it := range k.HeldOn(client) {
				n := s.AcceptedIn(it)
				if n == nil {
					continue
				}
				if known++; !names[n.Seq][it.Name] || n.JudgedAt().Before(n.At) || n.Judged() <= n.Seq {
					t.Errorf("%s: %s accepted %s %q in entry %d, by entry %d", file, client, s.Type, it.Name, n.Seq, n.Judged())
				}
			}
		}
	}
	if known < 100 {
		t.Errorf("of %d resources it is known when they were accepted", known)
	}
}
