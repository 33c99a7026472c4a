package main

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is written to by timers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.b.String(), "\n"), "\n")
}

// A disk that fails is told of until it works again.
func TestTroubleLasts(t *testing.T) {
	out := &lockedBuffer{}
	tr := &trouble{app: &app{stderr: out}, every: time.Millisecond, lost: func() uint64 { return 7 }}
	tr.report(nil)
	tr.report(errors.New("no space left on device"))
	for len(out.lines()) < 3 {
		time.Sleep(time.Millisecond)
	}
	tr.report(nil)
	lines := out.lines()
	for i, want := range map[int]string{
		0:              "xdsproxy: warning: no space left on device; forwarding is not affected",
		1:              "xdsproxy: warning: the recording cannot be written, for ",
		len(lines) - 1: "xdsproxy: warning: the recording is written again, after ",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, not %q", i, lines[i], want)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, ": 7 entries") {
		t.Errorf("%q does not say how many are missing", last)
	}
}
