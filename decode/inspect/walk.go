package inspect

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// The walk goes over a message once, field by field in the order of numbers,
// and writes what it reads to Inspector.canon in a form that is the same for
// every encoding of the same values:
//
//	message = field… 0
//	field   = tag varint | tag fixed | tag length bytes | tag message
//
// Of a singular field that comes twice the last value counts, or all merged if
// it is a message; zero values without presence are left out; lists are not
// packed; map entries are sorted by key; an Any of known type has its message in
// place of the bytes. Unknown fields stay as they are.

// message walks over the body of a message. It is false where the resource is
// found undecodable.
func (in *Inspector) message(t *typeFacts, b []byte, depth int) bool {
	if depth > maxDepth {
		return in.broken("", tooDeep)
	}
	if !t.made {
		in.make(t)
	}
	in.messages++
	base := len(in.runs)
	sorted, ok := in.split(b)
	if !ok {
		return false
	}
	runs := in.runs[base:]
	if t.oneofs > 0 && len(runs) > 1 {
		runs, ok = in.winners(t, b, runs, depth)
	}
	if !sorted {
		slices.SortStableFunc(runs, func(a, b run) int { return int(a.num - b.num) })
	}
	if t.refs != nil && in.muted == 0 {
		in.references(t, b)
	}
	seen := uint64(0)
	for len(runs) > 0 && ok {
		n := 1
		for n < len(runs) && runs[n].num == runs[0].num {
			n++
		}
		if i := t.field(runs[0].num); i >= 0 {
			seen |= bit(i)
			ok = in.field(&t.fields[i], b, runs[:n], depth)
		} else {
			in.unknownField(runs[0].num)
			for _, r := range runs[:n] {
				in.canon = append(in.canon, b[r.start:r.end]...)
			}
		}
		runs = runs[n:]
	}
	in.runs = in.runs[:base]
	for _, set := range t.required {
		if seen&set == 0 {
			in.suspect = true
		}
	}
	if t.mapEntry && seen&bit(1) == 0 && t.fields[1].class == classMessage {
		in.canon = append(in.canon, 2<<3|2, 0) // an entry without a value has an empty one
	}
	return ok
}

// maxDepth bounds the nesting of messages that is followed, as parsers do.
const maxDepth = 100

const tooDeep = "nested deeper than 100 messages"

// winners takes out of the runs the members of oneofs that a later member
// replaces. What they hold counts for nothing, but must be readable.
func (in *Inspector) winners(t *typeFacts, b []byte, runs []run, depth int) ([]run, bool) {
	const replaced = -1
	var few [8]protowire.Number
	last := few[:] // of each oneof, from the end
	if t.oneofs >= len(few) {
		last = make([]protowire.Number, t.oneofs+1)
	}
	ok, some := true, false
	for i := len(runs) - 1; i >= 0 && ok; i-- {
		j := t.field(runs[i].num)
		if j < 0 || t.fields[j].oneof == 0 {
			continue
		}
		winner := &last[t.fields[j].oneof]
		if *winner == 0 {
			*winner = runs[i].num
		}
		if *winner == runs[i].num {
			continue
		}
		*winner, some = replaced, true // earlier ones of the winner are replaced, too
		suspect, canon := in.suspect, len(in.canon)
		in.muted++
		ok = in.field(&t.fields[j], b, runs[i:i+1], depth)
		in.muted--
		in.suspect, in.canon = suspect, in.canon[:canon]
		runs[i].num = replaced
	}
	if some {
		runs = slices.DeleteFunc(runs, func(r run) bool { return r.num == replaced })
	}
	return runs, ok
}

// nested walks over a message within a message.
func (in *Inspector) nested(f *fieldFacts, b []byte, depth int) bool {
	if in.masked && mask.Looks(b) {
		in.leaf(f.num, b)
		return true
	}
	in.canon = protowire.AppendTag(in.canon, f.num, protowire.BytesType)
	ok, proving, idle := false, in.proving, in.idle
	if f.sub.any {
		ok = in.any(b, depth+1)
	} else {
		ok = in.message(f.sub, b, depth+1)
	}
	in.proving, in.idle = proving, idle
	in.canon = append(in.canon, 0)
	return ok
}

// any walks over an Any. Each is a root for constraints, and for the depth that
// a parser follows.
func (in *Inspector) any(b []byte, depth int) bool {
	if depth > maxDepth {
		return in.broken("", tooDeep)
	}
	var url, value []byte
	for off := 0; off < len(b); {
		f, n := protoscan.Read(b[off:])
		if n < 0 || f.Num > protowire.MaxValidNumber {
			_, ok := in.split(b)
			return ok
		}
		switch {
		case f.Num == 1 && f.Type == protowire.BytesType:
			if url = f.Body; !utf8.Valid(url) {
				return in.broken("type_url", "the string is not valid UTF-8")
			}
		case f.Num == 2 && f.Type == protowire.BytesType:
			value = f.Body
		default:
			in.unknownField(f.Num)
			in.canon = append(in.canon, b[off:off+n]...)
		}
		off += n
	}
	if len(url) > 0 {
		in.leaf(1, url)
	}
	name := url[bytes.LastIndexByte(url, '/')+1:]
	t := in.byName(name)
	if t == nil || in.anys == maxAnys || in.masked && mask.Looks(value) {
		if t == nil && len(b) > 0 {
			in.finding("", "unknown type "+strconv.Quote(short(name)))
		}
		if len(value) > 0 {
			in.leaf(2, value)
		}
		return true
	}
	in.anys++
	in.canon = append(in.canon, 2<<3|2)
	ok := in.root(t, value)
	in.canon = append(in.canon, 0)
	in.anys--
	return ok
}

// maxAnys bounds how deep an Any within an Any is followed.
const maxAnys = 32

// root walks over the message of an Any, and has its constraints looked at
// if they may be violated.
func (in *Inspector) root(t *typeFacts, b []byte) bool {
	suspect, messages := in.suspect, in.messages
	in.suspect, in.messages = false, 0
	ok := false
	if t.any {
		ok = in.any(b, 0)
	} else {
		ok = in.message(t, b, 0)
	}
	if ok && in.suspect && in.muted == 0 && !in.masked && in.messages <= maxValidated {
		in.validate(t, b)
	}
	in.suspect, in.messages = suspect, messages+in.messages
	return ok
}
