package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/replay"
)

func TestBisectPolled(t *testing.T) {
	var out, said bytes.Buffer
	code := main1([]string{"bisect", "../../check/testdata/sessions/rest-nack.xdsp", "--listen", "127.0.0.1:0"}, strings.NewReader(""), &out, &said)
	if code != console.ExitFailed || !strings.Contains(said.String(), "answers to polls cannot be bisected") || !strings.Contains(said.String(), "xdsproxy check") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

// A client that does not answer may wait for something.
func TestBisectSilent(t *testing.T) {
	err := unfinished(&replay.SilentError{What: "trial 3", After: time.Second, Lacks: []string{`SDS "key"`}}, &replay.Bisection{})
	f, is := err.(*failure)
	if !is || !strings.Contains(strings.Join(f.Hints, "\n"), `SDS "key"`) || !strings.Contains(strings.Join(f.Hints, "\n"), "--timeout") {
		t.Errorf("%+v", err)
	}
}
