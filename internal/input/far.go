package input

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// IsURL says whether a SOURCE is a URL: nothing of it is beside it on a disk.
func IsURL(name string) bool { return objects.Is(name) }

// IsMany says whether a SOURCE may stand for several recordings: a directory, or a
// URL that ends in /, for all that are below it.
func IsMany(name string) bool {
	if objects.Is(name) {
		_, behind, _ := strings.Cut(name, "://")
		if strings.HasSuffix(name, "/") || !strings.Contains(behind, "/") {
			return true
		}
		path, is := strings.CutPrefix(name, "file://")
		return is && isDir(path)
	}
	return isDir(name)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Recordings are those that a SOURCE names, in the order of clusters, proxies and
// names. There is at least one, or an error.
func (o *Opener) Recordings(ctx context.Context, name string, of fleet.Options) ([]*fleet.Recording, error) {
	if of.Tell == nil {
		of.Tell = o.warn
	}
	var out []*fleet.Recording
	for r, err := range fleet.Recordings(ctx, name, of) {
		if err != nil {
			return nil, Unreadable(err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		f := console.Failed("there is no recording below %s", name)
		if !of.Since.IsZero() || !of.Until.IsZero() {
			return nil, f.Hint("there is none of the days that were asked for")
		}
		return nil, f.Hint("recordings are files that end in .xdsp")
	}
	return out, nil
}

// openFleet opens a SOURCE that is a URL or a directory, which has to be one
// recording.
func (o *Opener) openFleet(name string) (*Source, error) {
	ctx := o.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	all, err := o.Recordings(ctx, name, fleet.Options{})
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, Several(name, all)
	}
	return o.OpenRecording(ctx, all[0])
}

// Several says that a SOURCE is more recordings than the one that is wanted.
func Several(name string, all []*fleet.Recording) error {
	f := console.Misused("%s has %d recordings, and one is wanted", name, len(all))
	for i, r := range all {
		if i == 3 {
			return f.Hint("and %d more: xdsproxy info %s lists them", len(all)-i, console.ShellWord(name))
		}
		f.Hint("name one: %s", console.ShellWord(r.Source))
	}
	return f
}

// OpenToPark opens a recording of a fleet as it is now, so that Park lets go of all
// files and memory that can be had again.
func (o *Opener) OpenToPark(ctx context.Context, r *fleet.Recording) (src *Source, err error) {
	src = &Source{Name: r.Source, File: true, types: o.Types, tell: o.warn, far: &far{rec: r, ctx: ctx, tell: o.warn}}
	if src.Reader, err = src.far.open(); err != nil {
		return nil, Unreadable(err)
	}
	return src, nil
}

// OpenRecording opens a recording of a fleet.
func (o *Opener) OpenRecording(ctx context.Context, r *fleet.Recording) (*Source, error) {
	src := &Source{Name: r.Source, File: true, types: o.Types, tell: o.warn}
	if info, err := os.Stat(r.Source); !objects.Is(r.Source) && err == nil && info.Mode().IsRegular() {
		src.Reader, err = recorder.Open(r.Source)
		if err != nil {
			return nil, Unreadable(err)
		}
		return src, nil
	}
	return o.OpenToPark(ctx, r)
}

// far is a recording that lies elsewhere, or whose segments do not lie beside each
// other.
type far struct {
	rec  *fleet.Recording
	ctx  context.Context
	tell func(format string, args ...any)
	told bool
	aim  filter.Span // what is wanted; zero if that may be anything
}

func (f *far) open() (*recorder.Reader, error) {
	tell := f.tell
	if f.told {
		tell = nil
	}
	f.told = true // each of its segments was told of once
	return f.rec.Open(f.ctx, tell)
}

// Fetched is how many requests were made for it, and how many bytes came; 0 for a
// file.
func (s *Source) Fetched() (requests, bytes int64) {
	if s.far == nil {
		return 0, 0
	}
	return s.far.rec.Fetched()
}

// IsFar says whether there is nothing beside it: no notes, and nobody who writes.
func (s *Source) IsFar() bool { return s.far != nil }

// Inspect are the facts about a recording that is a File.
func (s *Source) Inspect() (recorder.Facts, error) {
	if s.far == nil {
		return recorder.Inspect(s.Name)
	}
	r, err := s.far.open()
	if err != nil {
		return recorder.Facts{}, err
	}
	defer r.Close()
	facts, err := r.Inspect()
	facts.Path = s.Name
	return facts, err
}

// Again opens a recording that is a File once more.
func (s *Source) Again() (*recorder.Reader, error) {
	if s.far == nil {
		return recorder.Open(s.Name)
	}
	return s.far.open()
}

// maxAim is how many entries are so few that it pays to look for what explains just
// them.
const maxAim = 256

// Aim says that of a recording that lies elsewhere only these entries are wanted.
// If one segment has them, only that is read: it repeats what explains them. Whether
// it is so is said; then what is missing may be in others.
func (s *Source) Aim(spans []filter.Span) (narrowed bool, err error) {
	if s.far == nil || len(spans) == 0 {
		return false, nil
	}
	first, last := spans[0].First, spans[len(spans)-1].Last
	if last == filter.NoLimit || last-first > maxAim {
		return false, nil
	}
	s.far.aim = filter.Span{First: first, Last: last}
	if s.far.rec.Segments < 2 {
		return false, nil
	}
	one, err := s.far.rec.OpenWith(s.far.ctx, first)
	if err == nil && !one.Alone() {
		return false, one.Close()
	}
	if err == nil && last > first {
		var other *recorder.Reader
		if other, err = s.far.rec.OpenWith(s.far.ctx, last); err == nil {
			same := other.Begins() == one.Begins()
			_ = other.Close()
			if !same {
				return false, one.Close()
			}
		}
	}
	if err != nil { // it is told of where all of it is read
		return false, nil
	}
	old := s.Reader
	s.Reader, s.held = one, nil
	return true, old.Close()
}

// Whole takes back what Aim has done.
func (s *Source) Whole() error {
	if s.far == nil {
		return nil
	}
	r, err := s.far.open()
	if err != nil {
		return Unreadable(err)
	}
	old := s.Reader
	s.Reader, s.held, s.far.aim = r, nil, filter.Span{}
	return old.Close()
}

// hinted adds what a store says that may help.
func hinted(f *console.Failure, err error) *console.Failure {
	f.Hint("%s", objects.Hint(err))
	if wrong, is := errors.AsType[interface {
		error
		Hint() string
	}](err); is {
		f.Hint("%s", wrong.Hint())
	}
	return f
}

// Vanished says whether an error is that something is not there any more, or not what
// it was when it was opened.
func Vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, objects.ErrNoBucket) || errors.Is(err, objects.ErrChanged)
}

// noSuchFile says whether an error is that a file is not there, and no store is
// meant.
func noSuchFile(err error) bool {
	if _, is := errors.AsType[*objects.Error](err); is {
		return false
	}
	_, is := errors.AsType[*fleet.MissingError](err)
	return !is && errors.Is(err, fs.ErrNotExist)
}
