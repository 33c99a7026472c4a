package agree

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var (
	conversations = flag.Int("conversations", 2000, "conversations that are made up")
	oneSeed       = flag.Uint64("seed", 0, "one conversation alone, and all that is not told the same of it")
)

// example is a conversation of which something is not told the same by all.
type example struct {
	text  string
	lines int
	first disagreement
	seeds []uint64 // some others
	count int
}

// On conversations that are made up all tell the same. Each kind of disagreement
// is shown by the shortest conversation that has it.
func TestConversations(t *testing.T) {
	if *oneSeed != 0 {
		text := makeUp(*oneSeed)
		t.Log("\n" + text)
		few(t, tryText(t, text))
		return
	}
	kinds := make(map[string]*example)
	var mu sync.Mutex
	eachSeed(func(seed uint64) {
		text := makeUp(seed)
		found := tryText(t, text)
		mu.Lock()
		defer mu.Unlock()
		seen := make(map[string]bool)
		for _, d := range found {
			if seen[d.kind] {
				continue
			}
			seen[d.kind] = true
			x := kinds[d.kind]
			if x == nil {
				x = &example{lines: 1 << 30}
				kinds[d.kind] = x
			}
			x.count++
			if n := strings.Count(text, "\n"); n < x.lines {
				x.text, x.lines, x.first = text, n, d
			}
			if len(x.seeds) < 4 {
				x.seeds = append(x.seeds, seed)
			}
		}
	})
	for _, kind := range sorted(kinds) {
		x := kinds[kind]
		text, d := shrink(x.text, x.first)
		t.Errorf("%v\nin %d of %d conversations, such as -seed %d; the shortest, without what does not matter:\n%s", d, x.count, *conversations, x.seeds, text)
	}
}

// eachSeed calls do with each seed, several at a time.
func eachSeed(do func(seed uint64)) {
	var wg sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range seeds {
				do(seed)
			}
		})
	}
	for seed := range uint64(*conversations) {
		seeds <- seed + 1
	}
	close(seeds)
	wg.Wait()
}

func tryText(t *testing.T, text string) []disagreement {
	entries, err := play(text)
	if err != nil {
		t.Errorf("%v in\n%s", err, text)
		return nil
	}
	return try(entries)
}

// shrink takes lines away as long as there is a disagreement of the same kind.
func shrink(text string, d disagreement) (string, disagreement) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	has := func(lines []string) (disagreement, bool) {
		entries, err := play(strings.Join(lines, "\n"))
		if err != nil {
			return d, false
		}
		for _, found := range try(entries) {
			if found.kind == d.kind {
				return found, true
			}
		}
		return d, false
	}
	budget := 400
	for step := len(lines) / 2; step > 0; step /= 2 {
		for from := 0; from < len(lines) && budget > 0; {
			to := min(from+step, len(lines))
			less := append(append([]string(nil), lines[:from]...), lines[to:]...)
			budget--
			if found, is := has(less); is {
				lines, d = less, found
			} else {
				from = to
			}
		}
	}
	return fmt.Sprintln(strings.Join(lines, "\n")), d
}
