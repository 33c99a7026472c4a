package fleet

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"time"
)

// Options say what is looked for. The zero value finds everything.
type Options struct {
	// Since and Until leave out segments by the days that their paths name: those
	// that begin after Until, and those before one that begins before Since. Zero: no
	// limit.
	Since, Until time.Time
	// Tell is told what is left out and why; may be nil.
	Tell func(format string, args ...any)
}

// maxFiles bounds the files whose names are in memory.
const maxFiles = 500_000

// TooManyError says that there are more recordings than are looked at at once.
type TooManyError struct{ Source string }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("there are more than %d files below %s", maxFiles, e.Source)
}

// Hint is what helps.
func (e *TooManyError) Hint() string { return "name a cluster, a date or a proxy of it" }

// object is a file by its name.
type object struct {
	key      string // as the place has it
	path     string // relative to what was asked for
	above    string // what that is
	size     int64
	modified time.Time
}

// Recordings are those of a SOURCE: a directory, a URL that ends in / for what is
// below it, or a single recording. They come ordered by cluster, proxy and name. The
// first error is the end. Nothing is read but names.
func Recordings(ctx context.Context, source string, o Options) iter.Seq2[*Recording, error] {
	return func(yield func(*Recording, error) bool) {
		all, err := find(ctx, source, o)
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func find(ctx context.Context, source string, o Options) ([]*Recording, error) {
	where, objects, err := open(ctx, source, o)
	if err != nil {
		return nil, err
	}
	return gather(source, where, objects, o)
}

// gather makes recordings of files.
func gather(source string, where place, objects iter.Seq2[object, error], o Options) ([]*Recording, error) {
	groups, files := make(map[string]*Recording), 0
	for f, err := range objects {
		if err != nil {
			return nil, err
		}
		n, is := parse(f.above, f.path)
		if !is || o.skips(n.date) {
			continue
		}
		if files++; files > maxFiles {
			return nil, &TooManyError{Source: source}
		}
		r := groups[n.group]
		if r == nil {
			r = &Recording{Cluster: n.cluster, Proxy: n.proxy, Name: n.recording, group: n.group, place: where}
			groups[n.group] = r
		}
		r.parts = append(r.parts, part{key: f.key, segment: n.segment, size: f.size, modified: f.modified, day: n.date})
	}
	out := make([]*Recording, 0, len(groups))
	for _, r := range groups {
		r.settle(o)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Recording) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Proxy, b.Proxy), cmp.Compare(a.Name, b.Name), cmp.Compare(a.group, b.group))
	})
	return out, nil
}

// skips says whether a day is not wanted.
func (o *Options) skips(day time.Time) bool {
	return !o.Until.IsZero() && day.After(o.Until.UTC())
}

// settle puts the segments into order, each once. The one without a number is the
// newest.
func (r *Recording) settle(o Options) {
	slices.SortFunc(r.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.segment-1, b.segment-1), a.day.Compare(b.day), cmp.Compare(a.key, b.key))
	})
	kept := r.parts[:1]
	for _, p := range r.parts[1:] {
		if last := &kept[len(kept)-1]; p.segment == last.segment {
			if o.Tell != nil {
				o.Tell("segment %d of %s is there twice: %s is left out", p.segment, r.Name, r.place.source(p.key))
			}
			continue
		}
		kept = append(kept, p)
	}
	if !o.Since.IsZero() {
		since := o.Since.UTC().Truncate(24 * time.Hour)
		for len(kept) > 1 && !kept[1].day.IsZero() && kept[1].day.Before(since) {
			kept = kept[1:]
		}
	}
	r.parts, r.Segments = kept, len(kept)
	for _, p := range kept {
		r.Size += p.size
		if p.modified.After(r.Modified) {
			r.Modified = p.modified
		}
		if !p.day.IsZero() && (r.First.IsZero() || p.day.Before(r.First)) {
			r.First = p.day
		}
		if p.day.After(r.Last) {
			r.Last = p.day
		}
	}
	r.Source = r.place.source(path.Join(path.Dir(kept[0].key), r.Name+ending))
	if path.Base(kept[0].key) == r.Name+ending {
		r.Source = r.place.source(kept[0].key)
	}
}
