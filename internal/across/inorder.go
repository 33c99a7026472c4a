package across

import (
	"context"
	"runtime"
)

// workers is how many recordings are read at once. Each holds what a command on
// that recording alone would hold.
func workers() int { return max(1, runtime.GOMAXPROCS(0)) }

// inOrder does work for 0 to n-1, several at once, and gives what comes of it to
// take, in order. No more than a few results wait for one before them. It ends with
// the first error of take.
func inOrder[T any](ctx context.Context, n int, work func(ctx context.Context, i int) T, take func(i int, result T) error) error {
	ctx, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	defer func() {
		stop()
		<-over
	}()
	count := workers()
	busy, due := make(chan struct{}, count), make(chan chan T, 2*count)
	go func() {
		defer close(over)
		defer func() { // all have ended when this has
			for range count {
				busy <- struct{}{}
			}
		}()
		defer close(due)
		for i := range n {
			result := make(chan T, 1)
			select {
			case busy <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-busy }()
				result <- work(ctx, i)
			}()
			select {
			case due <- result:
			case <-ctx.Done():
				return
			}
		}
	}()
	i := 0
	for result := range due {
		if err := take(i, <-result); err != nil {
			return err
		}
		i++
	}
	return ctx.Err()
}
