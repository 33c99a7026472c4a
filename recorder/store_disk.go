package recorder

import (
	"fmt"
	"os"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
)

// temporary is what a segment is called before it is complete enough to be the
// newest.
func (f *family) temporary() string { return f.newest() + ".next" }

func (f *family) begin() (blocks.File, error) {
	_ = os.Remove(f.temporary())
	return createFile(f.temporary())
}

// createFile creates a file that is not there yet, and locks it as its writer.
func createFile(path string) (disk, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return disk{}, err
	}
	// Readers probe the lock only of a file that has a header: nobody
	// competes for it here.
	if err := lock(f); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return disk{}, fmt.Errorf("%s: %w", path, err)
	}
	return disk{f}, nil
}

func (f *family) abandon(s blocks.File) {
	_ = s.Close()
	_ = os.Remove(f.temporary())
}

func (f *family) install(old uint64) error { return replace(f.newest(), f.older(old), f.temporary()) }

func (f *family) current() (*Reader, error) { return openFile(f.newest()) }

// replace puts the file next in the place of path, which becomes older. Where
// there are links, path exists at any time. It overwrites no other file.
func replace(path, older, next string) error {
	if _, err := os.Lstat(older); err == nil {
		return fmt.Errorf("%s is there already", older)
	}
	if os.Link(path, older) == nil {
		err := os.Rename(next, path)
		if err != nil {
			_ = os.Remove(older)
		}
		return err
	}
	err := os.Rename(path, older)
	if err == nil {
		if err = os.Rename(next, path); err != nil {
			_ = os.Rename(older, path)
		}
	}
	return err
}

// forget deletes the oldest segments, of which more are there than are to be
// kept, but for those that spare names.
func (f *family) forget(keep int, spare func([]Old) []uint64) error {
	if keep <= 0 {
		return nil
	}
	numbers, err := f.numbers()
	var old []Old
	for _, n := range numbers {
		// Only what is ours, whatever its name.
		r, err := f.open(f.older(n))
		if err != nil {
			continue
		}
		size, _ := r.src.(*fileSource).size()
		_ = r.Close()
		old = append(old, Old{Path: f.older(n), Number: n, Size: size})
	}
	old = old[:max(len(old)-keep, 0)]
	for _, o := range release(old, spare) {
		if err != nil {
			break
		}
		err = os.Remove(o.Path)
	}
	return err
}
