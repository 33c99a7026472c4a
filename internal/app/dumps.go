package app

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/dump"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// dumps writes the last minutes when something happens; nil: nobody asked for it.
// One goroutine steps it.
type dumps struct {
	h       *Host
	dir     string
	trigger *trigger.Trigger
	keeper  *dump.Keeper
	skipped atomic.Uint64 // by the trigger
	told    bool          // of moments that were skipped, since the last that was not

	mu      sync.Mutex
	failed  []*trigger.Moment // that the trigger is to be told of
	failing bool              // of the goroutine that writes: the failure was said
}

// offerDumps begins to write dumps as the settings say.
func (h *Host) offerDumps(rec *Recording) (*dumps, error) {
	set, err := h.Settings.Dumps()
	if set == nil || err != nil {
		return nil, err
	}
	if set.Dir == "" {
		state, err := recorder.StateDir()
		if err != nil {
			return nil, console.Failed("%w", err).Hint("name a directory with --dump-dir")
		}
		set.Dir = filepath.Join(state, "dumps")
	}
	for i := range set.On {
		if c := &set.On[i]; c.Filter != nil {
			q, err := input.ParseQuery(c.Text)
			if err != nil {
				return nil, err
			}
			q.Begin(time.Now(), time.Time{})
			c.Wants = q.Asker()
		}
	}
	d := &dumps{h: h, dir: set.Dir, trigger: trigger.New(set.On, set.Every)}
	d.keeper, err = dump.New(dump.Options{
		Log: rec.Log, Dir: set.Dir, Most: set.Most, Before: set.Before, Report: set.Report,
		Judge: h.Settings.Judging(), Follow: h.Settings.Following(), Program: build.Name(),
	}, d.said)
	if err != nil {
		return nil, console.Failed("cannot write dumps: %w", err).Hint("name another directory with --dump-dir")
	}
	return d, nil
}

// step looks at an entry that is in the log.
func (d *dumps) step(e *session.Entry, c *check.Change) {
	if d == nil {
		return
	}
	now := time.Now()
	d.mu.Lock()
	failed := d.failed
	d.failed = nil
	d.mu.Unlock()
	for _, m := range failed {
		d.trigger.Failed(m, now)
	}
	for _, m := range d.trigger.Step(e, c, now) {
		d.told = false
		if !d.keeper.Add(m) {
			d.trigger.Failed(&m, now)
		}
	}
	if n := d.trigger.Skipped(); n > d.skipped.Swap(n) && !d.told {
		d.told = true
		d.h.Logger.Warn("--dump-on: too many causes; there are no dumps of new ones for a while", zap.Int("dumps", trigger.Most))
	}
}

// said tells people where a dump is. That there is none is said once, until there
// is one again.
func (d *dumps) said(m *trigger.Moment, path string, size int64, err error) {
	fields := []zap.Field{zap.String("on", m.What), zap.Uint64("seq", uint64(m.Seq))}
	if m.Client != "" {
		fields = append(fields, zap.String("client", m.Client))
	}
	if err != nil {
		d.mu.Lock()
		d.failed = append(d.failed, m)
		d.mu.Unlock()
		if !d.failing {
			d.h.Logger.Error("cannot write a dump; forwarding and recording go on, and the next failure is not said", append(fields, zap.Error(err))...)
		}
		d.failing = true
		return
	}
	d.failing = false
	d.h.Logger.Warn("dumped the last minutes to "+path+", "+render.Size(size)+"; look at it: "+looking(path), fields...)
}

// looking is a command that shows what a dump is about.
func looking(path string) string {
	if strings.HasSuffix(path, ".zip") {
		return "unzip " + console.ShellWord(path)
	}
	return "xdsproxy check " + console.ShellWord(path)
}

func (d *dumps) stats() admin.Dumps {
	s := d.keeper.Stats()
	return admin.Dumps{Written: s.Written, Failed: s.Failed, Skipped: s.Skipped + d.skipped.Load()}
}

// counter tells metrics; nil if there is nothing to tell.
func (d *dumps) counter() func() admin.Dumps {
	if d == nil {
		return nil
	}
	return d.stats
}

// dumpGrace is how long the last dumps may take when nothing passes any more.
const dumpGrace = 10 * time.Second

// close ends the writing: once what is waiting is written, or grace is over.
func (d *dumps) close(impatient context.Context, grace time.Duration) {
	if d != nil {
		d.keeper.Close(impatient, grace)
	}
}

// AwaitDumps waits for the dumps that are being written, and says how many there
// are.
func (s *Assembly) AwaitDumps(impatient context.Context) {
	if s.dumps == nil {
		return
	}
	s.dumps.close(impatient, dumpGrace)
	n := s.dumps.stats()
	if n.Written > 0 {
		s.Say("wrote %s to %s", render.Count(n.Written, "dump", "dumps"), s.dumps.dir)
	}
	if n.Failed+n.Skipped > 0 {
		s.Warn("%s could not be written", render.Count(n.Failed+n.Skipped, "dump", "dumps"))
	}
}
