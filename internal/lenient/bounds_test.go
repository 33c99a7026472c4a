package lenient

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// says is what a fault says, "" if there is none.
func says(f *Fault) string {
	if f == nil {
		return ""
	}
	return f.Message
}

// What is as deep or as large as it may be is read, and what is one more is refused.
func TestUpToTheBounds(t *testing.T) {
	fields := (&structpb.Struct{}).ProtoReflect().Descriptor().Fields().ByName("fields")
	for name, c := range map[string]struct {
		most int
		do   func(n int) *Fault
		want string
	}{
		"depth of JSON": {maxDepth, func(n int) *Fault {
			l := lexer{data: []byte(strings.Repeat("[", n) + strings.Repeat("]", n))}
			return l.skip()
		}, "nested too deep"},
		"messages": {maxMessages, func(n int) *Fault {
			r := reader{lexer: lexer{data: []byte("{}")}, nested: n - 1}
			return r.message((&structpb.Struct{}).ProtoReflect(), "it", true)
		}, "nested too deep"},
		"maps": {maxMessages, func(n int) *Fault {
			r := reader{lexer: lexer{data: []byte("{}")}, nested: n - 1}
			return r.mapping((&structpb.Struct{}).ProtoReflect().Mutable(fields).Map(), fields, "it")
		}, "nested too deep"},
		"directives": {maxDirectives, func(n int) *Fault { return Bounded(bytes.Repeat([]byte("%\n"), n), n) }, "more directives than can be read"},
		"depth of YAML": {maxYAMLDepth, func(n int) *Fault {
			_, err := (&resolver{left: 1}).resolve(&yaml.Node{Kind: yaml.ScalarNode}, false, n)
			return err
		}, "nested too deep"},
		"text of YAML": {maxText, func(n int) *Fault {
			_, err := (&resolver{left: 1, text: n - 1}).resolve(&yaml.Node{Kind: yaml.ScalarNode, Value: "a"}, false, 0)
			return err
		}, "more values than can be read, with what its aliases stand for"},
	} {
		if err := c.do(c.most); err != nil {
			t.Errorf("%s: of %d it says %v", name, c.most, err)
		}
		if err := c.do(c.most + 1); says(err) != c.want {
			t.Errorf("%s: of %d it says %v", name, c.most+1, err)
		}
	}
}

// There are not too many notes, and an exact reader stops at the fault after the last.
func TestNotesAreBounded(t *testing.T) {
	for had, kept := range map[int]bool{maxNotes - 1: true, maxNotes: false} {
		r := reader{notes: make([]*Fault, had)}
		if r.note(0, UnknownField, "it"); (len(r.notes) > had) != kept {
			t.Errorf("of %d notes there are %d", had+1, len(r.notes))
		}
		var twice yaml.Node
		if err := yaml.Unmarshal([]byte("a: 1\na: 2\n"), &twice); err != nil {
			t.Fatal(err)
		}
		if notes := last(twice.Content[0], make([]*Fault, had)); (len(notes) > had) != kept {
			t.Errorf("of %d notes of keys there are %d", had+1, len(notes))
		}
	}
	for had, kept := range map[int]bool{maxFaults - 1: true, maxFaults: false} {
		r := reader{notes: make([]*Fault, had), exact: &Exact{}}
		if r.note(0, UnknownField, "it"); (len(r.notes) > had) != kept {
			t.Errorf("of %d notes an exact reader has %d", had+1, len(r.notes))
		}
		r = reader{lexer: lexer{data: []byte("1")}, notes: make([]*Fault, had), exact: &Exact{}}
		if err := r.value(func() *Fault { return faultf("it") }); (err == nil) != kept || (len(r.notes) > had) != kept {
			t.Errorf("of %d faults an exact reader has %d, and stops with %v", had+1, len(r.notes), err)
		}
	}
}

// The line of an error is looked for in a text that is not too long; else it is
// what the parser says.
func TestLineIsSought(t *testing.T) {
	err := errors.New("yaml: line 7: did not find expected key")
	for size, line := range map[int]int{maxSought: 1, maxSought + 1: 8} {
		if got := yamlFault(err, make([]byte, size)); got.Line != line {
			t.Errorf("in %d bytes it is line %d, want %d", size, got.Line, line)
		}
	}
}
