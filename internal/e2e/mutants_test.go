package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/mutant"
)

var (
	mutants    = flag.Int("mutants", 3, "mutated recordings in TestMutantsInATerminal")
	mutantSeed = flag.Uint64("mutantseed", 1, "what TestMutantsInATerminal begins its chances with")
)

// A recording that was changed is opened in a real terminal: the screen comes,
// or the program says why not; it ends when it is asked to; and what it sends
// to the terminal has nothing in it that the recording says to one.
func TestMutantsInATerminal(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("..", "..", "check", "testdata", "*", "*.xdsp"))
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	screens := 0
	for n := range *mutants {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(*mutantSeed, uint64(n)))
			base := paths[r.IntN(len(paths))]
			b, err := os.ReadFile(base)
			if err != nil {
				t.Fatal(err)
			}
			if n%2 == 0 {
				b = mutant.Raw(b, r)
			} else if b, err = mutant.Sound(b, r); err != nil {
				t.Skip(base, err)
			}
			path := filepath.Join(t.TempDir(), "m.xdsp")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			p := newPane(t, 120, 35, "open", path)
			shown := p.opened()
			if shown {
				screens++
				for _, keys := range [][]string{{"1", "Enter"}, {"2", "End", "Enter", "d"}, {"3", "Down", "Enter"}, {"4", "Enter"}, {"5"}, {"2", "L"}, {"?"}} {
					p.press(keys...)
					harmless(t, p.screen())
					p.press("Escape")
					time.Sleep(100 * time.Millisecond) // or it is Alt with the next key
				}
				p.tmux("resize-window", "-x", "100", "-y", "30")
				harmless(t, p.shows("2 Timeline"))
				p.press("C-c")
			}
			for end := time.Now().Add(patience); !strings.HasPrefix(p.tmux("display-message", "-p", "#{pane_dead}"), "1"); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: it does not end:\n%s", base, p.screen())
				}
			}
			harmless(t, p.tmux("capture-pane", "-p", "-S", "-"))
			raw, err := os.ReadFile(p.sent)
			if (err != nil || len(raw) == 0) && shown {
				t.Fatalf("%d bytes came to the terminal: %v", len(raw), err)
			}
			harmless(t, strings.NewReplacer("\x1b", "", "\r", "", "\a", "", "\t", "", "\b", "", "\x0f", "").Replace(string(raw)))
			if strings.Contains(string(raw), "\x1b]0;x\x07") {
				t.Errorf("%s: the recording has set the title", base)
			}
		})
	}
	t.Logf("%d of %d were shown", screens, *mutants)
}

// opened waits until there is a screen, or the program has ended.
func (p *pane) opened() bool {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.HasPrefix(p.tmux("display-message", "-p", "#{pane_dead}"), "1") {
			return false
		}
		if strings.Contains(p.screen(), "2 Timeline") {
			return true
		}
	}
	p.t.Fatalf("no screen, and no end:\n%s", p.screen())
	return false
}

// harmless looks for what a terminal could take for a command, and for the end
// of a program that nobody wanted.
func harmless(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Fatalf("%q", text[max(0, i-60):min(len(text), i+20)])
		}
	}
	for _, crash := range []string{"panic:", "goroutine ", "fatal error"} {
		if strings.Contains(text, crash) {
			t.Fatal(fmt.Sprint("it crashed:\n", text))
		}
	}
}
