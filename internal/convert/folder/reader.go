package folder

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

// maxText is how much of a document or of a file can be edited, in bytes: more is
// not read as YAML.
const maxText = 16 << 20

// hasher is sum of a text that comes in pieces.
type hasher struct {
	hash.Hash
	breaks int  // at the end so far, which may be the end of all
	held   bool // a carriage return, before which nothing is known
}

func newHasher() *hasher { return &hasher{Hash: sha256.New()} }

func (h *hasher) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := bytes.IndexAny(rest, "\r\n")
		switch {
		case n < 0:
			h.flush()
			h.Hash.Write(rest)
			rest = nil
		case n > 0:
			h.flush()
			h.Hash.Write(rest[:n])
			rest = rest[n:]
		case rest[0] == '\r':
			if h.held {
				h.flush()
			}
			h.held = true
			rest = rest[1:]
		default:
			h.held = false // the end of a line as other systems write it
			h.breaks++
			rest = rest[1:]
		}
	}
	return len(p), nil
}

func (h *hasher) flush() {
	if h.breaks > 0 {
		h.Hash.Write(bytes.Repeat([]byte("\n"), h.breaks))
		h.breaks = 0
	}
	if h.held {
		h.Hash.Write([]byte("\r"))
		h.held = false
	}
}

func (h *hasher) sum() string {
	if h.held {
		h.flush()
	}
	return hex.EncodeToString(h.Sum(nil)[:sumLen/2])
}

// yamlDocument is one of session.yaml.
type yamlDocument struct {
	line int    // where its text begins
	as   string // the hash that it had
	same bool   // and still has
	text []byte // at most maxText of it
	more bool   // there is more
	size int64
	refs []string // of a text that is the same: the files that it may refer to
}

// documents reads session.yaml, a document after the other.
type documents struct {
	in   *bufio.Reader
	line int // that comes next
	// ended says that the end mark was read.
	ended bool
	head  []byte // of the next document: its first line, if that was read
	read  int64
}

func newDocuments(in io.Reader) *documents {
	return &documents{in: bufio.NewReaderSize(in, 64<<10), line: 1}
}

// endMark is the line behind the last entry, which tells a file that was cut off.
// What an entry says is never a comment at the beginning of a line.
const endMark = "# end of the session"

// fileKey is what stands before each reference to a file in a text that was not
// edited. It may also stand in a text that a peer wrote.
const fileKey = `"` + fileMember + `": `

// next is the next document; io.EOF if there is none. Its memory is used again.
func (d *documents) next(doc *yamlDocument) error {
	for d.head == nil { // what is before the first one is a comment
		line, _, err := d.readLine()
		if err != nil {
			return err
		}
		if isSeparator(line) {
			d.head = bytes.Clone(line)
		}
	}
	*doc = yamlDocument{line: d.line, as: claimed(d.head[3:]), text: doc.text[:0]}
	d.head = nil
	h := newHasher()
	for begins := true; ; {
		line, whole, err := d.readLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if begins && isSeparator(line) {
			d.head = bytes.Clone(line)
			break
		}
		if begins && whole && string(bytes.TrimRight(line, "\r\n")) == endMark {
			d.ended = true
			continue
		}
		begins = whole
		h.Write(line)
		doc.size += int64(len(line))
		if doc.more = doc.more || doc.size > maxText; !doc.more {
			doc.text = append(doc.text, line...)
		}
		if _, ref, is := bytes.Cut(line, []byte(fileKey)); is {
			doc.refs = append(doc.refs, string(bytes.TrimRight(ref, "\r\n")))
		}
	}
	doc.same = doc.as != "" && h.sum() == doc.as
	return nil
}

// readLine reads a line, or a part of a long one; whole says that it ended.
func (d *documents) readLine() (line []byte, whole bool, err error) {
	line, err = d.in.ReadSlice('\n')
	d.read += int64(len(line))
	if err == nil {
		d.line++
		return line, true, nil
	}
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > 0 && errors.Is(err, io.EOF) {
		return line, false, nil
	}
	return nil, false, err
}

func isSeparator(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

// claimed is the hash in a comment: " # HASH …".
func claimed(comment []byte) string {
	words := bytes.Fields(comment)
	if len(words) < 2 || string(words[0]) != "#" || len(words[1]) != sumLen {
		return ""
	}
	return string(words[1])
}
