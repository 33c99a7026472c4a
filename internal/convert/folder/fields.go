package folder

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// fields is an object of a document: one that is written, or one that is read.
// Each of its methods goes over one member, in either direction, so that what is
// written and what is read cannot come apart. What is zero is not written.
type fields struct {
	out  *document.Tree // nil: it is read
	in   map[string]member
	line int // where the object stands
	wrong
}

// member is one that was not asked for yet.
type member struct{ key, value *yaml.Node }

// wrong takes what is wrong with a document.
type wrong func(line, col int, format string, args ...any)

func writing(out *document.Tree) *fields { return &fields{out: out} }

// reading is an object of a tree that lenient.YAMLTree read.
func reading(n *yaml.Node, w wrong) *fields {
	f := &fields{in: map[string]member{}, line: n.Line, wrong: w}
	if n.Kind != yaml.MappingNode {
		w(n.Line, n.Column, "this is to be an object: names, colons, values")
		return f
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := f.in[key.Value]; twice {
			w(key.Line, key.Column, "the field %s stands twice", lenient.Quoted(key.Value))
		}
		f.in[key.Value] = member{key, n.Content[i+1]}
	}
	return f
}

// end complains of members that nobody asked for.
func (f *fields) end() {
	for name, m := range f.in {
		f.wrong(m.key.Line, m.key.Column, "there is no field %s", lenient.Quoted(name))
	}
}

// has says whether there is one of these members.
func (f *fields) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.in[name].value != nil })
}

// take is the member of this name, nil if there is none.
func (f *fields) take(name string) *yaml.Node {
	v := f.in[name].value
	delete(f.in, name)
	return v
}

func (f *fields) add(name string, v document.Tree) {
	f.out.Members = append(f.out.Members, document.Member{Name: name, Value: v})
}

func textTree(s string) document.Tree { return document.Tree{Kind: document.String, Text: s} }

// scalar is the text of a value that is one.
func (f *fields) scalar(name string) (text string, at *yaml.Node) {
	n := f.take(name)
	if n != nil && n.Kind != yaml.ScalarNode {
		f.wrong(n.Line, n.Column, "%s is to be one value", name)
		return "", nil
	}
	if n == nil {
		return "", nil
	}
	return n.Value, n
}

func (f *fields) text(name string, v *string) {
	if f.out == nil {
		*v, _ = f.scalar(name)
	} else if *v != "" {
		f.add(name, textTree(*v))
	}
}

func (f *fields) flag(name string, v *bool) {
	if f.out != nil {
		if *v {
			f.add(name, document.Tree{Kind: document.Word, Text: "true"})
		}
		return
	}
	if text, at := f.scalar(name); at != nil {
		if *v = text == "true"; !*v && text != "false" {
			f.wrong(at.Line, at.Column, "%s is true or false", name)
		}
	}
}

// bytes go in base64.
func (f *fields) bytes(name string, v *[]byte) (there bool) {
	if f.out != nil {
		f.add(name, textTree(base64.StdEncoding.EncodeToString(*v)))
		return true
	}
	text, at := f.scalar(name)
	if at == nil {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if *v = b; err != nil {
		f.wrong(at.Line, at.Column, "%s is not base64", name)
	}
	return true
}

// time is one of the entry: of the years that a recording can have in full.
func (f *fields) time(name string, v *time.Time) { f.within(name, v, 1970, 2261) }

// expiry is one that others have chosen, in any year that can be written: 9999 says that
// there is none (RFC 5280, section 4.1.2.5). The recording holds what comes nearest to it.
func (f *fields) expiry(name string, v *time.Time) { f.within(name, v, 1, 9999) }

func (f *fields) within(name string, v *time.Time, first, last int) {
	if f.out != nil {
		if !v.IsZero() {
			f.add(name, textTree(v.UTC().Format(time.RFC3339Nano)))
		}
		return
	}
	if text, at := f.scalar(name); at != nil {
		t, err := time.Parse(time.RFC3339Nano, text)
		if *v = t; err != nil || t.UTC().Year() < first || t.UTC().Year() > last {
			f.wrong(at.Line, at.Column, "%s is a time such as 2026-11-23T09:30:00.25Z", name)
		}
	}
}

type integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

func number[T integer](f *fields, name string, v *T) {
	if f.out != nil {
		if *v != 0 {
			f.add(name, numberTree(*v))
		}
		return
	}
	if text, at := f.scalar(name); at != nil {
		*v = parse[T](f, name, text, at)
	}
}

func numberTree[T integer](v T) document.Tree {
	if v < 0 {
		return document.Tree{Kind: document.Number, Text: strconv.FormatInt(int64(v), 10)}
	}
	return document.Tree{Kind: document.Number, Text: strconv.FormatUint(uint64(v), 10)}
}

func parse[T integer](f *fields, name, text string, at *yaml.Node) T {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && int64(T(i)) == i && (T(i) < 0) == (i < 0) {
		return T(i)
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil && uint64(T(u)) == u && T(u) >= 0 {
		return T(u)
	}
	f.wrong(at.Line, at.Column, "%s is no such number", name)
	return 0
}

// word is a value of which there are a few: its number is the place of its name.
func word[T ~uint8](f *fields, name string, words []string, v *T) {
	if f.out != nil {
		if *v != 0 && int(*v) < len(words) {
			f.add(name, textTree(words[*v]))
		}
		return
	}
	text, at := f.scalar(name)
	if at == nil {
		return
	}
	for i, w := range words {
		if w == text {
			*v = T(i)
			return
		}
	}
	f.wrong(at.Line, at.Column, "%s has no value %s: it is one of %s", name, lenient.Quoted(text), strings.Join(words, ", "))
}

// object is a member with members of its own.
func object[T any](f *fields, name string, v **T, do func(*fields, *T)) {
	if f.out != nil {
		if *v != nil {
			t := document.Tree{Kind: document.Object}
			do(writing(&t), *v)
			f.add(name, t)
		}
		return
	}
	if n := f.take(name); n != nil {
		*v = new(T)
		in := reading(n, f.wrong)
		do(in, *v)
		in.end()
	}
}

// list is a member with elements.
func list[T any](f *fields, name string, v *[]T, write func(*T) document.Tree, read func(*yaml.Node) T) {
	if f.out != nil {
		if len(*v) > 0 {
			t := document.Tree{Kind: document.Array}
			for i := range *v {
				t.Items = append(t.Items, write(&(*v)[i]))
			}
			f.add(name, t)
		}
		return
	}
	n := f.take(name)
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		f.wrong(n.Line, n.Column, "%s is to be a list", name)
		return
	}
	for _, c := range n.Content {
		*v = append(*v, read(c))
	}
}

func (f *fields) texts(name string, v *[]string) {
	list(f, name, v, func(s *string) document.Tree { return textTree(*s) }, func(n *yaml.Node) string {
		if n.Kind != yaml.ScalarNode {
			f.wrong(n.Line, n.Column, "an element of %s is to be a text", name)
		}
		return n.Value
	})
}
