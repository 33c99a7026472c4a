package document

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Tree is a decoded value: a JSON value whose members keep their order.
type Tree struct {
	Kind    TreeKind
	Text    string   // of a String: itself; of a Number or a Word: as it is written
	Members []Member // of an Object
	Items   []Tree   // of an Array
}

// Member is one member of an Object.
type Member struct {
	Name  string
	Value Tree
}

// TreeKind is what a Tree is.
type TreeKind uint8

// A Word is true, false or null.
const (
	Object TreeKind = iota
	Array
	String
	Number
	Word
)

// Get returns the member called name, if the tree is an object that has it.
func (t *Tree) Get(name string) (*Tree, bool) {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i].Value, true
		}
	}
	return nil, false
}

func (t *Tree) add(name string, v Tree) { t.Members = append(t.Members, Member{name, v}) }

func textTree(s string) Tree   { return Tree{Kind: String, Text: s} }
func numberTree(s string) Tree { return Tree{Kind: Number, Text: s} }
func nullTree() Tree           { return Tree{Kind: Word, Text: "null"} }

func boolTree(v bool) Tree { return Tree{Kind: Word, Text: strconv.FormatBool(v)} }

func base64Tree(b []byte) Tree { return textTree(base64.StdEncoding.EncodeToString(b)) }

// floatTree writes a float as JSON does; what JSON has no number for is a
// string.
func floatTree(f float64, bits int) Tree {
	switch {
	case math.IsNaN(f):
		return textTree("NaN")
	case math.IsInf(f, 1):
		return textTree("Infinity")
	case math.IsInf(f, -1):
		return textTree("-Infinity")
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return numberTree(strconv.FormatFloat(f, format, -1, bits))
}

// JSON writes the document as indented JSON, with a newline at the end.
func (d Document) JSON() []byte { return append(appendJSON(nil, &d.Root, "", "  "), '\n') }

// Compact writes the document as JSON on one line, without a newline.
func (d Document) Compact() []byte { return appendJSON(nil, &d.Root, "", "") }

// appendJSON writes a tree. Without a step of indentation all is on one line.
func appendJSON(out []byte, t *Tree, indent, step string) []byte {
	open, end, n := byte('{'), byte('}'), len(t.Members)
	switch t.Kind {
	case String:
		return appendQuoted(out, t.Text)
	case Number, Word:
		return append(out, t.Text...)
	case Array:
		open, end, n = '[', ']', len(t.Items)
	}
	out = append(out, open)
	inner := indent + step
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if step != "" {
			out = append(append(out, '\n'), inner...)
		}
		if t.Kind == Array {
			out = appendJSON(out, &t.Items[i], inner, step)
			continue
		}
		out = append(appendQuoted(out, t.Members[i].Name), ':')
		if step != "" {
			out = append(out, ' ')
		}
		out = appendJSON(out, &t.Members[i].Value, inner, step)
	}
	if n > 0 && step != "" {
		out = append(append(out, '\n'), indent...)
	}
	return append(out, end)
}

// appendQuoted writes a JSON string, which is a double-quoted string of YAML
// too.
func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				out = append(out, '\\', c)
			case c == '\n':
				out = append(out, '\\', 'n')
			case c == '\r':
				out = append(out, '\\', 'r')
			case c == '\t':
				out = append(out, '\\', 't')
			case c < ' ' || c == 0x7f:
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				out = append(out, c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0x80 && r < 0xa0:
			out = append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			out = append(out, s[i:i+n]...)
		}
		i += n
	}
	return append(out, '"')
}

// isYAMLWord says whether YAML reads a plain word as something other than a
// string, in any of its versions.
func isYAMLWord(s string) bool {
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan":
		return true
	}
	return false
}
