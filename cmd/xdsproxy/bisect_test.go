package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

func TestBisectPolled(t *testing.T) {
	var out, said bytes.Buffer
	code := main1([]string{"bisect", "../../check/testdata/sessions/rest-nack.xdsp", "--listen", "127.0.0.1:0"}, strings.NewReader(""), &out, &said)
	if code != console.ExitFailed || !strings.Contains(said.String(), "answers to polls cannot be bisected") || !strings.Contains(said.String(), "xdsproxy check") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}
