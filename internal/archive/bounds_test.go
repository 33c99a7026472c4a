package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// So many causes of one outage are told, and no more.
func TestCausesAreBounded(t *testing.T) {
	for told, want := range map[int]int{maxCauses - 1: 1, maxCauses: 0} {
		var w words
		a := &Archive{o: Options{Tell: w.tell, Stall: time.Hour}}
		a.outage.causes = make([]string, told)
		a.failed(&piece{}, errors.New("another"))
		if len(w.said) != want || len(a.outage.causes) != told+want {
			t.Errorf("after %d causes: %q", told, w.said)
		}
	}
}

// What is new is told, however much was told before it; so much of it is remembered.
func TestToldIsBounded(t *testing.T) {
	var w words
	a := &Archive{o: Options{Tell: w.tell}, told: map[string]bool{}}
	for i := range maxTold - 1 {
		a.told[fmt.Sprint(i)] = true
	}
	for range 2 {
		a.tellOnce("last", "the last", "")
		a.tellOnce("more", "one more", "")
	}
	if len(w.said) != 3 || !strings.HasPrefix(w.said[1], "one more") || !strings.HasPrefix(w.said[2], "the last") || len(a.told) != 2 {
		t.Errorf("%q, %d are remembered", w.said, len(a.told))
	}
}

// skewed is a store whose clock is ahead.
type skewed struct {
	objects.Store
	by time.Duration
}

func (s skewed) Skew() (time.Duration, bool) { return s.by, true }

// Clocks that are nearly the same are not worth a word.
func TestSkewIsTold(t *testing.T) {
	for by, want := range map[time.Duration]int{maxSkew - 1: 0, maxSkew: 1, 1 - maxSkew: 0, -maxSkew: 1} {
		var w words
		a := &Archive{o: Options{Store: skewed{by: by}, Tell: w.tell}, told: map[string]bool{}}
		if a.watchClock(); len(w.said) != want {
			t.Errorf("by %s: %q", by, w.said)
		}
	}
}

// So much is read of an intent: one that is longer is none.
func TestIntentIsShort(t *testing.T) {
	text := `{"archive": "s3://b/", "cluster": "c", "proxy": "p", "recording": "20260203T040506Z-a"}`
	path := filepath.Join(t.TempDir(), "x")
	for size, want := range map[int]error{maxIntent: nil, maxIntent + 1: errIntent} {
		if err := os.WriteFile(path, fmt.Appendf(nil, "%*s", size, text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readIntent(path); !errors.Is(err, want) {
			t.Errorf("of %d bytes: %v", size, err)
		}
	}
}
