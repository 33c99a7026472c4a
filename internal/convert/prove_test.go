package convert_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/session"
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
			done, extent, err := convert.Prove(path, facts, w.walk, p, convert.CutOptions{})
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
