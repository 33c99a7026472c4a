package export

import (
	"bytes"
	"cmp"
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

// maxHidden bounds a line: a longer one is hidden in pieces. None of them ends within a
// name, unless there is no end of one in all these bytes.
const maxHidden = 1 << 20

func (h *hiding) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		h.rest = append(h.rest, b[:i]...)
		ready := 0
		if b[i-1] == '\n' {
			ready = len(h.rest)
		} else if len(h.rest) > maxHidden {
			ready = cmp.Or(bytes.LastIndexAny(h.rest, ` "`)+1, len(h.rest))
		}
		if err := h.pass(ready); err != nil {
			return 0, err
		}
		b = b[i:]
	}
	return n, nil
}

func (h *hiding) flush() error { return h.pass(len(h.rest)) }

// pass hides the first n bytes of what is kept back.
func (h *hiding) pass(n int) error {
	if n == 0 {
		return nil
	}
	text, err := h.private.Text(string(h.rest[:n]))
	h.rest = append(h.rest[:0], h.rest[n:]...)
	if err != nil {
		return console.Failed("cannot hide all names: %w", err)
	}
	_, err = io.WriteString(h.to, text)
	return err
}
