package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

var errTooDeep = errors.New("nested too deep")

// parseJSON reads a JSON text into a tree, members in their order.
func parseJSON(data []byte) (Tree, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	tree, err := parseValue(dec, 0)
	if err != nil {
		return Tree{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Tree{}, errors.New("more than one value")
	}
	return tree, nil
}

func parseValue(dec *json.Decoder, depth int) (Tree, error) {
	tok, err := dec.Token()
	if err != nil {
		return Tree{}, err
	}
	switch v := tok.(type) {
	case string:
		return textTree(v), nil
	case json.Number:
		return numberTree(v.String()), nil
	case bool:
		return boolTree(v), nil
	case nil:
		return nullTree(), nil
	}
	if depth >= maxDepth {
		return Tree{}, errTooDeep
	}
	t := Tree{Kind: Object}
	if tok == json.Delim('[') {
		t.Kind = Array
	}
	for dec.More() {
		name := ""
		if t.Kind == Object {
			key, err := dec.Token()
			if err != nil {
				return Tree{}, err
			}
			name, _ = key.(string)
		}
		v, err := parseValue(dec, depth+1)
		if err != nil {
			return Tree{}, err
		}
		if t.Kind == Object {
			t.add(name, v)
		} else {
			t.Items = append(t.Items, v)
		}
	}
	_, err = dec.Token() // the closing bracket
	return t, err
}
