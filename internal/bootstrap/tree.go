package bootstrap

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// What a bootstrap may be at most.
const (
	MaxSize   = 16 << 20 // bytes of text
	maxValues = 1 << 20  // after aliases have been resolved, keys among them
	// What is not bounded by its size alone, since more is done with each.
	maxServers    = 1000
	maxUses       = 100      // of one server
	maxExpression = 16 << 10 // bytes of a regular expression
)

type format int

const (
	inYAML format = iota
	inJSON
)

// formatOf says what a document is in. The name says so by its ending; where it
// does not, the text does.
func formatOf(name string, data []byte) (format, error) {
	if len(data) > MaxSize {
		return 0, fmt.Errorf("larger than %d MiB", MaxSize>>20)
	}
	switch ending := strings.ToLower(filepath.Ext(name)); {
	case ending == ".pb" || ending == ".pb_length_delimited" || ending == ".pb_text" || ending == ".pbtxt" || ending == ".textproto":
		return 0, fmt.Errorf("a bootstrap in the form %s cannot be rewritten; only YAML and JSON can", ending)
	case ending == ".json", ending != ".yaml" && ending != ".yml" && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		return inJSON, nil
	}
	return inYAML, nil
}

// parseTree reads a document into a tree without aliases and without a key that
// stands twice in one mapping. Of Envoy's it keeps what Envoy takes: in YAML the
// last, in JSON what its types say. Readers of gRPC's differ.
func parseTree(name string, data []byte) (*yaml.Node, format, error) {
	form, err := formatOf(name, data)
	if err != nil {
		return nil, 0, err
	}
	var (
		root  *yaml.Node
		fault *lenient.Fault
	)
	if form == inJSON {
		root, fault = lenient.JSONTree(data, maxValues)
	} else {
		root, _, fault = lenient.YAMLTree(data, maxValues)
	}
	if fault != nil {
		return nil, 0, fault
	}
	twice := lenient.Unique(root)
	switch {
	case twice == nil:
	case member(root, "xds_servers") != nil || member(root, "authorities") != nil:
	case form == inYAML:
		lenient.Last(root)
		twice = nil
	default:
		single, err := Merge(name, data, "{}")
		if err != nil {
			break // its types are not known
		}
		if root, fault = lenient.JSONTree(single, maxValues); fault != nil {
			return nil, 0, fault
		}
		twice = nil
	}
	return root, form, twice
}

// member finds a value by its key, which is written in one way only.
func member(m *yaml.Node, key string) *yaml.Node {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key && !lenient.Ignored(m.Content[i]) {
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

// word is a word of an enum, which may be written in any case, or its number.
func word(n *yaml.Node) string {
	if number, ok := lenient.Number(n); ok {
		return strconv.FormatUint(uint64(number), 10)
	}
	return strings.ToUpper(text(n))
}

// items are the elements of a list. As in Envoy, one element may stand for a list
// of it, and lists in lists are one list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	flat := n.Content[:0:0]
	for _, c := range n.Content {
		flat = append(flat, items(c)...)
	}
	return flat
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
		if key := m.Content[i]; !lenient.Ignored(key) && (key.Value == name || key.Value == camel(name)) {
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
