package recorder

import (
	"errors"
	"fmt"
	"os"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Copy writes entries of one recording into a new one, where they keep their
// numbers and times. What is missing in between must be explained by Gap
// entries. It is used by one goroutine.
type Copy struct {
	path string
	f    *os.File
	out  *blocks.Writer
	o    Options
	last session.Seq
	// masked counts messages in which secrets are masked.
	masked uint64
	err    error // of an Add; the copy is of no use after it
}

// NewCopy begins a recording at path, with mode 0600. The file must not exist
// yet: fs.ErrExist says that it does. What was recorded, by what program and
// whether masked, is taken from of, except that Options.Masked masks. Of the
// other options Transform, Content and Labels count, and Descriptors, which take
// the place of those of the original. Messages must be as a
// Reader gives them; where its Pieces are on, what repeats is stored once.
func NewCopy(path string, of Facts, o Options) (*Copy, error) {
	packed, err := packedOf(of, o.Descriptors)
	if err != nil {
		return nil, fmt.Errorf("cannot write the recording: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write the recording: %w", err)
	}
	c := &Copy{path: path, f: f, o: o}
	c.out, err = blocks.New(f, &format.FileHeader{Created: of.Created, Program: of.Program, Masked: of.Masked || o.Masked, Descriptors: packed}, o.Content)
	if err != nil {
		_ = c.Discard()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return c, nil
}

// packedOf are the descriptors of a copy.
func packedOf(of Facts, own []byte) (string, error) {
	if len(own) == 0 {
		own = []byte(of.Descriptors)
	}
	return format.PackDescriptors(own)
}

// Add writes an entry, which must come after the one before.
func (c *Copy) Add(e *session.Entry) error {
	if c.err != nil {
		return c.err
	}
	if e.Seq <= c.last {
		c.err = fmt.Errorf("entry %d cannot follow entry %d", e.Seq, c.last)
		return c.err
	}
	c.last = e.Seq
	own := *e // its Message may be replaced
	labels, _ := c.o.prepare(&own)
	if c.err = c.out.Put(&own, labels); c.err != nil {
		return fmt.Errorf("cannot write %s: %w", c.path, c.err)
	}
	if own.Message != nil && own.Message.Masked {
		c.masked++
	}
	return nil
}

// Masked is how many of the messages so far hold masks instead of secrets.
func (c *Copy) Masked() uint64 { return c.masked }

// Close ends the recording, and says how many bytes it has. If that fails the
// file is removed.
func (c *Copy) Close() (int64, error) {
	err := c.err
	if err == nil {
		err = c.out.Commit()
	}
	if err == nil {
		err = c.out.Finish(c.last)
	}
	if err == nil {
		err = disk{c.f}.Sync()
	}
	if err != nil {
		_ = c.Discard()
		return 0, fmt.Errorf("cannot write %s: %w", c.path, err)
	}
	size := c.out.End
	c.out.Free()
	return size, c.f.Close()
}

// Discard gives up, and removes the file.
func (c *Copy) Discard() error {
	if c.out != nil {
		c.out.Free()
	}
	return errors.Join(c.f.Close(), os.Remove(c.path))
}
