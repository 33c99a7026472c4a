package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

const loopRounds = 10_000

// loopScript is a client that rejects the same 10,000 times.
func loopScript(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("C> type=LDS V= N= R=[] node=gw-0\n")
	for i := range loopRounds {
		fmt.Fprintf(&b, "S< type=LDS V=88 N=%d res=[bad]\nC> type=LDS V= N=%d R=[] err=\"duplicate address\" code=13\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "loop.xds")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// In a pipe a loop is its first round and a line at 1, 10, 100 times and so on;
// --no-fold prints all of it, and what is for machines is never folded.
func TestWatchFoldsALoop(t *testing.T) {
	path := loopScript(t)
	watch := func(args ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		if code := main1(append([]string{"watch", path, "--no-check"}, args...), strings.NewReader(""), &out, &said); code != 0 {
			t.Fatalf("exit code %d: %s", code, said.String())
		}
		return out.String()
	}
	text := watch()
	if n := strings.Count(text, "\n"); n > 20 {
		t.Errorf("%d lines", n)
	}
	var counts []string
	for _, m := range regexp.MustCompile(`(?m)^ {7}x(\S+)  gw-0 LDS the same again as \d+, until \d+ at `).FindAllStringSubmatch(text, -1) {
		counts = append(counts, m[1])
	}
	if got := strings.Join(counts, " "); got != "1 10 100 "+render.Number(1000)+" "+render.Number(loopRounds-1) {
		t.Errorf("it counts %s\n%s", got, text)
	}
	for _, args := range [][]string{{"--no-fold"}, {"-o", "jsonl"}, {"--filter", "kind:nack,resp seq:1.."}} {
		if n := strings.Count(watch(args...), "\n"); n < 2*loopRounds {
			t.Errorf("%v: %d lines", args, n)
		}
	}
	if n := strings.Count(watch("--filter", "kind:nack"), "\n"); n > 10 {
		t.Errorf("of rejections alone, %d lines", n)
	}
}

// On a terminal the line that counts is written anew while it is the last, and
// takes one row.
func TestWatchRewritesOnATerminal(t *testing.T) {
	text, err := os.ReadFile(loopScript(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("loop.xds", text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &printer{w: &out, table: render.NewTable(40, render.Style{}), repeats: newRepeats(), rewrites: true}
	account := check.NewChecker(check.Options{})
	for e := range s.Entries() {
		c := account.Step(&e)
		if err := p.all(&e, &c); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.rest(); err != nil {
		t.Fatal(err)
	}
	// What a terminal would show.
	var rows []string
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if rest, again := strings.CutPrefix(line, "\x1b[1A\x1b[2K"); again {
			if rows, line = rows[:len(rows)-1], rest; render.Width(line) >= 40 {
				t.Fatalf("%q takes two rows", line)
			}
		}
		rows = append(rows, line)
	}
	screen := strings.Join(rows, "\n")
	if len(rows) > 60 || strings.Count(screen, " an error, ~ a warning") != 1 || !strings.Contains(screen, "       x"+render.Number(loopRounds-1)+"  gw-0 LDS the same") {
		t.Errorf("%d rows:\n%s", len(rows), screen)
	}
}
