package fleet

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/fleet/ranges"
	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// bucket is a store of objects.
type bucket struct {
	store objects.Store
	// late tells, once until something came, that the store keeps us waiting.
	late            *late
	requests, bytes atomic.Int64 // for contents; listings are not counted
}

func (b *bucket) source(key string) string { return b.store.URL(key) }

// Of the waiting that a reader of a store does, objects does the short one, and
// ranges tells of it and does the long one.
const (
	storeTries = 3
	storeIdle  = 30 * time.Second
	readTries  = 4
)

func (b *bucket) open(ctx context.Context, key string) (recorder.Bytes, error) {
	b.requests.Add(1)
	c, err := b.store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	f := ranges.New(ctx, c, c.Object().Size, c.Close, ranges.Options{
		Name: b.store.URL(key), Temporary: objects.Temporary, Tries: readTries,
		Wait:  func(why error) { b.late.tell(b.store.URL(key), why) },
		Count: func(n int) { b.requests.Add(1); b.bytes.Add(int64(n)) },
	})
	return f, nil
}

// late says once that something takes long.
type late struct {
	once sync.Once
	say  func(format string, args ...any)
}

func (l *late) tell(what string, why error) {
	if l.say == nil {
		return
	}
	l.once.Do(func() { l.say("waiting for %s: %s", what, strings.TrimPrefix(why.Error(), "cannot read "+what+": ")) })
}

// openStore says which objects a URL names.
func openStore(ctx context.Context, source string, o Options) (place, iter.Seq2[object, error], error) {
	o0 := objects.Options{Tries: storeTries, Idle: storeIdle}
	if o.Tell != nil {
		o0.Notice = func(text string) { o.Tell("%s", text) }
	}
	store, key, err := objects.Open(source, o0)
	if err != nil {
		return nil, nil, err
	}
	b := &bucket{store: store, late: &late{say: o.Tell}}
	found, err := b.find(ctx, key, o)
	return b, found, err
}

// find is what is below a key that ends in /, or else the recording of that key.
func (b *bucket) find(ctx context.Context, key string, o Options) (iter.Seq2[object, error], error) {
	if key == "" || strings.HasSuffix(key, "/") {
		return b.list(ctx, key, o), nil
	}
	found, err := b.named(ctx, key)
	return one(found...), err
}

// list is what is below a prefix.
func (b *bucket) list(ctx context.Context, prefix string, o Options) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		strange := 0
		defer func() {
			if strange > 0 && o.Tell != nil {
				o.Tell("%d objects are left out: their keys are no plain paths", strange)
			}
		}()
		for f, err := range b.store.List(ctx, prefix) {
			var key *objects.KeyError
			switch {
			case errors.As(err, &key):
				strange++
			case err != nil:
				yield(object{}, err)
				return
			default:
				if !yield(objectOf(f, prefix), nil) {
					return
				}
			}
		}
	}
}

// objectOf is an object below a prefix, of which the last part of the path is the
// directory that was asked for.
func objectOf(f objects.Object, prefix string) object {
	return object{
		key: f.Key, path: strings.TrimPrefix(f.Key, prefix), above: prefix,
		size: f.Size, modified: f.Modified,
	}
}

// named is the object of that key, or the segments of the recording that is called
// so.
func (b *bucket) named(ctx context.Context, key string) ([]object, error) {
	dir, base := path.Split(key)
	f, err := b.store.Stat(ctx, key)
	n, is := parse("", base)
	switch {
	case err == nil && (!is || n.segment != 0):
		alone := objectOf(f, dir)
		if !is { // whatever it is called
			alone.path += ending
		}
		return []object{alone}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist), errors.Is(err, objects.ErrNoBucket):
		return nil, err
	case !is:
		return nil, b.missing(ctx, key)
	}
	found, lowest, err := b.siblings(ctx, dir, n.recording)
	if err == nil && len(found) == 0 {
		err = b.missing(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	return b.otherDays(ctx, dir, n.recording, found, lowest)
}

// siblings are the segments of a recording in one directory.
func (b *bucket) siblings(ctx context.Context, dir, recording string) (found []object, lowest uint64, err error) {
	for f, err := range b.store.List(ctx, dir+recording+".") {
		var strange *objects.KeyError
		if errors.As(err, &strange) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		base := strings.TrimPrefix(f.Key, dir)
		n, is := parse("", base)
		if !is || n.recording != recording || strings.Contains(base, "/") {
			continue
		}
		if n.segment != 0 && (lowest == 0 || n.segment < lowest) {
			lowest = n.segment
		}
		found = append(found, objectOf(f, dir))
	}
	return found, lowest, nil
}

// quiet is how many days on the next segment of a recording is looked for.
const quiet = 31

// otherDays adds the segments of other days, which are beside the directory of
// one.
func (b *bucket) otherDays(ctx context.Context, dir, recording string, found []object, lowest uint64) ([]object, error) {
	parts := strings.Split(dir, "/")
	at, day := -1, time.Time{}
	for i, p := range parts {
		if value, is := strings.CutPrefix(p, "date="); is {
			if d, err := time.Parse(time.DateOnly, value); err == nil {
				at, day = i, d
			}
		}
	}
	if at < 0 {
		return found, nil
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	look := func(step int) error {
		for empty, d := 0, day.AddDate(0, 0, step); empty < quiet && d.Before(tomorrow) && d.Year() > 1970; d = d.AddDate(0, 0, step) {
			if step < 0 && lowest == 1 {
				return nil
			}
			parts[at] = "date=" + d.Format(time.DateOnly)
			more, least, err := b.siblings(ctx, strings.Join(parts, "/"), recording)
			if err != nil {
				return err
			}
			if empty++; len(more) > 0 {
				empty = 0
				found = append(found, more...)
				if least != 0 {
					lowest = min(lowest, least)
				}
			}
		}
		return nil
	}
	if err := look(1); err != nil {
		return nil, err
	}
	return found, look(-1)
}

// missing says what is not there.
func (b *bucket) missing(ctx context.Context, key string) error {
	e := &MissingError{Source: b.store.URL(key)}
	for range b.store.List(ctx, key+"/") {
		e.prefix = true
		break
	}
	return e
}

// MissingError says that there is no such recording.
type MissingError struct {
	Source string
	prefix bool // but there is something below it
}

func (e *MissingError) Error() string { return "there is no recording " + e.Source }

func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// Hint is what helps.
func (e *MissingError) Hint() string {
	if e.prefix {
		return "end it with / to mean all recordings below it"
	}
	return ""
}
