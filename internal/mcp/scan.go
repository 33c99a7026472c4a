package mcp

import (
	"bytes"
	"strconv"
)

// A document here is compact JSON that was made by this program: it is valid. What
// is scanned in it never depends on what its strings say.

// level is a container on the way to a place in a document.
type level struct {
	array bool
	index int    // of the child, from 0
	key   []byte // of the child, with its quotes; nil in an array
}

// stringEnd is behind the string that begins at i.
func stringEnd(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// valueEnd is behind the value that begins at i.
func valueEnd(doc []byte, i int) int {
	end, _, _ := measure(doc, i, int(^uint(0)>>1))
	return end
}

// enter goes into the container at i: to its first child, or behind it if it is
// empty.
func enter(doc []byte, i int) (l level, child int, empty bool) {
	l.array = doc[i] == '['
	if doc[i+1] == ']' || doc[i+1] == '}' {
		return l, i + 2, true
	}
	return l, l.child(doc, i+1), false
}

// child reads the key at i, if there are keys, and is where the value begins.
func (l *level) child(doc []byte, i int) int {
	if l.array {
		return i
	}
	end := stringEnd(doc, i)
	l.key = doc[i:end]
	return end + 1
}

// next goes from behind a child to the one after it. closed says that there is
// none, and i is at the bracket then.
func (l *level) next(doc []byte, i int) (child int, closed bool) {
	if doc[i] != ',' {
		return i, true
	}
	l.index++
	return l.child(doc, i+1), false
}

// reach finds the containers around the value that begins at a byte; false if none
// begins there.
func reach(doc []byte, at int) ([]level, bool) {
	var levels []level
	i := 0
	for i < at && i < len(doc) {
		behind := 0
		if doc[i] == '{' || doc[i] == '[' {
			l, child, empty := enter(doc, i)
			if !empty {
				levels, i = append(levels, l), child
				continue
			}
			behind = child
		} else {
			behind = valueEnd(doc, i)
		}
		for {
			if len(levels) == 0 {
				return nil, false
			}
			child, closed := levels[len(levels)-1].next(doc, behind)
			if !closed {
				i = child
				break
			}
			levels, behind = levels[:len(levels)-1], behind+1
		}
	}
	return levels, i == at && at < len(doc)
}

// weight is how many bytes of an answer a byte of a document takes: as it is, and
// once more within a text, where quotes need a backslash. An encoder of JSON may
// write <, > and & as escapes.
func weight(b byte) int {
	switch b {
	case '"', '\\':
		return 3
	case '<', '>', '&':
		return 12
	}
	return 2
}

func weigh(text []byte) (n int) {
	for _, b := range text {
		n += weight(b)
	}
	return n
}

// measure weighs the value that begins at i. It gives up where that is beyond most.
func measure(doc []byte, i, most int) (end, weighs int, fits bool) {
	depth := 0
	for end = i; end < len(doc); {
		from := end
		switch b := doc[end]; {
		case b == '"':
			end = stringEnd(doc, end)
		case b == '{' || b == '[':
			depth++
			end++
		case b == '}' || b == ']':
			depth--
			end++
		default:
			end++
		}
		for _, b := range doc[from:end] {
			if weighs += weight(b); weighs > most {
				return end, weighs, false
			}
		}
		if depth > 0 {
			continue
		}
		// A number or a word ends before what cannot belong to it.
		if b := doc[from]; b == '"' || b == '}' || b == ']' || end == len(doc) || bytes.IndexByte([]byte(",]}"), doc[end]) >= 0 {
			return end, weighs, true
		}
	}
	return end, weighs, true
}

// pathOf is such as message.resources[3].name. Names that are none of a field stand
// in brackets, with their quotes.
func pathOf(levels []level) string {
	var b []byte
	for _, l := range levels {
		switch name := l.key; {
		case l.array:
			b = append(strconv.AppendInt(append(b, '['), int64(l.index), 10), ']')
		case plain(name):
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, name[1:len(name)-1]...)
		default:
			b = append(append(append(b, '['), name...), ']')
		}
	}
	return string(b)
}

// plain says whether a key can stand in a path as it is.
func plain(key []byte) bool {
	return len(key) > 2 && !bytes.ContainsAny(key[1:len(key)-1], ".[]\"\\ ")
}
