package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a bootstrap may be at most. Envoy itself reads no message that is nested
// deeper than 100 levels.
const (
	MaxSize  = 16 << 20 // bytes of text
	maxDepth = 200
	maxNodes = 1 << 19 // after aliases have been resolved
	// maxMarks bounds the characters that a value of YAML cannot be without,
	// before the parser makes a tree of all of it: some 300 MB at worst.
	maxMarks = 1 << 20
)

type format int

const (
	inYAML format = iota
	inJSON
)

// parseTree reads a document into a tree without aliases and without a key that
// stands twice in one mapping.
func parseTree(name string, data []byte) (*yaml.Node, format, error) {
	if len(data) > MaxSize {
		return nil, 0, fmt.Errorf("larger than %d MiB", MaxSize>>20)
	}
	g := grower{left: maxNodes}
	switch ending := strings.ToLower(filepath.Ext(name)); {
	case ending == ".pb" || ending == ".pb_length_delimited" || ending == ".pb_text" || ending == ".pbtxt" || ending == ".textproto":
		return nil, 0, fmt.Errorf("a bootstrap in the form %s cannot be rewritten; only YAML and JSON can", ending)
	case ending == ".json", ending != ".yaml" && ending != ".yml" && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		root, err := g.json(data)
		return root, inJSON, err
	}
	root, err := g.yaml(data)
	return root, inYAML, err
}

// grower makes trees, and knows how many nodes more there may be.
type grower struct{ left int }

func (g *grower) take(depth int) error {
	g.left--
	switch {
	case g.left < 0:
		return fmt.Errorf("more than %d values, with what its aliases stand for", maxNodes)
	case depth > maxDepth:
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (g *grower) yaml(data []byte) (*yaml.Node, error) {
	marks := 0
	for _, b := range data {
		if strings.IndexByte("\n,:-?[{", b) >= 0 {
			marks++
		}
	}
	if marks > maxMarks {
		return nil, errors.New("too many values")
	}
	var doc yaml.Node
	// Like Envoy, it reads the first document and leaves the others alone.
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errors.New("empty")
	}
	root, err := g.resolve(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	// Comments before and after everything belong to the document.
	root.HeadComment = joined(doc.HeadComment, root.HeadComment)
	root.FootComment = joined(root.FootComment, doc.FootComment)
	return root, nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// resolve copies a tree, with copies of what the aliases in it stand for.
func (g *grower) resolve(n *yaml.Node, depth int) (*yaml.Node, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if err := g.take(depth); err != nil {
		return nil, err
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, c := range n.Content {
		child, err := g.resolve(c, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, child)
	}
	return &out, unique(&out)
}

// unique refuses a mapping in which a key stands twice: readers differ in which
// of the two they take.
func unique(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	seen := make(map[string]struct{}, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key that is no text", key.Line)
		}
		if ignored(key) {
			continue
		}
		if _, twice := seen[key.Value]; twice {
			if key.Line == 0 {
				return fmt.Errorf("key %q stands twice in one object", key.Value)
			}
			return fmt.Errorf("line %d: key %q stands twice in one mapping", key.Line, key.Value)
		}
		seen[key.Value] = struct{}{}
	}
	return nil
}

func (g *grower) json(data []byte) (*yaml.Node, error) {
	if !json.Valid(data) {
		var any json.RawMessage
		err := json.Unmarshal(data, &any)
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			upTo := data[:min(int(at.Offset), len(data))]
			err = fmt.Errorf("line %d: %w", bytes.Count(upTo, []byte("\n"))+1, err)
		}
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return g.value(d, 0)
}

func (g *grower) value(d *json.Decoder, depth int) (*yaml.Node, error) {
	if err := g.take(depth); err != nil {
		return nil, err
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for d.More() {
			child, err := g.value(d, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, unique(n)
}

// ignored says whether Envoy leaves out what stands under this key.
func ignored(key *yaml.Node) bool { return key.Tag == "!ignore" }

// member finds a value by its key, which is written in one way only.
func member(m *yaml.Node, key string) *yaml.Node {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key && !ignored(m.Content[i]) {
			return m.Content[i+1]
		}
	}
	return nil
}

// field finds the value of a field of a protobuf message, by its name in the
// .proto file, which may be written as lowerCamelCase as well.
func field(m *yaml.Node, name string) *yaml.Node {
	if v := member(m, name); v != nil {
		return v
	}
	return member(m, camel(name))
}

// given is field, but nil for null as well, which is how a message is not set.
func given(m *yaml.Node, name string) *yaml.Node {
	v := field(m, name)
	if v != nil && v.ShortTag() == "!!null" {
		return nil
	}
	return v
}

// text is a scalar as it is written; "" for what is none, and for null.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// items are the elements of a list; none of anything else.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func camel(name string) string {
	var b strings.Builder
	up := false
	for _, r := range name {
		switch {
		case r == '_':
			up = true
			continue
		case up && 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}

// snake is the name in the .proto file of a field that is written in either way.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// scalar is a text as a value.
func scalar(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
}

// mapping has one key.
func mapping(key string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value}}
}

// remove takes a field out of a message.
func remove(m *yaml.Node, name string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if key := m.Content[i]; !ignored(key) && (key.Value == name || key.Value == camel(name)) {
			m.Content = slices.Delete(m.Content, i, i+2)
			i -= 2
		}
	}
}

// set gives a field of a message another value.
func set(m *yaml.Node, name string, value *yaml.Node) {
	remove(m, name)
	m.Content = append(m.Content, mapping(name, value).Content...)
}
