package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
)

const oneBad = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a]
C> type=CDS V= N=a R=[] err="no"
`

// bisectAlone bisects a file with its own client, played again, and returns the
// files that it says it has written.
func bisectAlone(t *testing.T, file string) (files foundFiles) {
	t.Helper()
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	var (
		out, said bytes.Buffer
		code      int
		running   sync.WaitGroup
	)
	running.Go(func() {
		code = main1([]string{"bisect", file, "--listen", socket, "-o", "json"}, strings.NewReader(""), &out, &said)
	})
	for range 300 { // until it listens
		var o, s bytes.Buffer
		if main1([]string{"replay", file, "--as", "client", "--target", socket, "--idle", "2s"}, strings.NewReader(""), &o, &s) != exitFailed {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	running.Wait()
	if err := json.Unmarshal(out.Bytes(), &files); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, &out, &said)
	}
	return files
}

// What is found is written beside each other, under names that nothing has yet.
func TestBisectFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bug.xds", []byte(oneBad), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := bisectAlone(t, "bug.xds"); got != (foundFiles{"bug-5.xds", "bug-5.xdsp"}) {
		t.Errorf("%+v", got)
	}
	if err := os.Remove("bug-5.xds"); err != nil { // the recording is still there
		t.Fatal(err)
	}
	if got := bisectAlone(t, "bug.xds"); got != (foundFiles{"bug-5-2.xds", "bug-5-2.xdsp"}) {
		t.Errorf("%+v", got)
	}
	// What was written can be bisected itself.
	if got := bisectAlone(t, "bug-5-2.xdsp"); got != (foundFiles{"bug-5-2-3.xds", "bug-5-2-3.xdsp"}) {
		t.Errorf("%+v", got)
	}
	var out, said bytes.Buffer
	code := main1([]string{"bisect", "bug.xds", "--listen", "127.0.0.1:0", "--script", "bug-5.xds"}, strings.NewReader(""), &out, &said)
	if code != exitFailed || !strings.Contains(said.String(), "bug-5.xdsp exists") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

func TestBisectPolled(t *testing.T) {
	var out, said bytes.Buffer
	code := main1([]string{"bisect", "../../check/testdata/sessions/rest-nack.xdsp", "--listen", "127.0.0.1:0"}, strings.NewReader(""), &out, &said)
	if code != exitFailed || !strings.Contains(said.String(), "answers to polls cannot be bisected") || !strings.Contains(said.String(), "xdsproxy check") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

// A client that does not answer may wait for something.
func TestBisectSilent(t *testing.T) {
	err := unfinished(&replay.SilentError{What: "trial 3", After: time.Second, Lacks: []string{`SDS "key"`}}, &replay.Bisection{})
	f, is := err.(*failure)
	if !is || !strings.Contains(strings.Join(f.hints, "\n"), `SDS "key"`) || !strings.Contains(strings.Join(f.hints, "\n"), "--timeout") {
		t.Errorf("%+v", err)
	}
}
