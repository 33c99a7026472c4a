package across

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Reader reads the recordings of a fleet. Several goroutines may use it.
type Reader struct {
	*input.Opener
	All []*fleet.Recording

	mu   sync.Mutex
	told map[string]bool

	bytes, entries atomic.Int64
	progress       sync.Mutex
	shown          *console.Progress
}

// maxTold bounds what is remembered of what was told once. After that many it is told
// from the beginning: what is new is never left out.
const maxTold = 1000

// New reads recordings that o opens.
func New(o *input.Opener, all []*fleet.Recording) *Reader {
	r := &Reader{Opener: o, All: all, told: make(map[string]bool)}
	quiet := *o
	quiet.Tells = r.tell
	r.Opener = &quiet
	return r
}

// tell warns, of the same thing once.
func (r *Reader) tell(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); r.once(text) {
		r.Console.Warn("%s", text)
	}
}

// once says whether something is told for the first time.
func (r *Reader) once(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told[what] {
		return false
	}
	if len(r.told) >= maxTold {
		clear(r.told)
	}
	r.told[what] = true
	return true
}

// begin shows how far all is read, until end is called.
func (r *Reader) begin(verb string) (end func()) {
	total := int64(0)
	for _, rec := range r.All {
		total += rec.Size
	}
	r.shown = r.Progress(verb, "", func() (int64, uint64) { return r.bytes.Load(), uint64(r.entries.Load()) }).Of(total)
	return func() {
		r.progress.Lock()
		defer r.progress.Unlock()
		r.shown.End()
	}
}

// advance counts what was read since the last call.
func (r *Reader) advance(bytes, entries int64) {
	r.bytes.Add(bytes)
	r.entries.Add(entries)
	if r.progress.TryLock() {
		r.shown.Look()
		r.progress.Unlock()
	}
}

// some is how many entries are read before they are counted.
const some = 256

// each reads a recording to its end through step.
func (r *Reader) each(ctx context.Context, rec *fleet.Recording, step input.Stepper, v input.Visit) (facts recorder.Facts, err error) {
	src, err := r.OpenRecording(ctx, rec)
	if err != nil {
		return facts, err
	}
	defer src.Close()
	src.Pieces()
	n, before := int64(0), int64(0)
	err = input.Each(ctx, src, step, func(e *session.Entry, c *check.Change) error {
		if n++; n%some == 0 {
			now := src.Facts().Bytes
			r.advance(now-before, some)
			before = now
		}
		return v(e, c)
	})
	facts = src.Facts()
	r.advance(facts.Bytes-before, n%some)
	return facts, err
}

// outcome is what reading one recording has come to, for the exit code.
type outcome int

const (
	read outcome = iota
	damaged
	unread
)

// judgeError says what an error of one recording means for the others: nil, and they
// are read on, or an error for all.
func (r *Reader) judgeError(ctx context.Context, rec *fleet.Recording, err error) (outcome, error) {
	if err == nil {
		return read, nil
	}
	if ctx.Err() != nil {
		return unread, ctx.Err()
	}
	var (
		format  *recorder.FormatError
		version *recorder.VersionError
	)
	switch {
	case input.Damaged(err):
		r.tell("%v; what is before it counts", err)
		return damaged, nil
	case errors.As(err, &format), errors.As(err, &version), input.Vanished(err):
		r.tell("%s of %s is left out: %v", rec.Name, rec.Proxy, err)
		return unread, nil
	}
	return unread, err
}

// left ends a command that could not read everything, for which there is no graver
// reason. Where none of all was read, nothing would look like all is well.
func left(damages, unreads, all int, strict bool) error {
	switch {
	case damages > 0:
		return &console.Failure{Err: fmt.Errorf("%s damaged", recordings(damages, "is", "are")), Code: console.ExitDamaged}
	case unreads > 0 && (strict || unreads == all):
		return &console.Failure{Err: fmt.Errorf("%s not read", recordings(unreads, "was", "were")), Code: console.ExitDamaged}
	}
	return nil
}

// Incomplete says whether an error is that not everything could be read: it comes
// beside what could.
func Incomplete(err error) bool {
	f, is := errors.AsType[*console.Failure](err)
	return is && f.Code == console.ExitDamaged
}

func recordings(n int, is, are string) string {
	if n == 1 {
		return "1 recording " + is
	}
	return fmt.Sprintf("%d recordings %s", n, are)
}

// Proxy is how the proxy of a recording is called where there are several: with its
// cluster, if that differs.
func (r *Reader) Proxy(rec *fleet.Recording) string {
	if rec.Cluster == "" || !r.clusters() {
		return rec.Proxy
	}
	return rec.Cluster + "/" + rec.Proxy
}

// clusters says whether there are several. Recordings are ordered by them.
func (r *Reader) clusters() bool {
	return len(r.All) > 0 && r.All[0].Cluster != r.All[len(r.All)-1].Cluster
}
