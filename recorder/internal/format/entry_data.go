package format

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// dataParts are the fields of an entry that make up its message's data.
type dataParts struct {
	parts []dataPart
}

// dataPart is bytes, a run of contents if its count is not 0, or what was taken
// aside: chunks, or as many bytes as were left out.
type dataPart struct {
	bytes        []byte
	first, count uint64
	chunks       session.Chunks
	left         int64
}

func (d *dataParts) add(f *protoscan.Field, dict *Dictionary) error {
	if f.Num == FieldContent && dict.Pieces && dict.Exact {
		id := dict.Cursor
		dict.Cursor++
		if n := len(d.parts); n > 0 && d.parts[n-1].count > 0 && d.parts[n-1].first+d.parts[n-1].count == id {
			d.parts[n-1].count++
		} else {
			d.parts = append(d.parts, dataPart{first: id, count: 1})
		}
		return nil
	}
	if f.Num != FieldRun {
		if len(f.Body) > 0 {
			d.parts = append(d.parts, dataPart{bytes: f.Body})
		}
		return nil
	}
	first, n := protowire.ConsumeVarint(f.Body)
	if n < 0 {
		return errWire
	}
	count, n := protowire.ConsumeVarint(f.Body[n:])
	if n < 0 || count == 0 || count > MaxContents || first > MaxContents {
		return errWire
	}
	d.parts = append(d.parts, dataPart{first: first, count: count})
	return nil
}

// aside adds the part that Sift took aside as number i.
func (d *dataParts) aside(i uint64, dict *Dictionary) {
	if a := dict.Aside; a != nil && i < uint64(len(a.parts)) {
		d.parts = append(d.parts, dataPart{chunks: a.parts[i].chunks, left: a.parts[i].left})
	}
}

// join is the data, and its length. It is in one piece: a copy, unless it is one part,
// of which it is a slice then. If the dictionary says so it comes in pieces, in a part
// of a slice that dict has for that: contents are not copied, nor is what is most of
// its block. What is too large to be decoded is left out, unless dict says otherwise.
func (d *dataParts) join(dict *Dictionary) (data session.Chunks, total int64, alias bool, err error) {
	dict.use()
	own, aside, left := 0, int64(0), int64(0)
	for i := range d.parts {
		own += len(d.parts[i].bytes)
		aside += d.parts[i].chunks.Len()
		left += d.parts[i].left
	}
	dict.Own = int64(own) + aside
	alias = own > dict.Share && (dict.Pieces || len(d.parts) == 1)
	if own > 0 && !alias && (dict.Pieces || len(d.parts) == 1) {
		for i := range d.parts {
			d.parts[i].bytes = bytes.Clone(d.parts[i].bytes) // the block is used again
		}
	}
	from := len(dict.Scratch)
	err = d.each(dict, func(b []byte) {
		if total += int64(len(b)); dict.Pieces {
			dict.Scratch = append(dict.Scratch, b)
		}
	})
	total += left
	switch {
	case err != nil:
	case total > MaxData, left > 0 && total <= session.MostRead:
		err = errLong
	case total > session.MostRead && !dict.Large:
		clear(dict.Scratch[from:])
		dict.Scratch = dict.Scratch[:from]
		return nil, total, false, nil
	case dict.Pieces:
		return dict.Scratch[from:len(dict.Scratch):len(dict.Scratch)], total, alias, nil
	case len(d.parts) == 1 && own > 0:
		return session.Chunks{d.parts[0].bytes}, total, alias, nil
	}
	if err != nil {
		return nil, 0, false, err
	}
	all := make([]byte, 0, total)
	err = d.each(dict, func(b []byte) { all = append(all, b...) })
	return session.Chunks{all}, total, false, err
}

var errLong = errors.New("a message, or what is between its parts, is longer than any that is written")

// each calls f with the pieces of the data, as far as they are no longer than any
// that is written.
func (d *dataParts) each(dict *Dictionary, f func([]byte)) error {
	total := 0
	give := func(b []byte) bool {
		if total += len(b); total > MaxData {
			return false
		}
		f(b)
		return true
	}
	for _, p := range d.parts {
		switch {
		case p.count > 0:
			if err := dict.run(p.first, p.count, give); err != nil {
				return err
			}
		case p.chunks != nil:
			for _, c := range p.chunks {
				give(c)
			}
		default:
			give(p.bytes)
		}
		if total > MaxData {
			return errLong
		}
	}
	return nil
}
