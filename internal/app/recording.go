package app

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/archive"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Recording is a log that is being written, with the account that is given at
// its end. Entries are appended to the Log itself: what is counted here is
// counted by the writer, where no traffic waits for it.
type Recording struct {
	*recorder.Log
	// Buffers are those that large messages come in, from the proxy, and that
	// the log is done with.
	Buffers session.Buffers
	Conns   uint64      // that began; to be read after Close
	spoken  session.Seq // the last message; to be read after Close
	wrong   atomic.Bool // see note
	files   uint64      // that were watched; to be read after Close
	Past    remembered
	// losses are the files that somebody else took away; to be read after
	// Close.
	losses []recorder.Loss
	// archive uploads what is finished of it; nil: nothing is uploaded.
	archive *archive.Archive
}

// maxLosses bounds the losses that are told at the end.
const maxLosses = 100

// Record starts a recording at path, or in the state directory if path is "".
// Secrets are masked unless the settings say otherwise, and then loudly.
func (h *Host) Record(path string) (*Recording, error) { return h.record(path, nil) }

// record is Record for a recording that is archived, unless to is nil.
func (h *Host) record(path string, to *archive.Options) (*Recording, error) {
	if err := contradiction(h.Settings, path, runtime.GOOS); err != nil {
		return nil, err
	}
	if path == "" && !bool(h.Settings.NoRecord) {
		var err error
		if path, err = recorder.DefaultPath(time.Now()); err != nil {
			return nil, console.Failed("%w", err).Hint("name a file with -w FILE")
		}
	}
	r := &Recording{}
	if to != nil {
		var err error
		if r.archive, err = archive.New(path, *to); err != nil {
			return nil, unwritable(err)
		}
	}
	trouble := &trouble{con: h.Console, every: time.Minute, lost: func() uint64 { return r.Stats().Lost }}
	options := h.RecorderOptions(&r.Buffers)
	var err error
	if options.Descriptors, err = h.Settings.Embedded(); err != nil {
		r.archive.Discard()
		return nil, err
	}
	options.OnError = trouble.report
	options.OnLost = func(l recorder.Loss) {
		if len(r.losses) < maxLosses {
			r.losses = append(r.losses, l)
		}
		h.Warn("the recording %s %s, with %s that no other file has; recording goes on in %s, and forwarding is not affected",
			l.Path, l.Why, render.Count(l.Entries, "entry", "entries"), l.Next)
		if err := recorder.MarkLast(l.Next); err != nil {
			h.Warn("%v", err)
		}
		r.archive.Moved(l.Next)
	}
	if r.archive != nil {
		options.Spare, options.Rotated = r.archive.Spare, r.archive.Rotated
	}
	transform := options.Transform
	options.Transform = func(e *session.Entry) {
		if e.Kind == session.KindConnect {
			r.Conns++
		}
		if e.Kind == session.KindMessage {
			r.spoken = e.Seq
		}
		transform(e)
	}
	if h.Settings.NoRecord {
		r.Log, err = recorder.NewRing(options)
	} else {
		r.Log, err = recorder.Create(path, options)
	}
	if err != nil {
		r.archive.Discard()
		return nil, unwritable(err)
	}
	r.archive.Start(r.Facts().Created)
	if h.Settings.KeepSecrets {
		h.Warn("--keep-secrets: private keys and credentials that pass are recorded in the clear, in %s", r.Place())
		r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{
			Code: session.NoteSecretsKept,
			Text: "this recording holds private keys and credentials in the clear",
			Hint: "give it to nobody; record without --keep-secrets to mask them",
		}})
	}
	return r, nil
}

// contradiction says which settings cannot be had together, for a recording at path
// on a system.
func contradiction(c *settings.Settings, path, goos string) error {
	cut := c.MaxSize > 0 || c.MaxAge > 0
	switch {
	case c.Keep > 0 && !cut:
		return console.Misused("--keep without --max-size or --max-age: a recording in one piece has nothing to delete")
	case goos == "windows" && cut && !bool(c.NoRecord):
		return console.Misused("--max-size and --max-age do not work on Windows, where a file that is open cannot be renamed").
			Hint("leave them out, or use --no-record with --ring")
	case bool(c.NoRecord) && path != "":
		return console.Misused("--no-record writes no file, and -w asks for one: give one of them")
	}
	return nil
}

// RecorderOptions says how the log is written: each message cut into its
// resources, and what of it is secret masked.
func (h *Host) RecorderOptions(buffers *session.Buffers) recorder.Options {
	o := store.Live(!bool(h.Settings.KeepSecrets), buffers.Put)
	o.Program, o.Logger = build.Name(), h.Logger
	o.QueueBytes, o.SyncEvery, o.Memory = int64(h.Settings.Queue), time.Duration(h.Settings.Sync), int64(h.Settings.Ring)
	o.MaxSize, o.MaxAge, o.Keep = int64(h.Settings.MaxSize), time.Duration(h.Settings.MaxAge), int(h.Settings.Keep)
	if o.MaxSize > 0 || o.MaxAge > 0 || bool(h.Settings.NoRecord) {
		carry, transform := engine.New(engine.Options{Envelopes: true, Past: 1 << 20}), o.Transform
		o.Carry = carry.Needed
		o.Transform = func(e *session.Entry) {
			transform(e)
			carry.Step(e)
		}
	} else { // an account of each entry costs too much for what seldom happens
		o.Recall = func() (func(*session.Entry), func() []session.Seq) {
			carry := engine.New(engine.Options{Envelopes: true, Past: 1 << 20})
			return func(e *session.Entry) { carry.Step(e) }, carry.Needed
		}
	}
	return o
}

// unwritable gives an error of creating a recording its hint.
func unwritable(err error) error {
	f := console.Failed("%w", err)
	switch {
	case errors.Is(err, fs.ErrExist):
		f.Hint("a recording is never overwritten; name another file with -w FILE, or remove this one")
	case errors.Is(err, fs.ErrNotExist):
		f.Hint("the directory must exist; name another with -w FILE")
	default:
		f.Hint("name another file with -w FILE; without it, recordings go to the state directory")
	}
	return f
}

// Discard removes a recording of which nothing has come.
func (r *Recording) Discard() {
	_ = r.Close()
	if path := r.Path(); path != "" {
		_ = os.Remove(path)
	}
	r.archive.Discard()
}

// Place is where the recording is: its path, or "memory".
func (r *Recording) Place() string {
	if path := r.Path(); path != "" {
		return path
	}
	return "memory"
}

// Source opens the recording as it grows, from its beginning on.
func (r *Recording) Source() (*input.Source, error) {
	reader, err := r.Reader()
	if err != nil {
		return nil, input.Unreadable(err)
	}
	src := &input.Source{Reader: reader, Name: r.Place()}
	src.Follow(true)
	return src, nil
}

// Announce makes it the newest recording, which @last names.
func (r *Recording) Announce() error {
	if r.Path() == "" {
		return nil
	}
	return recorder.MarkLast(r.Path())
}

// Note remembers whether there were findings that are more than notes.
func (r *Recording) Note(findings []check.Finding) {
	for i := range findings {
		if findings[i].Severity != check.Info {
			r.wrong.Store(true)
		}
	}
}
