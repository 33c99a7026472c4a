package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines collects what a process prints, for others to wait on.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newLines() *lines { return &lines{changed: make(chan struct{})} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// find waits for a whole line that matches, and fails the test if the process
// ends without one.
func (l *lines) find(t *testing.T, re *regexp.Regexp, exited <-chan struct{}) []string {
	t.Helper()
	deadline := time.After(patience)
	for gone := false; ; {
		l.mu.Lock()
		text, changed := l.text.String(), l.changed
		l.mu.Unlock()
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		for s := range strings.Lines(whole) {
			if found := re.FindStringSubmatch(strings.TrimSuffix(s, "\n")); found != nil {
				return found
			}
		}
		if gone {
			t.Fatalf("the process ended without a line that matches %q:\n%s", re, text)
		}
		select {
		case <-changed:
		case <-exited:
			gone = true
		case <-deadline:
			t.Fatalf("no line matches %q:\n%s", re, text)
		}
	}
}

// eventually polls until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// tool returns the path of something that make installs. Where it is missing,
// the test is skipped, or fails on a build machine.
func tool(t *testing.T, target string, path ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".tools", target}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: run make %s", target, target)
		}
		t.Skipf("%s is not installed: run make %s", target, target)
	}
	return p
}

// last is the last whole line.
func (l *lines) last() string {
	text := l.String()
	text = strings.TrimSuffix(text[:strings.LastIndexByte(text, '\n')+1], "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
