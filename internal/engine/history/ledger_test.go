package history_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// TestLedger: of the conversations that the account is tested with, the versions of
// each resource.
func TestLedger(t *testing.T) {
	dir := filepath.Join("..", "testdata", "ledger")
	list, err := filepath.Glob(filepath.Join(dir, "*.xds"))
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	more, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(more)) {
		list = append(list, filepath.Join("..", "..", "..", "check", filepath.FromSlash(path)))
	}
	var out strings.Builder
	for _, path := range list {
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(filepath.Base(path), ".xds"))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := script.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		histories := map[string]*history.History{}
		first, k := engine.New(engine.Options{}), engine.New(engine.Options{})
		for e := range s.Entries() {
			if c := first.Step(&e); c.Response != nil {
				for _, n := range append(c.Names(), c.Removed...) {
					histories[n] = history.New(history.Selection{Name: n}, nil)
				}
			}
		}
		for e := range s.Entries() {
			c := k.Step(&e)
			for _, h := range histories {
				h.Step(&e, &c)
			}
		}
		for _, n := range slices.Sorted(maps.Keys(histories)) {
			h := histories[n]
			for _, v := range h.Versions() {
				fmt.Fprintf(&out, "  %s\n", describe(n, &v))
			}
			step, is := history.LastStep(h.Versions())
			newest, any := h.Newest()
			fmt.Fprintf(&out, "  %s: last step %v %v, newest #%d %v\n", n, step, is, newest.Seq, any)
		}
	}
	golden.Is(t, filepath.Join("testdata", "ledger.txt"), out.String())
}

// describe is all of a version but for its hash, and the nothing in it.
func describe(name string, v *history.Version) string {
	s := fmt.Sprintf("%s for %s: %s in #%d, stream %d", name, v.Client, v.Type, v.Seq, v.Stream)
	for _, part := range []struct {
		name  string
		value any
		there bool
	}{
		{"version", v.Version, v.Version != ""},
		{"nonce", v.Nonce, v.Nonce != ""},
		{"with", v.With, v.With > 0},
		{"removed", v.Removed, v.Removed},
		{"size", v.Size, v.Size > 0},
		{"is", v.State, true},
		{"by", v.Judged, v.Judged > 0},
		{"why", v.Reason, v.Reason != ""},
		{"pushes", v.Pushes, true},
		{"last", v.Last, true},
		{"heartbeats", v.Heartbeats, v.Heartbeats > 0},
		{"uncertain", v.Uncertain, v.Uncertain},
	} {
		if part.there {
			s += fmt.Sprintf(", %s %v", part.name, part.value)
		}
	}
	return s
}
