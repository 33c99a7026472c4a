package agree

import (
	"flag"
	"runtime"
	"sync"
	"testing"
)

var (
	conversations = flag.Int("conversations", 0, "conversations that are made up; 0: 2,000, or 200 with -short or the race detector")
	oneSeed       = flag.Uint64("seed", 0, "one conversation alone, and all that is not told the same of it")
)

// On conversations that are made up all tell the same. Each kind of disagreement
// is shown by the shortest conversation that has it.
func TestConversations(t *testing.T) {
	eachConversation(t, all(), func(_ uint64, text string) []disagreement {
		entries, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		return try(entries)
	})
}

// Equal seeds make equal conversations, and every one of them can be played.
func TestSeeds(t *testing.T) {
	for seed := range uint64(50) {
		text := makeUp(seed)
		if makeUp(seed) != text {
			t.Fatalf("seed %d makes two conversations", seed)
		}
		if _, err := play(text); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// unplayable is what an error of a script becomes.
func unplayable(err error) []disagreement { return []disagreement{{"unplayable", 0, err.Error()}} }

// eachConversation looks at so many conversations, several at a time, and reports
// what does not hold.
func eachConversation(t *testing.T, n int, look func(seed uint64, text string) []disagreement) {
	t.Helper()
	if *oneSeed != 0 {
		text := makeUp(*oneSeed)
		t.Log("\n" + text)
		few(t, look(*oneSeed, text))
		return
	}
	y := newTally()
	var wg sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range seeds {
				text := makeUp(seed)
				y.add(seed, text, look(seed, text))
			}
		})
	}
	for seed := range uint64(n) {
		seeds <- seed + 1
	}
	close(seeds)
	wg.Wait()
	y.report(t, func(text string) []disagreement { return look(0, text) })
}

// all are as many conversations as there are to be.
func all() int {
	switch {
	case *conversations > 0:
		return *conversations
	case slow || testing.Short():
		return 200
	}
	return 2000
}

// fewer are as many as a property is held to that looks at each several times.
func fewer() int { return max(1, all()/5) }
