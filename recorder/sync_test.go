package recorder

import (
	"errors"
	"sync"
	"testing"
)

// synced is a file in memory of which the test decides how syncing goes.
type synced struct {
	memory
	mu    sync.Mutex
	gate  sync.Mutex // held: syncing waits
	count int
	err   error
}

func (s *synced) Sync() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.err
}

func (s *synced) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *synced) syncs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func startSynced(t *testing.T, s *synced, o Options) *Log {
	t.Helper()
	o.NoTicks = true
	l, err := start("synced", s, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What is written is synced some time later, and a disk that takes its time
// holds up nobody.
func TestSync(t *testing.T) {
	s := new(synced)
	l := startSynced(t, s, Options{SyncEvery: 1})
	l.Append(message(1, "a"))
	until(t, "it is synced", func() bool { return s.syncs() > 0 })
	s.gate.Lock()
	for i := range uint64(3) {
		l.Append(message(1, "b"))
		until(t, "it is written", func() bool { return l.Stats().Entries == i+2 })
	}
	before := s.syncs()
	s.gate.Unlock()
	closeLog(t, l)
	if s.syncs() == before {
		t.Error("the end was not synced")
	}
}

func TestSyncOff(t *testing.T) {
	s := new(synced)
	l := startSynced(t, s, Options{SyncEvery: -1})
	l.Append(message(1, "a"))
	closeLog(t, l)
	if n := s.syncs(); n != 0 {
		t.Errorf("synced %d times", n)
	}
}

func TestSyncFails(t *testing.T) {
	s := &synced{err: errors.New("broken")}
	var (
		mu   sync.Mutex
		told []error
	)
	l := startSynced(t, s, Options{SyncEvery: 1, OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err)
	}})
	count := func(n int) func() bool {
		return func() bool {
			l.Append(message(1, "x"))
			until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
			mu.Lock()
			defer mu.Unlock()
			return len(told) == n
		}
	}
	until(t, "it is told", count(1))
	s.set(nil)
	until(t, "the end of it is told", count(2))
	if !errors.Is(told[0], s.err) && told[0] == nil || told[1] != nil {
		t.Errorf("told %v", told)
	}
	s.set(errors.New("broken again"))
	if err := l.Close(); err == nil {
		t.Error("Close says that all is well")
	}
}
