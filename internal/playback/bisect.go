package playback

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/export"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/bisect"
	"github.com/xdsproxy/xdsproxy/session"
)

// Bisect is a bisection as it was asked for.
type Bisect struct {
	*input.Opener
	Live
	Source        string
	Seq           session.Seq // 0: the last NACK
	Listen, Node  string
	Timeout, Wait time.Duration
	Output        string
	Script, Write string // files, or ""
	KeepSecrets   bool

	facts recorder.Facts
}

// Run searches, and writes what was found.
func (b *Bisect) Run(ctx context.Context) error {
	if b.Script != "" {
		for _, path := range []string{b.Script, besideScript(b.Script)} {
			if _, err := os.Lstat(path); err == nil {
				return console.Failed("cannot write what is found: %s exists", path).
					Hint("nothing is overwritten; name another file with --script FILE, or remove this one")
			}
		}
	}
	r, err := b.read(ctx)
	if err != nil {
		return err
	}
	found, err := b.play(ctx, r)
	if found == nil {
		return err
	}
	files, written := b.writeFound(found)
	if found.Found() || found.Accepted || found.Fickle != nil {
		if printed := b.print(found, files); printed != nil {
			return printed
		}
	}
	switch {
	case err != nil:
		return unfinished(err, found)
	case written != nil:
		return written
	case found.Fickle != nil:
		return console.Failed("the client contradicts itself: it accepts and rejects the same resources")
	case found.Accepted:
		return console.ErrDifferences
	}
	return nil
}

// read reads what is to be bisected.
func (b *Bisect) read(ctx context.Context) (*bisect.Rejection, error) {
	r, err := bisect.ReadRejection(ctx, b.Seq, func() (replay.Source, func() error, error) {
		src, err := b.Open(b.Source)
		if err != nil {
			return nil, nil, err
		}
		b.Source, b.facts = src.Name, src.Header() // so that @last stays the same
		src.Pieces()
		done := b.Reading(src)
		return advancing{src, done, func(*session.Entry) {}}, func() error { done.End(); return src.Close() }, nil
	})
	none, is := errors.AsType[*bisect.NotRejectedError](err)
	switch {
	case is:
		f := console.Failed("%w", err)
		if none.Polls > 0 {
			f.Hint("a poll does not say that it rejects; xdsproxy check %s finds the signs of it", console.ShellWord(b.Source))
		} else if len(none.There) == 0 {
			f.Hint("%s has no NACK of a response that it also has", b.Source)
		}
		for _, t := range none.There[max(0, len(none.There)-5):] {
			f.Hint("%s", render.Safe(t.Sentence()))
		}
		return nil, f
	case err != nil:
		if f, is := errors.AsType[*console.Failure](err); is {
			return nil, f
		}
		return nil, input.Unreadable(err)
	}
	return r, nil
}

// play gives the live client its trials.
func (b *Bisect) play(ctx context.Context, r *bisect.Rejection) (*bisect.Result, error) {
	var found *bisect.Result
	wire := &Replay{Opener: b.Opener, Live: b.Live, Write: b.Write, Listen: b.Listen}
	_, err := wire.relayed(ctx, nil, func(ctx context.Context, _ *replay.Plan, between *relay) (*replay.Report, error) {
		l, shown, err := wire.bind(between)
		if err != nil {
			return nil, err
		}
		b.Tell("listening on %s, bisecting entry %d of %s: %s of %s, %s of them suspected",
			proxy.AddrOf(shown), r.Response, b.Source, render.Count(r.Resources, "resource", "resources"), r.Type, render.Number(len(r.Suspects)))
		b.Announce()
		line := &trialLine{Console: b.Console, of: len(r.Suspects), on: !b.Quiet && console.IsTerminal(b.Stderr), next: time.Now().Add(saidEvery)}
		defer line.wipe()
		found, err = bisect.Find(ctx, l, r, bisect.Options{
			Client: b.Node, Timeout: b.Timeout, Wait: b.Wait,
			Say:      func(text string) { line.wipe(); b.Say("%s", text) },
			Progress: line.show,
		})
		return nil, err
	})
	return found, err
}

// trialLine is the line of a terminal that says how far the search is. Elsewhere
// it is a new line now and then.
type trialLine struct {
	*console.Console
	of   int
	on   bool
	next time.Time // when the next line is due
}

const saidEvery = 5 * time.Second

func (l *trialLine) show(trial, left int) {
	text := fmt.Sprintf("trial %s, %s of %s suspects left", render.Number(trial), render.Number(left), render.Number(l.of))
	if l.on {
		fmt.Fprintf(l.Stderr, "\r\x1b[K%s", text)
	} else if now := time.Now(); now.After(l.next) {
		l.next = now.Add(saidEvery)
		l.Say("%s", text)
	}
}

func (l *trialLine) wipe() {
	if l.on {
		fmt.Fprint(l.Stderr, "\r\x1b[K")
	}
}

// hintLacks names what a client may wait for.
func hintLacks(f *console.Failure, lacks []string) {
	if len(lacks) > 0 {
		f.Hint("%s", render.Safe("it may wait for what it asked for and the recording does not have: "+strings.Join(lacks, ", ")))
	}
}

// unfinished words why a search was given up.
func unfinished(err error, found *bisect.Result) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if f, is := errors.AsType[*console.Failure](err); is {
		return f
	}
	f := console.Failed("%w", err)
	absent, isAbsent := errors.AsType[*bisect.AbsentError](err)
	silent, isSilent := errors.AsType[*bisect.SilentError](err)
	switch {
	case isAbsent && !absent.Came:
		f.Hint("start the client first, or give it more time with --wait")
	case isAbsent:
		hintLacks(f, absent.Lacks)
		f.Hint("-w FILE records what it says")
	case isSilent:
		hintLacks(f, silent.Lacks)
		f.Hint("give it more time with --timeout; -w FILE records what it says")
	}
	if _, is := errors.AsType[*bisect.BaseRejectedError](err); is {
		f.Hint("begin with an earlier NACK: another client, or another version of it, may not accept what came before")
	}
	if len(found.Culprits) > 0 {
		f.Hint("what was found until then is printed")
	}
	return f
}

// foundFiles are what was written of the smallest conversation; "" for nothing.
type foundFiles struct {
	Script    string `json:"script,omitempty"`
	Recording string `json:"recording,omitempty"`
}

// writeFound writes the smallest conversation, if there is one: as a script, and
// with its contents as a recording.
func (b *Bisect) writeFound(found *bisect.Result) (w foundFiles, err error) {
	if !found.Told() {
		return w, nil
	}
	path := b.Script
	for n := 1; path == "" || b.Script == ""; n++ {
		path = scriptName(b.Source, found.Response, n)
		_, one := os.Lstat(path)
		_, other := os.Lstat(besideScript(path))
		if one != nil && other != nil || n == 1000 {
			break
		}
	}
	if err := export.Script(b.Console, path, found.Entries()); err != nil {
		return w, err
	}
	w.Script = path
	if err := b.recordingTo(besideScript(path), found); err != nil {
		return w, err
	}
	w.Recording = besideScript(path)
	return w, nil
}

// recordingTo writes the smallest conversation as a recording. Secrets in it are
// masked as they are in the source, and if they are not, unless the settings say
// that they are to be kept.
func (b *Bisect) recordingTo(path string, found *bisect.Result) error {
	o := store.Copy(!b.facts.Masked && !b.KeepSecrets)
	to, err := recorder.NewCopy(path, recorder.Facts{Created: time.Now(), Program: build.Name(), Masked: b.facts.Masked}, o)
	if err != nil {
		return console.Overwriting("cannot write the recording", err)
	}
	for e := range found.Entries() {
		if err := to.Add(&e); err != nil {
			_ = to.Discard()
			return console.Failed("%w", err)
		}
	}
	if _, err := to.Close(); err != nil {
		return console.Failed("%w", err)
	}
	return nil
}

// besideScript is bug-412.xdsp for bug-412.xds.
func besideScript(path string) string { return strings.TrimSuffix(path, input.ScriptSuffix) + ".xdsp" }

// scriptName is bug-412.xds for entry 412 of bug.xdsp; the second of that name
// is bug-412-2.xds.
func scriptName(source string, seq session.Seq, n int) string {
	base := filepath.Base(source)
	name := fmt.Sprintf("%s-%d", strings.TrimSuffix(base, filepath.Ext(base)), seq)
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	return name + input.ScriptSuffix
}
