// Package verdict says what a helper of tests makes of a test. It is for the tests of
// such helpers, which are to fail what is wrong as surely as they pass what is right.
package verdict

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Of gives a helper a test that stands in for t, and is what it says of that: nothing if
// it passes, else a line for each error, and one for what ends it. Of what can fail or
// end a test, the helper may use Error, Fatal, FailNow and Skip.
func Of(t testing.TB, helper func(testing.TB)) string {
	t.Helper()
	p := &probe{TB: t}
	over := make(chan struct{})
	go func() { // of its own, since what ends a test ends its goroutine
		defer close(over)
		helper(p)
	}()
	<-over
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
	return p.said.String()
}

type probe struct {
	testing.TB // what is not below is the same for it

	mu       sync.Mutex
	said     strings.Builder
	cleanups []func()
}

func (p *probe) say(what, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&p.said, "%s: %s\n", what, strings.TrimSuffix(text, "\n"))
}

func (p *probe) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}

func (p *probe) Error(a ...any)            { p.say("error", fmt.Sprintln(a...)) }
func (p *probe) Errorf(f string, a ...any) { p.say("error", fmt.Sprintf(f, a...)) }

func (p *probe) Fatal(a ...any) {
	p.say("fatal", fmt.Sprintln(a...))
	runtime.Goexit()
}

func (p *probe) Fatalf(f string, a ...any) {
	p.say("fatal", fmt.Sprintf(f, a...))
	runtime.Goexit()
}

func (p *probe) FailNow() { p.Fatal("without a word") }

func (p *probe) Skip(a ...any) {
	p.say("skip", fmt.Sprintln(a...))
	runtime.Goexit()
}
