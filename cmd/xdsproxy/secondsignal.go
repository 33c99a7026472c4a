package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// secondSignal returns a context that a second SIGINT or SIGTERM cancels, and
// calls first at the first one. done ends that, without cancelling.
func secondSignal(first func()) (again context.Context, done func()) {
	again, cancel := context.WithCancel(context.Background())
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			if n == 1 {
				cancel()
				return
			}
			first()
		}
	})
	return again, func() {
		signal.Stop(signals)
		close(over)
		watcher.Wait()
		cancel()
	}
}
