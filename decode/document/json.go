package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// JSON decodes a message in JSON. If it is JSON of the type with this full name, it is shown
// as any other message; otherwise as it was sent.
func JSON(name string, data []byte) Document { return Decoder{}.JSON(name, data) }

// JSON is the function of the same name.
func (d Decoder) JSON(name string, data []byte) Document {
	w := newWalker(d.Types)
	if len(strings.TrimSpace(string(data))) == 0 {
		return Document{Problems: w.problems, Missing: w.lacks}
	}
	tree, err := parseJSON(data)
	if err != nil {
		w.problem(nil, "not JSON: %v", err)
		return Document{Root: w.bytesTree(data), Problems: w.problems, Missing: w.lacks}
	}
	if name == "" {
		return Document{Root: tree, Problems: w.problems, Missing: w.lacks}
	}
	mt, err := d.Types.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		w.find(name, nil)
		return Document{Root: tree, Problems: w.problems, Missing: w.lacks}
	}
	msg := mt.New().Interface()
	if fault := lenient.JSON(data).Whole(msg, d.Types); fault != nil {
		w.problem(nil, "shown as it was sent: %v", fault)
		return Document{Root: tree, Problems: w.problems, Missing: w.lacks}
	}
	wire, err := (proto.MarshalOptions{AllowPartial: true, Deterministic: true}).Marshal(msg)
	if err != nil {
		w.problem(nil, "shown as it was sent: %v", err)
		return Document{Root: tree, Problems: w.problems, Missing: w.lacks}
	}
	return w.document(name, wire)
}

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
