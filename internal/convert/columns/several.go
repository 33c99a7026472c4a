package columns

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/xdsproxy/xdsproxy/session"
)

// Several sources may be of one recording: it itself, copies, and parts that were cut
// out of it. Each adds the entries that are not there yet, one source after the other.
// Of the recording as a whole that one tells whose last entry has the greatest number.

// claim waits until nobody else exports the recording; false if the source was exported
// already. Whoever has claimed it releases it.
func (x *export) claim() (is bool, err error) {
	x.d.mu.Lock()
	t := x.d.of(x.base)
	if slices.Contains(t.sources, x.of.Source) {
		x.d.mu.Unlock()
		return false, nil
	}
	others := len(t.sources) > 0
	t.sources = append(t.sources, x.of.Source)
	x.d.mu.Unlock()
	t.busy.Lock()
	x.there = t
	if !others {
		return true, nil
	}
	x.d.mu.Lock()
	defer x.d.mu.Unlock()
	if err := x.d.publish(); err != nil { // what is told of it so far is read in its place
		t.busy.Unlock()
		return false, err
	}
	return true, nil
}

func (x *export) release() {
	x.d.mu.Lock()
	x.there.spans = append(x.there.spans, x.wrote...)
	x.there.join()
	x.d.mu.Unlock()
	x.there.busy.Unlock()
}

// spansIn are the numbers of the entries in a file.
func spansIn(path string) ([]span, error) {
	type only struct {
		Seq int64 `parquet:"seq"`
	}
	var t there
	err := eachRow(path, func(r *only) {
		if n := len(t.spans); n > 0 && r.Seq == t.spans[n-1].last+1 {
			t.spans[n-1].last = r.Seq
			return
		}
		t.spans = append(t.spans, span{r.Seq, r.Seq})
	})
	t.join()
	return t.spans, err
}

// closedElsewhere drops the connections that seem to be open because their end was left
// out, and that another source has shown to be closed.
func (x *export) closedElsewhere() error {
	if !x.holes || len(x.there.spans) == 0 {
		return nil
	}
	type only struct {
		Conn int64 `parquet:"conn"`
	}
	return x.d.each(Connections, func(dir, name string) error {
		if base, _, _, is := parsePart(name); !is || base != x.base {
			return nil
		}
		return eachRow(filepath.Join(dir, name), func(r *only) { delete(x.conns.open, session.ConnID(r.Conn)) })
	})
}

// shut drops a connection of those that another source has told to be open. This one
// has its end.
func (x *export) shut(closed *connectionRow) error {
	path := x.there.open()
	if path == "" || closed.EndSeq > x.there.end() {
		return nil
	}
	if x.open == nil {
		var err error
		if x.open, err = readRows[connectionRow](path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // it is gone where the export before this one failed
		}
	}
	x.open = slices.DeleteFunc(x.open, func(r connectionRow) bool { return r.Conn == closed.Conn })
	return nil
}

// left adds the file of open connections again if some of them were closed.
func (x *export) left(p *part) error {
	path := x.there.open()
	switch {
	case x.open == nil:
		return nil
	case len(x.open) == 0:
		p.old = append(p.old, path)
		return nil
	}
	return one(x, p, Connections, path, x.open)
}

// open is the file of open connections; "" if there is none.
func (t *there) open() string {
	i := slices.IndexFunc(t.standing, func(path string) bool { return strings.HasSuffix(path, openMark+ending) })
	if i < 0 {
		return ""
	}
	return t.standing[i]
}

// readRows reads a file of a table.
func readRows[T any](path string) (out []T, err error) {
	err = eachRow(path, func(r *T) { out = append(out, *r) })
	return out, err
}

// eachRow reads a file of a table, of whose columns T may have some.
func eachRow[T any](path string, visit func(*T)) error {
	f, err := os.Open(path)
	if err != nil {
		return unwritten(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unwritten(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return &ForeignError{path, err.Error()}
	}
	r := parquet.NewGenericReader[T](p)
	defer r.Close()
	rows := make([]T, 64)
	for {
		clear(rows)
		n, err := r.Read(rows)
		for i := range rows[:n] {
			visit(&rows[i])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &ForeignError{path, err.Error()}
		}
	}
}
