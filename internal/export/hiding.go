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

// maxHidden bounds a line: a longer one is hidden in pieces.
const maxHidden = 1 << 20

// cut is where a line that is too long can be cut beside a name: where a text in quotes
// ends or begins. Where there are no quotes it is a space, which a name may have, and
// where there is none of these, the end.
func cut(line []byte) int {
	for end := len(line); end > 0; {
		end = bytes.LastIndexByte(line[:end], '"')
		if end >= 0 && (end == 0 || line[end-1] != '\\') {
			return end + 1
		}
	}
	return cmp.Or(bytes.LastIndexByte(line, ' ')+1, len(line))
}

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
			ready = cut(h.rest)
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
