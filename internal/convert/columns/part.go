package columns

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// Parts that wait are published when there are so many of them, or so many bytes
	// in them: contents that they refer to are brought to the disk for all at once.
	maxPending   = 24
	pendingBytes = 256 << 20
	// contentBytes is how many bytes of contents are in a file, about.
	contentBytes = 96 << 20
)

// part is a stretch of a recording, whose files are sealed beside.
type part struct {
	spans []span // of the entries that are in it
	// old are files that are not true any more as soon as it is there.
	old []string
	// files are those that are renamed before the file of its entries, by their
	// paths beside and in place.
	files   [][2]string
	entries [2]string
	bytes   int64
}

func (p *part) discard() {
	for _, f := range p.files {
		_ = os.Remove(f[0])
	}
	if p.entries[0] != "" {
		_ = os.Remove(p.entries[0])
	}
}

// hand publishes a part, sooner or later. Those of one recording are published in the
// order in which they were given.
func (d *Dir) hand(p *part) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = append(d.pending, p)
	d.waiting += p.bytes
	if len(d.pending) < maxPending && d.waiting < pendingBytes {
		return d.err
	}
	return d.publish()
}

// publish gives everything that waits its name: contents first, then what is old goes,
// then all files but those of entries, and these last. Each step is on the disk before
// the next one begins.
func (d *Dir) publish() error {
	if d.err == nil {
		d.err = d.publishAll()
	}
	return d.err
}

func (d *Dir) publishAll() error {
	if err := d.contents.publish(d); err != nil {
		return err
	}
	var dirs []string
	for _, p := range d.pending {
		for _, old := range p.old {
			if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return unwritten(err)
			}
			dirs = append(dirs, filepath.Dir(old))
		}
	}
	if err := d.o.settle(d.root, dirs...); err != nil {
		return err
	}
	dirs = dirs[:0]
	for _, p := range d.pending {
		for _, f := range p.files {
			if err := publish(f[0], f[1]); err != nil {
				return err
			}
			dirs = append(dirs, filepath.Dir(f[1]))
		}
	}
	if err := d.o.settle(d.root, dirs...); err != nil {
		return err
	}
	dirs = dirs[:0]
	for _, p := range d.pending {
		if err := publish(p.entries[0], p.entries[1]); err != nil {
			return err
		}
		dirs = append(dirs, filepath.Dir(p.entries[1]))
	}
	if err := d.o.settle(d.root, dirs...); err != nil {
		return err
	}
	clear(d.pending)
	d.pending, d.waiting = d.pending[:0], 0
	return nil
}
