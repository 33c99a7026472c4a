package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Bytes writes the document, in the format in which it came. It is read again
// and compared first: nothing but the addresses may be different.
func (d *Document) Bytes() ([]byte, error) {
	var (
		out  bytes.Buffer
		name string
	)
	if d.format == inJSON {
		name = "x.json"
		if err := writeJSON(&out, d.root, ""); err != nil {
			return nil, err
		}
		out.WriteByte('\n')
	} else {
		name = "x.yaml"
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := e.Encode(d.root); err != nil {
			return nil, err
		}
		if err := e.Close(); err != nil {
			return nil, err
		}
	}
	again, _, err := parseTree(name, out.Bytes())
	if err == nil {
		err = differ(d.root, again)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be written again so that it says the same: %w", err)
	}
	return out.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, n *yaml.Node, indent string) error {
	inner := indent + "  "
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		open, end, step := byte('['), byte(']'), 1
		if n.Kind == yaml.MappingNode {
			open, end, step = '{', '}', 2
		}
		b.WriteByte(open)
		for i := 0; i+step <= len(n.Content); i += step {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n" + inner)
			if step == 2 {
				if err := writeJSON(b, n.Content[i], inner); err != nil {
					return err
				}
				b.WriteString(": ")
			}
			if err := writeJSON(b, n.Content[i+step-1], inner); err != nil {
				return err
			}
		}
		if len(n.Content) > 0 {
			b.WriteString("\n" + indent)
		}
		b.WriteByte(end)
	case yaml.ScalarNode:
		if n.Tag != "!!str" {
			b.WriteString(n.Value)
			return nil
		}
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(n.Value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the line feed that Encode adds
	default:
		return errors.New("a value that is none of JSON's")
	}
	return nil
}

// differ says where two trees do not say the same.
func differ(a, b *yaml.Node) error {
	if a.Kind != b.Kind || a.Kind == yaml.ScalarNode && (a.Value != b.Value || !alike(a.ShortTag(), b.ShortTag())) || len(a.Content) != len(b.Content) {
		return fmt.Errorf("line %d: a value would change", a.Line)
	}
	for i := range a.Content {
		if err := differ(a.Content[i], b.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// alike says whether two tags are the same; the kinds of numbers are.
func alike(a, b string) bool {
	number := func(t string) bool { return t == "!!int" || t == "!!float" }
	return a == b || number(a) && number(b)
}
