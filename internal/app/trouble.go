package app

import (
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// trouble warns of a recording that cannot be written: at once, again and again
// for as long as it lasts, and when it is over.
type trouble struct {
	con   *console.Console
	every time.Duration
	lost  func() uint64 // entries lost so far

	mu     sync.Mutex
	begun  time.Time // zero: all is well
	before uint64    // lost when all was well last
	again  *time.Timer
}

// report takes what the recorder says: an error when the file can no longer be
// written, nil when it can again.
func (t *trouble) report(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.over()
		return
	}
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.again = time.AfterFunc(t.every, t.remind)
	}
	t.con.Warn("%v; forwarding is not affected, and recording goes on when it can", err)
}

func (t *trouble) over() {
	if t.begun.IsZero() {
		return
	}
	t.again.Stop()
	missing := "; nothing was dropped"
	if t.lost() > t.before {
		missing = "; a gap entry says what is missing: " + t.missing()
	}
	t.con.Warn("the recording is written again, after %s%s", render.Duration(time.Since(t.begun)), missing)
	t.begun, t.before = time.Time{}, t.lost()
}

func (t *trouble) remind() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun.IsZero() {
		return
	}
	t.again.Reset(t.every)
	t.con.Warn("the recording cannot be written as it should, for %s now: %s dropped so far",
		render.Duration(time.Since(t.begun)), t.missing())
}

func (t *trouble) missing() string {
	return render.Count(t.lost()-t.before, "entry", "entries")
}
