package recorder

import (
	"errors"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
)

// defaultSyncEvery is how long what was written may be lost to a crash of the
// whole machine.
const defaultSyncEvery = 200 * time.Millisecond

// syncer is a goroutine that brings a file from the system's memory to the
// disk, a while after something was written to it. Nobody waits for it.
type syncer struct {
	every time.Duration
	dirty chan struct{}
	stop  chan struct{}
	done  chan struct{}

	mu  sync.Mutex
	f   interface{ Sync() error }
	old []blocks.File // to be synced once more, and closed
	err error         // of the last attempt
	// told is the error that was reported last; only the writer uses it.
	told error
}

// newSyncer starts a syncer for f. It is nil, which does nothing, if f cannot be
// synced or is not to be.
func newSyncer(f blocks.File, every time.Duration) *syncer {
	s, ok := f.(interface{ Sync() error })
	if !ok || every < 0 {
		return nil
	}
	if every == 0 {
		every = defaultSyncEvery
	}
	y := &syncer{
		every: every, f: s,
		dirty: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go y.run()
	return y
}

func (s *syncer) run() {
	defer close(s.done)
	for {
		select {
		case <-s.dirty:
		case <-s.stop:
			return
		}
		select {
		case <-time.After(s.every):
		case <-s.stop:
			return
		}
		// What is written from here on is synced next time.
		select {
		case <-s.dirty:
		default:
		}
		s.sync()
	}
}

// wrote says that there is something to sync.
func (s *syncer) wrote() {
	if s == nil {
		return
	}
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

func (s *syncer) sync() {
	s.mu.Lock()
	f, old := s.f, s.old
	s.old = nil
	s.mu.Unlock()
	err := f.Sync()
	for _, o := range old {
		if y, ok := o.(interface{ Sync() error }); ok {
			err = errors.Join(err, y.Sync())
		}
		err = errors.Join(err, o.Close())
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
}

// news is what has become of it, if that is not what was told last: an error,
// or nil when syncing works again.
func (s *syncer) news() (err error, is bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is = (s.err == nil) != (s.told == nil)
	s.told = s.err
	return s.err, is
}

// finish stops the goroutine and syncs what is left.
func (s *syncer) finish() error {
	if s == nil {
		return nil
	}
	close(s.stop)
	<-s.done
	s.sync()
	return s.err
}

// swap goes on with another file. It syncs and closes the old one, which is
// written no more.
func (s *syncer) swap(f, old blocks.File) {
	if s == nil {
		_ = old.Close()
		return
	}
	s.mu.Lock()
	s.f, _ = f.(interface{ Sync() error })
	s.old = append(s.old, old)
	s.mu.Unlock()
	s.wrote()
}
