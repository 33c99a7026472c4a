package fleet

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// open says where a SOURCE is, and which files are there.
func open(ctx context.Context, source string, o Options) (place, iter.Seq2[object, error], error) {
	if objects.Is(source) {
		return openStore(ctx, source, o)
	}
	info, err := os.Stat(source)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err == nil && info.IsDir() {
		d := directory{source}
		return d, d.list(ctx, o.Tell), nil
	}
	// A single recording, of which the newest segment need not be there.
	dir, base := filepath.Split(source)
	d := directory{filepath.Clean(dir)}
	above := filepath.ToSlash(dir)
	if err == nil {
		whole := object{key: base, path: base, above: above, size: info.Size(), modified: info.ModTime()}
		n, is := parse("", base)
		if !is { // whatever it is called
			whole.path += ending
		}
		if !is || n.segment != 0 { // an older segment is read alone
			return d, one(whole), nil
		}
	}
	names, err := os.ReadDir(d.root)
	if err != nil {
		return nil, nil, err
	}
	var found []object
	for _, e := range names {
		n, is := parse("", e.Name())
		if !is || n.recording != strings.TrimSuffix(base, ending) {
			continue
		}
		if info, err := os.Stat(d.source(e.Name())); err == nil && info.Mode().IsRegular() {
			found = append(found, object{key: e.Name(), path: e.Name(), above: above, size: info.Size(), modified: info.ModTime()})
		}
	}
	if len(found) == 0 {
		return nil, nil, &fs.PathError{Op: "open", Path: source, Err: fs.ErrNotExist}
	}
	return d, one(found...), nil
}

func one(all ...object) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}
