// Package input reads what the SOURCE of a command names: a recording, a pipe, a
// script, a file of resources, a running proxy. It chooses entries by number and
// by filter, and says what it cannot read in words for a person. It judges
// nothing and prints no entry.
package input

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Source is a recording opened for reading.
type Source struct {
	*recorder.Reader
	Name string // as it can be given to a command; "-" for standard input
	File bool   // it is one, so that one can go anywhere in it
	// Script says that it was written by hand, with times of its own: a
	// conversation script, or a file that Envoy would read.
	Script bool
	// Line is the line of a conversation script that an entry comes from; nil
	// for everything else.
	Line func(session.Seq) int
	// Viewer is the running proxy that it comes from, nil if from none, and
	// remote its Reader then.
	Viewer *serve.Client
	remote *serve.Reader

	// types are those beside the linked ones; what the recording has of them is
	// added when it is first read.
	types     *descriptors.Types
	described bool

	// tell says what is to be said of what lies beside it; nil: nobody listens.
	tell  func(format string, args ...any)
	notes *notes.Notes

	far *far // it lies elsewhere; nil for a file

	following bool
	held      *session.Entry // read, but not yet given
}

// Follow says whether Next waits at the end of a recording that is still being
// written.
func (s *Source) Follow(on bool) {
	s.following = on
	if s.remote == nil {
		s.Reader.Follow(on)
		if on && s.unfollowed(recorder.CanFollow) {
			s.tell("%q may still be written, which this system does not tell: what is there is read, and not what comes; for that name the viewer endpoint of the running proxy", s.Name)
		}
		return
	}
	s.remote.Follow(on)
	s.remote.Limit(0)
	if !on { // what comes meanwhile is not part of it
		s.remote.Limit(s.Viewer.Info().Facts.LastSeq)
	}
}

// unfollowed says that the recording may grow, and that nobody will see it.
func (s *Source) unfollowed(canFollow bool) bool {
	return !canFollow && s.tell != nil && s.File && s.far == nil && !s.All().Complete
}

// Large makes Next give the data of messages that are too large to be decoded, too.
func (s *Source) Large() {
	s.Reader.Large()
	if s.remote != nil {
		s.remote.Large()
	}
}

// Close lets go of it.
func (s *Source) Close() error {
	if s.remote != nil {
		return s.remote.Close()
	}
	return s.Reader.Close()
}

// All are the facts of all of it, as far as they can be had without reading it.
func (s *Source) All() recorder.Facts {
	switch {
	case s.Viewer != nil:
		return s.Viewer.Info().Facts
	case s.File:
		if all, err := s.Inspect(); err == nil || Damaged(err) {
			return all
		}
	}
	return s.Facts()
}

// Next returns the next entry. The error of ctx comes before what it has done to
// a pipe.
func (s *Source) Next(ctx context.Context) (e session.Entry, err error) {
	switch {
	case s.held != nil:
		e, s.held = *s.held, nil
		return e, nil
	case s.remote != nil:
		e, err = s.remote.Next(ctx)
	default:
		e, err = s.Reader.Next(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if !s.described && err == nil {
		s.describe()
	}
	return e, err
}

// describe adds the types that the recording has with it.
func (s *Source) describe() {
	s.described = true
	facts := s.Facts()
	if s.remote != nil {
		facts = s.remote.Facts()
	}
	if s.tell != nil {
		Describe(s.types, s.Name, facts, s.tell)
	}
}

// Describe adds the types that a recording has with it, of which at least one entry
// was read, and tells what is wrong with them.
func Describe(types *descriptors.Types, name string, facts recorder.Facts, tell func(format string, args ...any)) {
	if facts.BadDescriptors {
		tell("the descriptors in %q cannot be read: types in it that are not built in show as numbers", name)
	}
	if facts.Descriptors == "" || types == nil {
		return
	}
	told, err := types.Add(name, []byte(facts.Descriptors))
	if err != nil {
		tell("%v", err)
	}
	for _, text := range told {
		tell("%s", text)
	}
}

// Began is when a recording began, by which notes beside it are known to be its
// own; zero if nothing says so.
func (s *Source) Began() time.Time {
	if !s.File || s.far != nil {
		return time.Time{}
	}
	facts, _ := recorder.Inspect(s.Name) // of a damaged one this is known, too
	return facts.Created
}

// Notes are what people left beside a recording, in a file of their own. One that
// cannot be used is said to be left alone, once.
func (s *Source) Notes() *notes.Notes {
	if s.notes != nil {
		return s.notes
	}
	s.notes = notes.New(time.Time{})
	if !s.File && !s.Script || s.far != nil {
		return s.notes
	}
	read, err := notes.Read(s.Name, s.Began())
	if err != nil && s.tell != nil {
		s.tell("%v", err)
	}
	s.notes = read
	return read
}

// First returns the first entry, which Next returns again.
func (s *Source) First(ctx context.Context) (*session.Entry, error) {
	e, err := s.Next(ctx)
	if err != nil {
		return nil, err
	}
	s.held = &e
	return &e, nil
}
