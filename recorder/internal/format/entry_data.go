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

// dataPart is bytes, or a run of contents if its count is not 0.
type dataPart struct {
	bytes        []byte
	first, count uint64
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

// join is the data in one piece: a copy, unless it is one part, of which it is
// a slice then. If the dictionary says so it comes in pieces that are not
// copied, in a part of a slice that dict has for that.
func (d *dataParts) join(dict *Dictionary) (data session.Chunks, alias bool, err error) {
	dict.use()
	switch {
	case len(d.parts) == 0:
		return nil, false, nil
	case len(d.parts) == 1 && d.parts[0].count == 0 && !dict.Pieces:
		return session.Chunks{d.parts[0].bytes}, true, nil
	}
	if dict.Pieces {
		from := len(dict.Scratch)
		for i := range d.parts {
			d.parts[i].bytes = bytes.Clone(d.parts[i].bytes) // the block is used again
		}
		if err = d.each(dict, func(b []byte) { dict.Scratch = append(dict.Scratch, b) }); err != nil {
			return nil, false, err
		}
		return dict.Scratch[from:len(dict.Scratch):len(dict.Scratch)], false, nil
	}
	total := 0
	if err := d.each(dict, func(b []byte) { total += len(b) }); err != nil {
		return nil, false, err
	}
	all := make([]byte, 0, total)
	err = d.each(dict, func(b []byte) { all = append(all, b...) })
	return session.Chunks{all}, false, err
}

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
		if p.count == 0 {
			give(p.bytes)
		} else if err := dict.run(p.first, p.count, give); err != nil {
			return err
		}
		if total > MaxData {
			return errors.New("a message is longer than any that is written")
		}
	}
	return nil
}
