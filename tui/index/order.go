package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/xdsproxy/xdsproxy/session"
)

// Column is what rows can be put in order by.
type Column uint8

const (
	BySeq Column = iota
	ByClient
	ByType
	ByWhat
	ByVersion
	ByCount
	BySize
	ByWait
)

// MostOrdered bounds how many rows are put in order: it takes 40 bytes a row, of
// which 4 stay.
const MostOrdered = 1 << 21

// ordered is a row while it is put in order: a number, or the beginning of a text.
type ordered struct {
	key  uint64
	text []byte // nil: the number says all
	at   uint32
}

// Order puts positions in the order of a column: numbers from the greatest down,
// texts by the alphabet, rows without one at the end, and equal ones as they came.
// nil stands for all rows. It is no work for a loop that draws.
func (x *Index) Order(by Column, rows []uint32, turned bool) []uint32 {
	n := len(rows)
	if rows == nil {
		n = x.Len()
	}
	n = min(n, MostOrdered)
	all := make([]ordered, 0, n)
	var order ranks
	switch by {
	case ByClient:
		order = x.ranks(&x.words)
	case ByType:
		order = x.ranks(&x.kinds)
	}
	for from := 0; from < n; from += blockRows {
		all = x.keys(all, by, order, rows, from, min(from+blockRows, n))
	}
	slices.SortFunc(all, func(a, b ordered) int {
		c := cmp.Compare(a.key, b.key)
		switch {
		case c == 0:
			c = bytes.Compare(a.text, b.text)
		case a.key == nowhere || b.key == nowhere:
			return c // whichever way round
		}
		if by == BySeq {
			c = cmp.Compare(a.at, b.at)
		}
		if turned {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	})
	out := make([]uint32, len(all))
	for i := range all {
		out[i] = all[i].at
	}
	return out
}

// keys appends what some rows are compared by.
func (x *Index) keys(all []ordered, by Column, ranks ranks, rows []uint32, from, to int) []ordered {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := from; i < to; i++ {
		at := uint32(i)
		if rows != nil {
			at = rows[i]
		}
		if int(at) >= x.n {
			continue
		}
		r, o := x.row(int(at)), ordered{at: at}
		switch by {
		case ByClient:
			o.key = ranks.of(x.clientID(r))
		case ByType:
			o.key = ranks.of(uint32(r.typ))
		case ByWhat:
			if o.key = uint64(r.What); r.What == Nothing {
				o.key = nowhere
			}
		case ByVersion:
			if o.key = nowhere; r.Kind == session.KindMessage {
				o.say(x.texts.bytes(r.version))
			}
		case ByCount:
			o.count(int64(r.Count), r.Count != None)
		case BySize:
			o.count(int64(r.Size), r.Size > 0)
		case ByWait:
			o.count(int64(r.waited), r.waited > 0)
		}
		all = append(all, o)
	}
	return all
}

// say makes a row one with a text. Its first bytes are compared first.
func (o *ordered) say(text []byte) {
	if len(text) == 0 {
		o.key = nowhere
		return
	}
	var head [8]byte
	copy(head[:], text)
	o.key, o.text = binary.BigEndian.Uint64(head[:]), text
}

// count makes a row one with a number; those without come last.
func (o *ordered) count(n int64, is bool) {
	if o.key = nowhere; is {
		o.key = uint64(1<<62 - n)
	}
}

// nowhere is behind all.
const nowhere = ^uint64(0)

// ranks are the places of words in the alphabet, by their numbers.
type ranks []uint32

func (x *Index) ranks(of *wordTable) ranks {
	x.mu.RLock()
	words := of.list // it only grows
	x.mu.RUnlock()
	ids := make([]uint32, len(words))
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(words[a], words[b]) })
	out := make(ranks, len(words))
	for at, id := range ids {
		out[id] = uint32(at)
	}
	return out
}

func (r ranks) of(id uint32) uint64 {
	if id == 0 || int(id) >= len(r) {
		return nowhere // it has no name, or came since
	}
	return uint64(r[id])
}
