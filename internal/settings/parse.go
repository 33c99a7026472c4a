package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// listenersKey is the key of the file under which the listeners stand.
const listenersKey = "listeners"

// maxListeners is how many a file may have.
const maxListeners = 1000

// fileDoc is a configuration file as it was written, with no meaning yet.
type fileDoc struct {
	keys      []fileKey
	listeners []fileListener
}

// fileListener is one item of the list of listeners.
type fileListener struct {
	keys []fileKey
	line int
}

// fileKey is a key with its value, or its values.
type fileKey struct {
	name  string
	texts []string
	list  bool // it was written as a list
	line  int
}

// parseConfig reads a mapping of keys to scalars or lists of scalars, and under
// listeners a list of such mappings. A key that stands there twice is an error.
// What comes back is at most as large as the text: aliases of anything but a
// scalar are refused.
func parseConfig(text []byte) (fileDoc, error) {
	var doc fileDoc
	if len(text) > MaxConfigFile {
		return doc, fmt.Errorf("larger than %d bytes", MaxConfigFile)
	}
	if fault := lenient.Bounded(text, MaxConfigFile); fault != nil {
		return doc, fault
	}
	var root, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF): // an empty file
		return doc, nil
	case err != nil:
		return doc, yamlError(err)
	}
	if err := dec.Decode(&more); err == nil {
		return doc, fmt.Errorf("line %d: a second document; there must be one", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return doc, yamlError(err)
	}
	top := root.Content[0]
	if isNull(top) {
		return doc, nil
	}
	err := eachKey(top, "", func(k fileKey, value *yaml.Node) (err error) {
		if k.name == listenersKey {
			doc.listeners, err = parseListeners(value)
			return err
		}
		if err := k.read(value, k.name); err != nil {
			return err
		}
		doc.keys = append(doc.keys, k)
		return nil
	})
	if err != nil {
		return fileDoc{}, err
	}
	return doc, nil
}

func parseListeners(list *yaml.Node) ([]fileListener, error) {
	switch {
	case list.Kind != yaml.SequenceNode:
		return nil, fmt.Errorf("line %d: %s: not a list of listeners", list.Line, listenersKey)
	case len(list.Content) == 0:
		return nil, fmt.Errorf("line %d: %s: an empty list; leave it out, or name one", list.Line, listenersKey)
	case len(list.Content) > maxListeners:
		return nil, fmt.Errorf("line %d: %s: more than %d", list.Line, listenersKey, maxListeners)
	}
	var listeners []fileListener
	for i, item := range list.Content {
		l := fileListener{line: item.Line}
		err := eachKey(item, placeOf(i), func(k fileKey, value *yaml.Node) error {
			if err := k.read(value, placeOf(i)+"."+k.name); err != nil {
				return err
			}
			l.keys = append(l.keys, k)
			return nil
		})
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// placeOf names an item of the list of listeners.
func placeOf(i int) string { return fmt.Sprintf("%s[%d]", listenersKey, i) }

// eachKey calls do for each key of a mapping, in its order. place names the
// mapping; "" is the file.
func eachKey(n *yaml.Node, place string, do func(k fileKey, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		if place != "" {
			place += ": "
		}
		return fmt.Errorf("line %d: %snot a mapping of keys to values", n.Line, place)
	}
	if place != "" {
		place += "."
	}
	first := map[string]int{} // the line where a key stands
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key that is no word", key.Line)
		}
		if line, twice := first[key.Value]; twice {
			return fmt.Errorf("line %d: %s%s is already set in line %d", key.Line, place, strconv.Quote(key.Value), line)
		}
		first[key.Value] = key.Line
		if err := do(fileKey{name: key.Value, line: key.Line}, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// read takes the value of a key, which is a scalar or a list of scalars.
func (k *fileKey) read(value *yaml.Node, place string) error {
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		items, k.list = value.Content, true
	}
	for _, n := range items {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch {
		case n.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: %s: neither a value nor a list of values", k.line, strconv.Quote(place))
		case isNull(n):
			return fmt.Errorf("line %d: %s has no value", k.line, strconv.Quote(place))
		case n.Tag == "!!binary":
			return fmt.Errorf("line %d: %s: a value that is no text", k.line, strconv.Quote(place))
		}
		k.texts = append(k.texts, n.Value)
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// yamlError is what the parser says, on one line and without its name.
func yamlError(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
}
