package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
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

// hung is a share that does not answer, and does not hear that nobody waits any more.
type hung struct {
	objects.Store
	asked, over chan struct{}
}

func (s hung) Stat(context.Context, string) (objects.Object, error) {
	close(s.asked)
	<-s.over
	return objects.Object{}, errors.New("the share is back")
}

// TestHungShare: the end does not wait for a share that never answers.
func TestHungShare(t *testing.T) {
	var w words
	path := filepath.Join(t.TempDir(), "x.xdsp")
	store := hung{asked: make(chan struct{}), over: make(chan struct{})}
	a, err := New(path, Options{URL: "file:///share/", Store: store, Cluster: "c", Name: "p", Tell: w.tell})
	if err != nil {
		t.Fatal(err)
	}
	log, err := recorder.Create(path, recorder.Options{MaxSize: 8 << 10, NoTicks: true, Rotated: a.Rotated})
	if err != nil {
		t.Fatal(err)
	}
	a.Start(log.Facts().Created)
	r := &at{Log: log, a: a, path: path, copy: make(map[uint64][]byte)}
	r.segment(t)
	<-store.asked
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	a.Close(t.Context(), 0)
	if st := a.Stats(); st.Done != 0 || st.Pending == 0 {
		t.Errorf("%+v", st)
	}
	close(store.over)
	<-a.done
}
