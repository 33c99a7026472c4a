package lenient

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxYAML is how large a text in YAML may be, in bytes; its tree is larger.
	MaxYAML = 16 << 20
	// maxYAMLDepth bounds what is nested in YAML, before it is JSON.
	maxYAMLDepth = 200
	// maxText is how much text it may stand for, in bytes.
	maxText  = 96 << 20
	maxNotes = 32
	// maxDirectives is how many lines may begin with a percent sign, as directives
	// do. The parser holds each against all others.
	maxDirectives = 1000
)

// Bounded says why YAML is more than its parser is to be given, which makes a
// tree of all of it before anybody can look: so the bound is on the characters
// that a value cannot be without.
func Bounded(data []byte, values int) *Fault {
	if len(data) > MaxYAML {
		return faultf("larger than %d MiB, which is too much for YAML", MaxYAML>>20)
	}
	marks, directives := 0, 0
	for i, b := range data {
		if strings.IndexByte("\n,:-?[{", b) >= 0 {
			marks++
		}
		// A line begins after a break, in whatever encoding.
		if b == '%' && (i == 0 || data[i-1] < ' ' && data[i-1] != '\t' || data[i-1] >= 0x80) {
			directives++
		}
	}
	if marks > values {
		return faultf("more values than can be read")
	}
	if directives > maxDirectives {
		return faultf("more directives than can be read")
	}
	return nil
}

// YAMLTree reads the first document of YAML, with a copy for each alias of what
// it stands for. more is a note if there is another document. It has at most so
// many values, keys among them; a value takes some 200 bytes.
func YAMLTree(data []byte, values int) (root *yaml.Node, more *Fault, err *Fault) {
	if err := Bounded(data, values); err != nil {
		return nil, nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if e := dec.Decode(&doc); e != nil {
		return nil, nil, yamlFault(e, data)
	}
	if len(doc.Content) != 1 {
		return nil, nil, faultf("empty")
	}
	r := resolver{left: values}
	if root, err = r.resolve(doc.Content[0], false, 0); err != nil {
		return nil, nil, err
	}
	// Comments before and after everything belong to the document.
	root.HeadComment = joined(doc.HeadComment, root.HeadComment)
	root.FootComment = joined(root.FootComment, doc.FootComment)
	if dec.Decode(&second) == nil && len(second.Content) > 0 {
		more = faultf("there is another document").at(second.Line, 0).is(Documents)
	}
	return root, more, nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// yamlSays says in whole sentences what the parser says in its own words. late is
// an error that the parser counts lines of from 0, and from where what is not
// complete begins.
var yamlSays = []struct {
	begins, text string
	late         bool
}{
	{"could not find expected ':'", "a colon is missing", false},
	{"did not find expected ',' or ']'", "a list in brackets is not closed, or a comma is missing", true},
	{"did not find expected ',' or '}'", "an object in braces is not closed, or a comma is missing", true},
	{"did not find expected node content", "a value is missing, or a bracket is not closed", true},
	{"did not find expected key", "a key is missing, or this does not stand below the keys that it belongs to", true},
	{"did not find expected '-' indicator", "the - of an element is missing, or this does not stand below the elements that it belongs to", true},
	{"did not find expected <document start>", "something stands behind the end of the document", true},
	{"found unexpected end of stream", "a quote is not closed", false},
	{"mapping values are not allowed", "no colon may stand here: a text with a colon in it needs quotes", false},
	{"found character that cannot start", "no value begins with this character: such a text needs quotes", false},
	{"found unknown escape character", "there is no such escape with a backslash", false},
	{"found undefined tag handle", "the tag is not known", true},
	{"unknown anchor", "an alias with * stands for nothing: such a text needs quotes", true},
}

// maxSought is how much YAML is parsed again to find the line of an error.
const maxSought = 1 << 20

// yamlFault keeps of an error the place, and of what it says what quotes
// nothing.
func yamlFault(err error, data []byte) *Fault {
	m := yamlPlace.FindStringSubmatch(err.Error())
	if m == nil {
		return faultf("empty")
	}
	line, _ := strconv.Atoi(m[1])
	what, late := "", line == 0
	for _, s := range yamlSays {
		if strings.HasPrefix(m[2], s.begins) {
			what, late = s.text, late || s.late
			break
		}
	}
	if what == "" {
		what, _, _ = strings.Cut(m[2], `"`)
		what, _, _ = strings.Cut(what, "'")
		if what = strings.Trim(what, " :"); what == "" {
			what = "not YAML"
		}
	}
	if late && len(data) <= maxSought {
		line = lineOf(err, data)
	} else if late && line > 0 {
		line++
	}
	return faultf("%s", what).at(line, 0)
}

// lineOf is the first line with which the parser complains of the same.
func lineOf(err error, data []byte) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	ends := make([]int, len(lines))
	end := 0
	for i, l := range lines {
		end += len(l)
		ends[i] = end
	}
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		var doc yaml.Node
		e := yaml.NewDecoder(bytes.NewReader(data[:ends[i]])).Decode(&doc)
		return e != nil && e.Error() == err.Error()
	})
}

// resolver takes the aliases out of a tree.
type resolver struct{ left, text int }

func (r *resolver) resolve(n *yaml.Node, again bool, depth int) (*yaml.Node, *Fault) {
	for n.Kind == yaml.AliasNode {
		n, again = n.Alias, true
	}
	r.left--
	r.text += len(n.Value)
	switch {
	case r.left < 0 || r.text > maxText:
		return nil, faultf("more values than can be read, with what its aliases stand for").at(n.Line, 0)
	case depth > maxYAMLDepth:
		return nil, faultf("nested too deep").at(n.Line, 0)
	}
	if again {
		c := *n
		c.Content = append([]*yaml.Node(nil), n.Content...)
		n = &c
	}
	n.Anchor = ""
	for i, c := range n.Content {
		child, err := r.resolve(c, again, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content[i] = child
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind != yaml.ScalarNode {
			return nil, faultf("a key that is not a text").at(child.Line, 0)
		}
	}
	return n, nil
}

// Ignored says whether Envoy leaves out what stands under this key.
func Ignored(key *yaml.Node) bool { return key.Tag == "!ignore" }

// YAML makes JSON of YAML. The notes are of what Envoy reads in another way than
// it is written.
func YAML(data []byte, values int) (Text, *Fault) {
	root, more, err := YAMLTree(data, values)
	if err == nil && root.Kind == yaml.ScalarNode {
		err = faultf("no mapping")
	}
	if err != nil {
		return Text{}, err
	}
	notes := Last(root)
	if more != nil {
		notes = append(notes, more)
	}
	var w jsonWriter
	w.value(root)
	return Text{json: w.out, notes: notes, place: w.place}, nil
}

// jsonWriter writes a tree without aliases and double keys as JSON, and knows
// where its parts stood.
type jsonWriter struct {
	out    []byte
	places []place
	exact  bool // numbers stay what they are
}

type place struct{ offset, line, col int32 }

// place is that of the last value or key that begins at an offset or before.
func (w *jsonWriter) place(offset int) (line, col int) {
	i := sort.Search(len(w.places), func(i int) bool { return int(w.places[i].offset) > offset })
	if i == 0 {
		return 0, 0
	}
	return int(w.places[i-1].line), int(w.places[i-1].col)
}

func (w *jsonWriter) value(n *yaml.Node) {
	w.places = append(w.places, place{int32(len(w.out)), int32(n.Line), int32(n.Column)})
	switch n.Kind {
	case yaml.ScalarNode:
		if w.exact && plainNumber(n) {
			w.out = append(w.out, n.Value...)
			break
		}
		w.out = append(w.out, scalar(n)...)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, c := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.value(c)
		}
		w.out = append(w.out, ']')
	default:
		w.mapping(n)
	}
}

func (w *jsonWriter) mapping(n *yaml.Node) {
	w.out = append(w.out, '{')
	some := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if Ignored(key) {
			continue
		}
		if some {
			w.out = append(w.out, ',')
		}
		some = true
		w.places = append(w.places, place{int32(len(w.out)), int32(key.Line), int32(key.Column)})
		w.out = append(append(w.out, quotedJSON(keyText(key))...), ':')
		w.value(n.Content[i+1])
	}
	w.out = append(w.out, '}')
}

// Last leaves of the keys that stand twice in one mapping of YAML the last, as
// Envoy does, and notes them.
func Last(n *yaml.Node) []*Fault { return last(n, nil) }

func last(n *yaml.Node, notes []*Fault) []*Fault {
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			notes = last(c, notes)
		}
		return notes
	}
	at := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if Ignored(key) {
			continue
		}
		name := keyText(key)
		if _, twice := at[name]; twice && len(notes) < maxNotes {
			notes = append(notes, faultf("the key %s stands twice", Quoted(name)).at(key.Line, key.Column).is(TwiceLast))
		}
		at[name] = i
	}
	kept := n.Content[:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !Ignored(key) {
			if at[keyText(key)] != i {
				continue
			}
			notes = last(value, notes)
		}
		kept = append(kept, key, value)
	}
	n.Content = kept
	return notes
}

func keyText(key *yaml.Node) string {
	if scalar(key) == "null" {
		return "null"
	}
	return key.Value
}

// quotes are the styles of a text that is nothing else.
const quotes = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar is a value as Envoy takes it.
func scalar(n *yaml.Node) string {
	v, tagged := n.Value, n.Style&yaml.TaggedStyle != 0 // with a tag, quotes say nothing
	switch v {
	case "", "~", "null", "Null", "NULL":
		if !tagged && n.Style&quotes == 0 {
			return "null"
		}
		return quotedJSON(v)
	}
	if !tagged && n.Style&quotes != 0 {
		return quotedJSON(v)
	}
	// yaml-cpp takes a word in lower case, in capitals, or with one capital.
	if low := strings.ToLower(v); v == low || v == strings.ToUpper(v) || v == strings.ToUpper(v[:1])+low[1:] {
		switch low {
		case "y", "yes", "true", "on":
			return "true"
		case "n", "no", "false", "off":
			return "false"
		}
	}
	if i, ok := integer(v); ok {
		text := strconv.FormatInt(i, 10)
		if i < math.MinInt32 || i > math.MaxInt32 {
			return quotedJSON(text)
		}
		return text
	}
	return quotedJSON(v)
}

// integer reads what C++ reads from a stream: decimal, 0x and 0 for octal.
func integer(v string) (int64, bool) {
	digits := strings.TrimLeft(v, "+-")
	if len(v)-len(digits) > 1 || strings.ContainsAny(v, "_oObB") && !strings.HasPrefix(strings.ToLower(digits), "0x") || strings.Contains(v, "_") {
		return 0, false
	}
	i, err := strconv.ParseInt(v, 0, 64)
	return i, err == nil
}

// quotedJSON is a text as JSON has it.
func quotedJSON(s string) string {
	text, _ := json.Marshal(s) // a string can always be written
	return string(text)
}
