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
		"size of YAML": {MaxYAML, func(n int) *Fault { return Bounded(bytes.Repeat([]byte("#"), n), 1) }, "larger than 16 MiB, which is too much for YAML"},
		"directives":   {maxDirectives, func(n int) *Fault { return Bounded(bytes.Repeat([]byte("%\n"), n), n) }, "more directives than can be read"},
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

// Values of YAML are counted by what stands before or between them, line breaks among it.
func TestMarksOfYAML(t *testing.T) {
	for _, mark := range []string{"\n", ",", ":", "-", "?", "[", "{"} {
		for n, want := range map[int]string{7: "", 8: "more values than can be read"} {
			if err := Bounded([]byte(strings.Repeat("a"+mark, n)+"]}%#"), 7); says(err) != want {
				t.Errorf("of %d %q it says %v", n, mark, err)
			}
		}
	}
}

// A percent sign is one of a directive where a line may begin, in whatever encoding.
func TestPercentSigns(t *testing.T) {
	for text, counts := range map[string]bool{
		"%\n": true, "\n%\t": true, "\r% ": true, "\x00%\x00": true, "\x1f%": true, "\x80%": true, "\xa8%": true, "\xff%": true,
		"\t%a": false, " %": false, "a%": false, "\x7f%": false, "\n %": false,
	} {
		if err := Bounded([]byte(strings.Repeat(text, maxDirectives+1)), 1<<20); (says(err) == "more directives than can be read") != counts {
			t.Errorf("%q, many times: %v", text, err)
		}
	}
}

// What stands side by side is not nested.
func TestSiblingsAreNotNested(t *testing.T) {
	for _, one := range []string{"{}", "[]", `{"a":{"b":1}}`, "[[1]]"} {
		text := "[" + strings.Repeat(one+",", 3*maxMessages) + one + "]"
		var v structpb.Value
		if _, err := JSON([]byte(text)).Into(&v, nil); err != nil || len(v.GetListValue().GetValues()) != 3*maxMessages+1 {
			t.Errorf("many of %s: %v", one, err)
		}
		if err := (&lexer{data: []byte(text)}).skip(); err != nil {
			t.Errorf("many of %s, left out: %v", one, err)
		}
	}
	for n, want := range map[int]string{maxYAMLDepth + 1: "", maxYAMLDepth + 2: "nested too deep"} {
		if _, _, err := YAMLTree([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), 1<<12); says(err) != want {
			t.Errorf("%d lists in each other: %v", n, err)
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
	for says, lines := range map[string]map[int]int{
		"yaml: line 7: did not find expected key": {maxSought: 1, maxSought + 1: 8},
		"yaml: did not find expected key":         {maxSought: 1, maxSought + 1: 0}, // it says none
	} {
		for size, line := range lines {
			if got := yamlFault(errors.New(says), make([]byte, size)); got.Line != line {
				t.Errorf("%s: in %d bytes it is line %d, want %d", says, size, got.Line, line)
			}
		}
	}
}
