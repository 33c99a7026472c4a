package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// A response that takes the rules long does not keep a proxy from ending. What
// was not judged is said.
func TestJudgingDoesNotHoldUpTheEnd(t *testing.T) {
	var said bytes.Buffer
	a := &app{stderr: &said}
	never := make(chan struct{})
	a.awaitJudged(t.Context(), never, time.Nanosecond)
	if want := "xdsproxy: warning: the rules have not looked at the end of the recording"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("%q", said.String())
	}
	said.Reset()
	impatient, now := context.WithCancel(t.Context())
	now()
	a.awaitJudged(impatient, never, 0)
	over := make(chan struct{})
	close(over)
	a.awaitJudged(t.Context(), over, time.Hour)
	if said.Len() > 0 {
		t.Errorf("%q", said.String())
	}
}

// A command that judges ends when it is asked to, also in the middle of an entry
// that takes long; one that ends by itself is left alone.
func TestJudgingHeedsASignal(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ended := make(chan int)
	back := heedStop(asked, 0, func(code int) { ended <- code })
	ask()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	back()

	asked, ask = context.WithCancel(t.Context())
	back = heedStop(asked, time.Hour, func(int) { t.Error("it had ended") })
	back()
	ask()
}
