package lenient

import (
	"go.yaml.in/yaml/v3"
)

// JSONTree reads JSON into a tree of the same kind as YAMLTree does. Numbers are
// as they are written.
func JSONTree(data []byte, values int) (*yaml.Node, *Fault) {
	g := grower{lexer: lexer{data: data}, left: values}
	root, err := g.value()
	if err == nil && g.space() != 0 {
		err = g.syntax()
	}
	return root, err
}

// Keys are those at the top of a text in YAML or JSON; nil if it cannot be read, or is
// no mapping.
func Keys(data []byte, json bool, values int) (keys []string) {
	var root *yaml.Node
	var err *Fault
	if json {
		root, err = JSONTree(data, values)
	} else {
		root, _, err = YAMLTree(data, values)
	}
	if err != nil || root == nil || root.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		keys = append(keys, root.Content[i].Value)
	}
	return keys
}

type grower struct {
	lexer
	left int
}

func (g *grower) value() (*yaml.Node, *Fault) {
	c := g.space()
	if g.left--; g.left < 0 {
		return nil, g.wrong(g.pos, "more values than can be read")
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	from := g.pos
	var err *Fault
	switch {
	case c == '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		err = g.object(func(key string, at int) *Fault {
			g.left--
			v, err := g.value()
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, v)
			return err
		})
	case c == '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		err = g.list(func() *Fault {
			v, err := g.value()
			n.Content = append(n.Content, v)
			return err
		})
	case c == '"' || c == '\'':
		n.Tag = "!!str"
		n.Value, err = g.text()
	case isNumber(c):
		n.Tag = "!!float"
		n.Value, err = g.number()
	default:
		err = g.skip()
		n.Tag, n.Value = "!!bool", string(g.data[from:g.pos])
		if c == 'n' {
			n.Tag = "!!null"
		}
	}
	return n, err
}

// Unique refuses a tree with a key that stands twice in one mapping.
func Unique(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]struct{}, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if Ignored(key) {
				continue
			}
			if _, twice := seen[key.Value]; twice {
				in := "mapping"
				if key.Line == 0 {
					in = "object"
				}
				return faultf("key %q stands twice in one %s", key.Value, in).at(key.Line, 0)
			}
			seen[key.Value] = struct{}{}
		}
	}
	for _, c := range n.Content {
		if err := Unique(c); err != nil {
			return err
		}
	}
	return nil
}
