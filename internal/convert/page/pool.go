package page

import (
	"bytes"
	"fmt"
	"slices"
)

// pool holds the pieces that entries refer to, each once. A piece to which nobody
// refers any more is gone.
type pool struct {
	byText map[string]int
	pieces map[int]*piece
	next   int
	size   int
}

type piece struct {
	text string
	refs int
}

// overhead is about what a piece takes beside its text.
const overhead = 12

func newPool() *pool { return &pool{byText: make(map[string]int), pieces: make(map[int]*piece)} }

// add refers to a text, which is JSON, once more.
func (p *pool) add(text []byte) int {
	id, known := p.byText[string(text)]
	if !known {
		id = p.next
		p.next++
		own := string(text)
		p.byText[own], p.pieces[id] = id, &piece{text: own}
		p.size += len(own) + overhead
	}
	p.pieces[id].refs++
	return id
}

// drop takes a reference back.
func (p *pool) drop(id int) {
	one := p.pieces[id]
	if one.refs--; one.refs > 0 {
		return
	}
	delete(p.byText, one.text)
	delete(p.pieces, id)
	p.size -= len(one.text) + overhead
}

// json is an object of all pieces, by their numbers.
func (p *pool) json() []byte {
	ids := make([]int, 0, len(p.pieces))
	for id := range p.pieces {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "\"%d\":%s", id, p.pieces[id].text)
	}
	b.WriteByte('}')
	return b.Bytes()
}
