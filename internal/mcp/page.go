package mcp

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// position is where in a document a page begins.
type position struct {
	at int // the byte at which a value begins
	in int // of a string: how many bytes behind its quote were given before
}

// part is a page of a document: a document of its own, that has of the containers
// around it only what is on the page.
type part struct {
	text   []byte
	levels []level  // around what stands first
	next   position // where the next page begins
	more   bool     // there is one
	// under is how many of these containers were left out, the outermost first.
	under int
	cut   int // names and numbers that are too long for any page, and were cut
}

// maxToken bounds what is shown of a name or a number, by weight. Strings go on on
// the next page instead.
const maxToken = 2 << 10

// makePage makes a page that weighs at most room, which is some thousands at least.
// What fits into a page of its own is not divided.
func makePage(doc []byte, from position, room int) (*part, error) {
	levels, is := reach(doc, from.at)
	if !is || !begins(doc, from) {
		return nil, fmt.Errorf("nothing begins at byte %d", from.at)
	}
	w := &pageWriter{doc: doc, room: room, part: &part{levels: levels}}
	w.enclose(levels)
	w.write(from)
	for len(w.open) > 0 {
		w.close()
	}
	w.text = w.buf.Bytes()
	return w.part, nil
}

// begins says whether a page can begin there within the value.
func begins(doc []byte, from position) bool {
	if from.in == 0 {
		return true
	}
	if doc[from.at] != '"' {
		return false
	}
	i, to, end := from.at+1, from.at+1+from.in, stringEnd(doc, from.at)-1
	for i < to && i < end {
		i += unit(doc[i:end])
	}
	return i == to && i < end
}

// pageWriter writes one page.
type pageWriter struct {
	*part
	doc  []byte
	room int
	used int
	buf  bytes.Buffer
	open []level // that are open on the page
	some []bool  // of these: whether a child stands before
}

func (w *pageWriter) put(text []byte) {
	w.buf.Write(text)
	w.used += weigh(text)
}

// left is what may still be written, with room for the brackets that close.
func (w *pageWriter) left() int { return w.room - w.used - 2*len(w.open) }

// enclose writes the containers around what comes first: the innermost ones that
// take no more than a quarter of the page.
func (w *pageWriter) enclose(levels []level) {
	from, takes := len(levels), 0
	for from > 0 {
		if takes += around(&levels[from-1]); takes > w.room/4 {
			break
		}
		from--
	}
	w.under = from
	for _, l := range levels[from:] {
		w.push(l)
		w.name(&l)
	}
}

// around is what a container takes of a page that has one child of it: brackets,
// and the name of the child.
func around(l *level) int { return 2*weight('{') + naming(l) }

// naming is what stands before a child.
func naming(l *level) int { return 2*weight(',') + weigh(short(l.key)) }

func (w *pageWriter) push(l level) {
	open := []byte("{")
	if l.array {
		open[0] = '['
	}
	w.put(open)
	w.open = append(w.open, l)
	w.some = append(w.some, false)
}

// name writes what stands before a child.
func (w *pageWriter) name(l *level) {
	n := len(w.some) - 1
	if w.some[n] {
		w.put([]byte(","))
	}
	w.some[n] = true
	if !l.array {
		key := short(l.key)
		if len(key) != len(l.key) {
			w.cut++
		}
		w.put(key)
		w.put([]byte(":"))
	}
}

func (w *pageWriter) close() {
	n := len(w.open) - 1
	end := []byte("}")
	if w.open[n].array {
		end[0] = ']'
	}
	w.put(end)
	w.open, w.some = w.open[:n], w.some[:n]
}

// write writes values from a position on, until the page is full. A page without a
// container is a single value.
func (w *pageWriter) write(from position) {
	i := from.at
	for {
		behind, next := w.value(i, from.in)
		from.in = 0
		if next != nil {
			w.next, w.more = *next, true
			return
		}
		for closed := true; closed; {
			if len(w.open) == 0 {
				w.next, w.more = w.beyond(behind)
				return
			}
			l := &w.open[len(w.open)-1]
			if i, closed = l.next(w.doc, behind); closed {
				w.close()
				behind++
				continue
			}
			if !w.worth(i, l) {
				w.next, w.more = position{at: i}, true
				return
			}
			w.name(l)
		}
	}
}

// beyond is what comes after the containers of a page that left out some.
func (w *pageWriter) beyond(behind int) (position, bool) {
	for behind < len(w.doc) && w.doc[behind] != ',' {
		behind++ // only brackets are left before the next value
	}
	if behind >= len(w.doc) {
		return position{}, false
	}
	// What stands behind the comma may have a name.
	i := behind + 1
	if w.doc[i] == '"' {
		if end := stringEnd(w.doc, i); w.doc[end] == ':' {
			i = end + 1
		}
	}
	return position{at: i}, true
}

// leastPiece is the least that is worth writing of what must be divided.
const leastPiece = 256

// worth says whether the child of l at i should begin on this page: it fits, or it
// is large, and would have to be divided anyway.
func (w *pageWriter) worth(i int, l *level) bool {
	left := w.left() - naming(l)
	if _, _, fits := measure(w.doc, i, left); fits {
		return true
	}
	_, _, small := measure(w.doc, i, w.room/3)
	return !small && left > leastPiece
}

// value writes the value at i, or as much of it as there is room for: then next is
// where it goes on.
func (w *pageWriter) value(i, in int) (behind int, next *position) {
	b := w.doc[i]
	end, _, fits := measure(w.doc, i, w.left())
	switch {
	case fits && in == 0:
		w.put(w.doc[i:end])
		return end, nil
	case b == '"':
		return w.piece(i, in)
	case b == '{' || b == '[':
		l, child, _ := enter(w.doc, i) // one that is empty fits anywhere
		w.push(l)
		if !w.worth(child, &l) {
			return 0, &position{at: child}
		}
		w.name(&l)
		return w.value(child, 0)
	}
	// A number of more digits than any page has room for: its beginning, as a text.
	w.put(append(append([]byte(`"`), w.doc[i:i+maxToken/weight('0')]...), "…\""...))
	w.cut++
	return valueEnd(w.doc, i), nil
}

// piece writes of the string at i what comes behind its first bytes.
func (w *pageWriter) piece(i, in int) (behind int, next *position) {
	end := stringEnd(w.doc, i)
	from := min(i+1+in, end-1)
	to, left := from, w.left()-2*weight('"')
	for to < end-1 {
		n := unit(w.doc[to : end-1])
		if left -= weigh(w.doc[to : to+n]); left < 0 {
			break
		}
		to += n
	}
	w.put([]byte(`"`))
	w.put(w.doc[from:to])
	w.put([]byte(`"`))
	if to == end-1 {
		return end, nil
	}
	return 0, &position{at: i, in: to - i - 1}
}

// unit is how many bytes must stay together at the beginning of the content of a
// string: a character, or an escape, or two that are one character.
func unit(s []byte) int {
	if s[0] != '\\' {
		_, n := utf8.DecodeRune(s)
		return n
	}
	if len(s) < 6 || s[1] != 'u' {
		return min(2, len(s))
	}
	if (s[2] == 'd' || s[2] == 'D') && bytes.IndexByte([]byte("89abAB"), s[3]) >= 0 && len(s) >= 12 && s[6] == '\\' {
		return 12
	}
	return 6
}

// short is a key that is not longer than any is shown, with its quotes.
func short(key []byte) []byte {
	end, left := 1, maxToken-2*weight('"')
	for end < len(key)-1 {
		n := unit(key[end : len(key)-1])
		if left -= weigh(key[end : end+n]); left < 0 {
			return append(append([]byte(nil), key[:end]...), "…\""...)
		}
		end += n
	}
	return key
}
