package convert_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// Of every finding in every recording of the tree a part can be written from which
// the same rule finds the same.
func TestProve(t *testing.T) {
	files, _ := filepath.Glob("../../check/testdata/sessions/*.xdsp")
	extents, proven := map[convert.Extent]int{}, 0
	for _, file := range files {
		all, facts := read(t, file)
		w := &walker{all: all, choose: func(*session.Entry, *check.Change) bool { return false }}
		if err := w.walk(func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for n, f := range check.Fold(w.checker.Findings()) {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.xdsp", n))
			p := &convert.Proof{Findings: []check.Finding{f}}
			done, extent, err := convert.Prove(t.Context(), path, facts, w.walk, p, convert.CutOptions{})
			if err != nil || done.Entries == 0 {
				t.Fatalf("%s, %s: %+v, %v", file, f.Rule.ID, done, err)
			}
			extents[extent]++
			again, _ := read(t, path)
			k := check.NewChecker(check.Options{})
			found := false
			for i := range again {
				k.Step(&again[i])
			}
			for _, g := range k.Findings() {
				found = found || g.Rule.ID == f.Rule.ID && g.Client == f.Client && g.Type == f.Type
			}
			if !found {
				t.Errorf("%s: %s of %q is not found in the part", file, f.Rule.ID, f.Client)
			}
			proven++
		}
	}
	t.Logf("%d findings; extents %v", proven, extents)
	if proven < 50 {
		t.Errorf("only %d findings were tried", proven)
	}
}

// A part that is to be played has what leads its client to the finding: one with a
// stream for each type opens none for listeners before it has clusters. If that is
// too much the part proves the finding without it.
func TestProveWithTheWay(t *testing.T) {
	all, facts := read(t, "../../check/testdata/systems/jcp-per-type-delta.xdsp")
	w := &walker{all: all, choose: func(*session.Entry, *check.Change) bool { return false }}
	if err := w.walk(func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	found := check.Fold(w.checker.Findings())
	found = found[slices.IndexFunc(found, func(f check.Finding) bool { return f.Rule.ID == "nack-received" }):][:1]
	last := slices.Max(found[0].Seqs)
	for _, c := range []struct {
		way    int64
		extent convert.Extent
	}{{0, convert.TheStreams}, {1 << 20, convert.TheWay}, {1, convert.TheStreams}} {
		path := filepath.Join(t.TempDir(), "part.xdsp")
		_, extent, err := convert.Prove(t.Context(), path, facts, w.walk, &convert.Proof{Findings: found, Way: c.way}, convert.CutOptions{})
		if err != nil || extent != c.extent {
			t.Errorf("%d bytes: extent %d, %v; want %d", c.way, extent, err, c.extent)
			continue
		}
		part, _ := read(t, path)
		missing := 0
		for i := range all {
			if e := &all[i]; e.Message != nil && e.Seq <= last && !slices.ContainsFunc(part, func(p session.Entry) bool { return p.Seq == e.Seq && p.Message != nil }) {
				missing++
			}
		}
		if led := missing == 0; led != (c.extent == convert.TheWay) {
			t.Errorf("%d bytes: %d messages before entry %d are not in the part", c.way, missing, last)
		}
	}
}

// A part that was written is not judged once that is given up, and does not stay.
func TestProveIsGivenUp(t *testing.T) {
	all, facts := read(t, "../../check/testdata/systems/jcp-per-type-delta.xdsp")
	w := &walker{all: all, choose: func(*session.Entry, *check.Change) bool { return false }}
	if err := w.walk(func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	found := check.Fold(w.checker.Findings())[:1]
	for way, walks := range map[int64]int{0: 2, 1 << 20: 3} { // the streams are learned first
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "part.xdsp")
		_, _, err := convert.Prove(ctx, path, facts, func(visit convert.Visit) error {
			if walks--; walks == 0 {
				defer cancel()
			}
			return w.walk(visit)
		}, &convert.Proof{Findings: found, Way: way}, convert.CutOptions{})
		cancel()
		if _, there := os.Stat(path); !errors.Is(err, context.Canceled) || walks != 0 || !errors.Is(there, fs.ErrNotExist) {
			t.Errorf("a way of %d bytes: %v, %d walks are left; the part: %v", way, err, walks, there)
		}
	}
}
