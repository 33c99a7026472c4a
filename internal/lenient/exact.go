package lenient

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Exact says how a text is read that document.Kept has written and a person may
// have edited. Nothing may be lost then: what Envoy would leave out, or would
// read in another way than it is written, is a fault. Numbers are numbers, also
// where a field takes any value. And there are keys for what has no field:
//
//	"@unknown", "@undecoded"   in a message: bytes at its end, in base64
//	"@value"                   in an Any, after "@type": its value, in base64
//	"@any"                     alone in an Any: all its bytes, in base64
//	"@file"                    alone in an Any: File knows its bytes
type Exact struct {
	Types Types
	// File finds the bytes of an Any that is elsewhere. If it cannot it says so
	// itself and returns nothing.
	File func(name string, line, col int) []byte
}

const (
	unknownKey   = "@unknown"
	undecodedKey = "@undecoded"
	valueKey     = "@value"
	anyKey       = "@any"
	fileKey      = "@file"
)

// Into fills an empty message from a tree that YAMLTree read, and returns all that
// is wrong.
func (x Exact) Into(m proto.Message, root *yaml.Node) []*Fault {
	w := jsonWriter{exact: true}
	notes := Last(root)
	w.value(root)
	r := reader{lexer: lexer{data: w.out, place: w.place}, types: x.Types, notes: notes, exact: &x}
	err := r.message(m.ProtoReflect(), "the message", false)
	if err == nil && r.space() != 0 {
		err = r.syntax()
	}
	faults := slices.Clone(r.notes)
	if err != nil {
		faults = append(faults, err)
	}
	slices.SortStableFunc(faults, func(a, b *Fault) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
	return faults
}

// maxFaults is how many of them an exact reader tells before the one at which it stops.
const maxFaults = 1000

// value reads what stands at pos. What is wrong with it does not keep an exact
// reader from what is behind it.
func (r *reader) value(read func() *Fault) *Fault {
	from, depth, nested := r.pos, r.depth, r.nested
	err := read()
	if err == nil || err == errEnough || r.exact == nil || r.lost || len(r.notes) >= maxFaults {
		return err
	}
	r.notes = append(r.notes, err)
	r.pos, r.depth, r.nested = from, depth, nested
	err = r.skip()
	r.lost = err != nil
	return err
}

// plainNumber is a scalar without quotes that is a number of JSON.
func plainNumber(n *yaml.Node) bool {
	v := n.Value
	return n.Style&(quotes|yaml.TaggedStyle) == 0 && v != "" && strings.IndexByte("-0123456789", v[0]) >= 0 && json.Valid([]byte(v))
}

// base64 takes the bytes that a key stands for.
func (r *reader) base64(key string) ([]byte, *Fault) {
	text, at, err := r.textOf(key, "base64")
	if err != nil {
		return nil, err
	}
	b, ok := bytesOf(text)
	if !ok {
		return nil, r.wrong(at, "%s is not base64", key)
	}
	return b, nil
}

// tail takes bytes that a message ends with.
func (r *reader) tail(m protoreflect.Message, key string) *Fault {
	b, err := r.base64(key)
	if err == nil {
		m.SetUnknown(append(slices.Clone(m.GetUnknown()), b...))
	}
	return err
}

// instead reads an Any that stands as bytes; false if it does not, and then
// nothing was read.
func (r *reader) instead(m protoreflect.Message) (done bool, err *Fault) {
	from, depth := r.pos, r.depth
	url, members := "", 0
	err = r.object(func(key string, at int) *Fault {
		if members++; done {
			return r.wrong(at, "nothing stands beside the bytes of an Any")
		}
		var b []byte
		var err *Fault
		switch {
		case key == typeKey && members == 1 && r.space() == '"':
			url, err = r.text()
			return err
		case key == fileKey && members == 1 && r.exact.File != nil:
			var name string
			if name, at, err = r.textOf(key, "string"); err == nil {
				line, col := r.place(at)
				b = r.exact.File(name, line, col)
			}
		case key == anyKey && members == 1:
			b, err = r.base64(key)
		case key == valueKey && members == 2:
			fields := m.Descriptor().Fields()
			if b, err = r.base64(key); err == nil {
				m.Set(fields.ByNumber(1), protoreflect.ValueOfString(url))
				m.Set(fields.ByNumber(2), protoreflect.ValueOfBytes(b))
			}
			b = nil
		default:
			return errEnough
		}
		if done = true; err == nil && b != nil {
			m.SetUnknown(b)
		}
		return err
	})
	if err == errEnough || err == nil && !done {
		r.pos, r.depth, err = from, depth, nil
	}
	return done, err
}
