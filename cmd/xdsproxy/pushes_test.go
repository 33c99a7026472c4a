package main

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// A push that somebody never answers keeps back later ones of its server and of no
// other. It is printed when whoever follows has enough.
func TestPushesFollow(t *testing.T) {
	s, err := script.Parse("two.xds", []byte(`-- stream 1 server=a:1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=1 res=[stuck]
-- stream 2 server=b:1
t=+1s C> type=CDS V= N= R=[] node=n2
S< type=CDS V=1 N=1 res=[c1]
C> type=CDS V=1 N=1 R=[]
t=+5s S< type=CDS V=2 N=2 res=[c1#2]
C> type=CDS V=2 N=2 R=[]
t=+5s S< type=CDS V=3 N=3 res=[c1#3]
C> type=CDS V=3 N=3 R=[]
t=+5s C> type=CDS V=3 N=3 R=[]
`))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "live.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for e := range s.Entries() {
		log.Append(e)
	}
	cmd := command(t, "pushes", "--follow", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		f := strings.Fields(strings.TrimLeft(lines.Text(), "!? "))
		numbers = append(numbers, f[0])
		if f[0] == "4" {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the exit code says it
	if got := strings.Join(numbers, " "); got != "PUSH 2 3 4 1" || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it printed %s, exit code %d\n%s", got, cmd.ProcessState.ExitCode(), &stderr)
	}
}
