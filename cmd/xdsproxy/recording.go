package main

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// recording is a log that is being written, with the account that is given at
// its end.
type recording struct {
	*recorder.Log
	last  atomic.Uint64 // the highest session.Seq given
	conns atomic.Uint64
}

// record starts a recording at path, or in the state directory if path is "".
// Secrets are masked unless the settings say otherwise, and then loudly.
func (a *app) record(path string, logger *zap.Logger) (*recording, error) {
	if path == "" {
		var err error
		if path, err = recorder.DefaultPath(time.Now()); err != nil {
			return nil, failed("%w", err).hint("name a file with -w FILE")
		}
	}
	options := recorder.Options{
		Masked: true, Transform: decode.NewMasker().Transform,
		Program: versionName(), QueueBytes: int64(a.config.queue), Logger: logger,
		OnError: func(err error) {
			if err != nil {
				a.warn("the recording cannot be written, and goes on when it can: %v; forwarding is not affected", err)
			}
		},
	}
	if a.config.keepSecrets {
		options.Masked, options.Transform = false, nil
	}
	log, err := recorder.Create(path, options)
	if err != nil {
		return nil, unwritable(err)
	}
	r := &recording{Log: log}
	if a.config.keepSecrets {
		a.warn("--keep-secrets: private keys and credentials that pass are recorded in the clear, in %s", log.Path())
		r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{
			Code: session.NoteSecretsKept,
			Text: "this recording holds private keys and credentials in the clear",
			Hint: "give it to nobody; record without --keep-secrets to mask them",
		}})
	}
	return r, nil
}

func unwritable(err error) error {
	f := failed("%w", err)
	switch {
	case errors.Is(err, fs.ErrExist):
		f.hint("a recording is never overwritten; name another file with -w FILE, or remove this one")
	case errors.Is(err, fs.ErrNotExist):
		f.hint("the directory must exist; name another with -w FILE")
	default:
		f.hint("name another file with -w FILE; without it, recordings go to the state directory")
	}
	return f
}

// Append counts what passes on its way into the log.
func (r *recording) Append(e session.Entry) session.Seq {
	if e.Kind == session.KindConnect {
		r.conns.Add(1)
	}
	seq := uint64(r.Log.Append(e))
	for {
		last := r.last.Load()
		if seq <= last || r.last.CompareAndSwap(last, seq) {
			return session.Seq(seq)
		}
	}
}

// discard removes a recording of which nothing has come.
func (r *recording) discard() {
	_ = r.Close()
	_ = os.Remove(r.Path())
}

// account is what is said of a recording at its end: where it is, what is in
// it, how to read it.
func (a *app) account(r *recording) {
	s := r.Stats()
	gaps := "no gaps"
	if s.Gaps > 0 {
		gaps = render.Count(s.Gaps, "gap", "gaps") + " with " + render.Count(s.Lost, "entry", "entries") + " lost"
	}
	a.say("recorded %s, %s", r.Path(), render.Size(s.Bytes))
	a.say("%s on %s, %s", render.Count(s.Messages, "message", "messages"),
		render.Count(r.conns.Load(), "connection", "connections"), gaps)
	a.say("read it with: xdsproxy watch %s", shellWord(r.Path()))
}
