package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Reader gives the entries of a log in order: a recorder.Reader, or what reads
// one from afar.
type Reader interface {
	Next(ctx context.Context) (session.Entry, error)
	Seek(seq session.Seq) error
	Follow(on bool)
	Pieces()
	Facts() recorder.Facts
	Close() error
}

// Feed reads a log to its end, or as long as it grows, fills an Index and holds
// what it reads against the rules.
type Feed struct {
	// Remember, unless it is nil, is told after each entry what is remembered
	// of what is over. It is set before Run.
	Remember func(session.Seq, engine.Memory)

	index *Index

	mu      sync.Mutex // held while the checker is used
	checker *check.Checker
	pushes  *pushes.Grouper

	done  atomic.Bool
	err   atomic.Pointer[error]
	facts atomic.Pointer[recorder.Facts]
}

// NewFeed returns a Feed that has read nothing.
func NewFeed(x *Index, o check.Options) *Feed {
	x.types = o.Types
	return &Feed{index: x, checker: check.NewChecker(o), pushes: pushes.New(pushes.Options{})}
}

// Run reads until the log ends, ctx does, or the log cannot be read any more:
// Err then says why. seen, unless it is nil, is given what was found.
func (f *Feed) Run(ctx context.Context, r Reader, follow bool, seen func([]check.Finding)) {
	defer f.done.Store(true)
	defer f.index.generation.Add(1)
	defer func() {
		// What is looked at must not end the program: it may be forwarding.
		if cause := recover(); cause != nil {
			f.fail(fmt.Errorf("reading failed (%T) at %s", cause, firstOfOurs(debug.Stack())))
		}
	}()
	r.Follow(follow)
	r.Pieces()
	for n := 0; ; n++ {
		e, err := r.Next(ctx)
		if n%256 == 0 || err != nil {
			facts := r.Facts()
			f.facts.Store(&facts)
		}
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return
		case err != nil:
			f.fail(err)
			return
		}
		c := f.step(&e)
		f.index.add(&e, &c)
		if seen != nil && len(c.Findings) > 0 {
			seen(c.Findings)
		}
	}
}

func (f *Feed) step(e *session.Entry) check.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.checker.Step(e)
	f.pushes.Step(f.checker.Engine, e, &c.Change)
	if f.Remember != nil {
		f.Remember(e.Seq, f.checker.Memory())
	}
	return c
}

func (f *Feed) fail(err error) { f.err.Store(&err) }

// Err is why the log cannot be read any further, nil if it can.
func (f *Feed) Err() error {
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}

// Done says that nothing more comes.
func (f *Feed) Done() bool { return f.done.Load() }

// Facts are those about what was read so far.
func (f *Feed) Facts() recorder.Facts {
	if p := f.facts.Load(); p != nil {
		return *p
	}
	return recorder.Facts{}
}

// Standing is where the clients stand, the worst first, and when.
func (f *Feed) Standing() ([]engine.ClientStatus, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, at := f.index.Last()
	return f.checker.Status(), at
}

// Effects are how much of what they were sent clients use, nil if nobody says so.
func (f *Feed) Effects(of []engine.ClientStatus) map[string]effect.Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.checker.Effects()
	if !all.Expected() {
		return nil
	}
	out := make(map[string]effect.Standing, len(of))
	for i := range of {
		out[of[i].Client] = all.Standing(of[i].Client)
	}
	return out
}

// EffectsOf are how far a client got with each resource, by type and name; nil if
// nobody says so.
func (f *Feed) EffectsOf(client string) map[[2]string]effect.Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.checker.Effects()
	if !all.Expected() {
		return nil
	}
	out := make(map[[2]string]effect.Effect)
	for _, e := range all.Client(client) {
		out[[2]string{e.Type, e.Name}] = e
	}
	return out
}

// Memory is what is remembered of what is over.
func (f *Feed) Memory() engine.Memory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checker.Memory()
}

// Tree is what a client has, nil if it is not known.
func (f *Feed) Tree(client string) *engine.Tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checker.Tree(client)
}

// Findings are all so far.
func (f *Feed) Findings() []check.Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checker.Findings()
}

// firstOfOurs is the first function of this module below a panic.
func firstOfOurs(stack []byte) string {
	const module = "github.com/xdsproxy/xdsproxy/"
	lines := string(stack)
	for {
		i := strings.Index(lines, module)
		if i < 0 {
			return "an unknown place"
		}
		lines = lines[i+len(module):]
		end := strings.Index(lines, "(0x")
		if nl := strings.Index(lines, "\n"); end < 0 || nl >= 0 && nl < end {
			end = nl
		}
		if end > 0 && !strings.Contains(lines[:end], "firstOfOurs") && !strings.Contains(lines[:end], "Run.func") {
			return lines[:end]
		}
	}
}
