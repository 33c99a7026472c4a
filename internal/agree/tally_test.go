package agree

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally collects what does not hold, by kind, and shows of each the shortest
// conversation.
type tally struct {
	mu    sync.Mutex
	kinds map[string]*example
	of    int
}

// example is a conversation of which something does not hold.
type example struct {
	text  string
	lines int
	seed  uint64
	first disagreement
	seeds []uint64 // some
	count int
}

func newTally() *tally { return &tally{kinds: make(map[string]*example)} }

// add enters what does not hold of a conversation.
func (y *tally) add(seed uint64, text string, found []disagreement) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.of++
	seen := make(map[string]bool)
	for _, d := range found {
		if seen[d.kind] {
			continue
		}
		seen[d.kind] = true
		x := y.kinds[d.kind]
		if x == nil {
			x = &example{lines: 1 << 30}
			y.kinds[d.kind] = x
		}
		x.count++
		// The same ones, whoever comes first.
		x.seeds = append(x.seeds, seed)
		if slices.Sort(x.seeds); len(x.seeds) > 4 {
			x.seeds = x.seeds[:4]
		}
		if n := strings.Count(text, "\n"); n < x.lines || n == x.lines && seed < x.seed {
			x.text, x.lines, x.seed, x.first = text, n, seed, d
		}
	}
}

// report fails the test for each kind. again tells what does not hold of a
// shorter conversation.
func (y *tally) report(t *testing.T, again func(text string) []disagreement) {
	t.Helper()
	for _, kind := range sorted(y.kinds) {
		x := y.kinds[kind]
		text, d := shrink(x.text, x.first, again)
		t.Errorf("%v\nin %d of %d conversations, such as -seed %d; the shortest, without what does not matter:\n%s", d, x.count, y.of, x.seeds, text)
	}
}

// shrink takes lines away as long as there is a disagreement of the same kind.
func shrink(text string, d disagreement, again func(text string) []disagreement) (string, disagreement) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	budget := 400
	for step := len(lines) / 2; step > 0; step /= 2 {
		for from := 0; from < len(lines) && budget > 0; {
			to := min(from+step, len(lines))
			less := append(append([]string(nil), lines[:from]...), lines[to:]...)
			budget--
			is := false
			for _, found := range again(strings.Join(less, "\n")) {
				if found.kind == d.kind {
					lines, d, is = less, found, true
					break
				}
			}
			if !is {
				from = to
			}
		}
	}
	return fmt.Sprintln(strings.Join(lines, "\n")), d
}
