package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onSignals calls f for each of some signals, which do not end the program then,
// until f has enough. forget ends that, once f has returned.
func onSignals(f func() (enough bool), which ...os.Signal) (forget func()) {
	signals, over := make(chan os.Signal, len(which)), make(chan struct{})
	signal.Notify(signals, which...)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-signals:
			}
			if f() {
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(over)
		watcher.Wait()
	}
}

// SecondSignal returns a context that a second SIGINT or SIGTERM cancels, and
// calls first at the first one. A third one ends the program as if nobody had caught
// it: what is left to do may hang at a disk or a terminal. done ends that.
func SecondSignal(first func()) (again context.Context, done func()) {
	again, cancel := context.WithCancel(context.Background())
	asked := false
	forget := onSignals(func() bool {
		if asked {
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			cancel()
			return true
		}
		asked = true
		first()
		return false
	}, os.Interrupt, syscall.SIGTERM)
	return again, func() {
		forget()
		cancel()
	}
}

// ExitHangup is the exit code of what ends because its terminal is gone.
const ExitHangup = 128 + int(syscall.SIGHUP)

// UntilHangup ends when the terminal is gone, so that what was started is ended in
// an orderly way, unless somebody wants that to be ignored, as nohup does.
func UntilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
