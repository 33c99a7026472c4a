package export

import (
	"bytes"
	"io"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
)

// Private hides names.
type Private interface {
	// Meet learns the names that an entry has.
	Meet(c *check.Change)
	// Text fails where it cannot hide all names.
	Text(s string) (string, error)
	// Told is what people should know of what was hidden, "" if there is nothing.
	Told() string
}

// hiding passes lines on with aliases for names.
type hiding struct {
	to      io.Writer
	private Private
	rest    []byte // of a line that has not ended
}

// maxHidden bounds a line: a longer one is hidden in pieces.
const maxHidden = 1 << 20

func (h *hiding) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		h.rest = append(h.rest, b[:i]...)
		if b[i-1] == '\n' || len(h.rest) > maxHidden {
			if err := h.flush(); err != nil {
				return 0, err
			}
		}
		b = b[i:]
	}
	return n, nil
}

func (h *hiding) flush() error {
	text, err := h.private.Text(string(h.rest))
	h.rest = h.rest[:0]
	if err != nil {
		return console.Failed("cannot hide all names: %w", err)
	}
	_, err = io.WriteString(h.to, text)
	return err
}
