package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// mark is the beginning of a hash.
type mark [8]byte

func markOf(parts ...[]byte) (m mark) {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	copy(m[:], h.Sum(nil))
	return m
}

// cursor says where an answer goes on, and of what: nothing needs to be remembered
// for it.
type cursor struct {
	asked     mark   // the tool and its arguments
	recording mark   // of which
	answer    mark   // the whole answer; zero where it may have grown since
	line      uint64 // of an answer of lines, from 0
	position         // in the answer, or in the line
}

const (
	marks      = 3 * len(mark{})
	cursorSum  = 4
	leastBytes = marks + 3 + cursorSum
	mostBytes  = marks + 3*binary.MaxVarintLen64 + cursorSum
)

// cursorDomain is in the sum of each cursor, so that no other text is one.
var cursorDomain = []byte("xdsproxy mcp cursor 1")

// String is what an assistant gives back.
func (c *cursor) String() string {
	b := make([]byte, 0, mostBytes)
	b = append(append(append(b, c.asked[:]...), c.recording[:]...), c.answer[:]...)
	b = binary.AppendUvarint(b, c.line)
	b = binary.AppendUvarint(b, uint64(c.at))
	b = binary.AppendUvarint(b, uint64(c.in))
	sum := markOf(cursorDomain, b)
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:cursorSum]...))
}

var errNoCursor = errors.New("the cursor is none that this server gave")

// maxAt bounds positions: no answer is that long.
const maxAt = 1 << 40

func parseCursor(text string) (c cursor, err error) {
	if len(text) > base64.RawURLEncoding.EncodedLen(mostBytes) {
		return c, errNoCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < leastBytes {
		return c, errNoCursor
	}
	b, sum := b[:len(b)-cursorSum], b[len(b)-cursorSum:]
	if want := markOf(cursorDomain, b); !bytes.Equal(sum, want[:cursorSum]) {
		return c, errNoCursor
	}
	for _, m := range []*mark{&c.asked, &c.recording, &c.answer} {
		b = b[copy(m[:], b):]
	}
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > maxAt {
			return cursor{}, errNoCursor
		}
		numbers[i], b = n, b[size:]
	}
	if len(b) > 0 {
		return cursor{}, errNoCursor
	}
	c.line, c.at, c.in = numbers[0], int(numbers[1]), int(numbers[2])
	return c, nil
}
