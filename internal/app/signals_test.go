//go:build unix

package app

import (
	"syscall"
	"testing"
)

// The first signal is told, and only the second ends what waits.
func TestSecondSignal(t *testing.T) {
	told := make(chan struct{}, 3)
	again, done := SecondSignal(func() { told <- struct{}{} })
	defer done()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-again.Done():
	}
	if again.Err() != nil {
		t.Fatal("the first signal has ended it")
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-again.Done()
	if len(told) > 0 {
		t.Error("the second was told as a first one")
	}
}

func TestSecondSignalForgotten(t *testing.T) {
	again, done := SecondSignal(func() { t.Error("there was no signal") })
	done()
	if again.Err() == nil {
		t.Error("it goes on")
	}
}
