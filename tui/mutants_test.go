package tui

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/mutant"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

var (
	mutants     = flag.Int("mutants", 6, "mutated recordings in TestMutantsOnTheScreen")
	mutantSeed  = flag.Uint64("mutantseed", 1, "what TestMutantsOnTheScreen begins its chances with")
	mutantFirst = flag.Int("mutantfirst", 0, "the first mutant of TestMutantsOnTheScreen, to have one again")
)

// Whatever a recording says, the screen shows it with every key, and no
// character in it that a terminal would obey.
func TestMutantsOnTheScreen(t *testing.T) {
	paths, err := filepath.Glob(sessionPath("*"))
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	var keys []string
	for _, b := range key.All() {
		keys = append(keys, b.Keys...)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ctrl+c" })
	for range 3 { // to get somewhere, and to what is there
		keys = append(keys, "1", "2", "3", "4", "5", "enter", "down", "end", "tab", "d")
	}
	ours := regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	for n := range *mutants {
		n += *mutantFirst
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(*mutantSeed, uint64(n)))
			base := paths[r.IntN(len(paths))]
			b, err := os.ReadFile(base)
			if err != nil {
				t.Fatal(err)
			}
			if n%4 == 0 {
				b = mutant.Raw(b, r)
			} else if b, err = mutant.Sound(b, r); err != nil {
				t.Skip(base, err)
			}
			path := filepath.Join(t.TempDir(), "m.xdsp")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := recorder.Open(path); err != nil {
				t.Skip(err)
			} else if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			var pressed []string
			defer func() {
				if t.Failed() {
					t.Log(base, pressed)
				}
			}()
			d := drive(t, fileSource(path), 60+r.IntN(80), 10+r.IntN(40), Options{Theme: "mono"})
			for range 80 {
				pressed = append(pressed, keys[r.IntN(len(keys))])
				d.press(pressed[len(pressed)-1])
				_ = d.frame()
				frame := ours.ReplaceAllString(d.m.Frame(), "")
				for i, c := range frame {
					if _, size := utf8.DecodeRuneInString(frame[i:]); c != '\n' && (!strconv.IsPrint(c) || c == utf8.RuneError && size == 1) {
						t.Fatalf("it shows %q", frame[max(0, i-60):min(len(frame), i+20)])
					}
				}
			}
		})
	}
}
