package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/session"
)

// Documents writes entries in full: what is known of each, and its message
// decoded to the last field. It takes the entries of one session in order, and
// remembers of open streams in what form their messages are written.
type Documents struct {
	// Beside is what a person left beside an entry; it may be nil.
	Beside func(session.Seq) (marked bool, text string)

	content map[session.StreamID]*[2]string // content types of client and server
}

// NewDocuments returns a Documents that has seen nothing.
func NewDocuments() *Documents {
	return &Documents{content: make(map[session.StreamID]*[2]string)}
}

// See must be called with every entry, in order, before Document or Body is.
func (d *Documents) See(e *session.Entry) {
	switch e.Kind {
	case session.KindOpen, session.KindHeader:
		of := d.content[e.Stream]
		if of == nil {
			of = new([2]string)
			d.content[e.Stream] = of
		}
		if ct := session.Get(e.Headers, "content-type"); ct != "" {
			of[sender(e.Side)] = ct
		}
	case session.KindTrailer, session.KindCancel:
		delete(d.content, e.Stream)
	}
}

func sender(s session.Side) int {
	if s == session.Server {
		return 1
	}
	return 0
}

// Body is the message of an entry, decoded to the last field, as YAML; "" if it
// has none.
func (d *Documents) Body(e *session.Entry, c *check.Change) string {
	if e.Message == nil {
		return ""
	}
	return string((&Document{d.decoded(e, c)}).YAML())
}

// Message is the message of an entry, decoded to the last field; nothing if it
// has none.
func (d *Documents) Message(e *session.Entry, c *check.Change) document.Document {
	if e.Message == nil || e.Message.Large() {
		return document.Document{}
	}
	return d.decoded(e, c)
}

// Document decodes an entry.
func (d *Documents) Document(e *session.Entry, c *check.Change) (*Document, error) {
	o := NewObject(e, c)
	o.AddHeaders(e)
	var body *document.Tree
	var missing []string
	if e.Message != nil && !e.Message.Large() {
		doc := d.decoded(e, c)
		body, missing = &doc.Root, doc.Missing
		o.AddProblems(doc.Problems)
	}
	if d.Beside != nil {
		o.Marked, o.Remark = d.Beside(e.Seq)
	}
	root, err := treeOf(o)
	if err != nil {
		return nil, err
	}
	if body != nil {
		root.Members = append(root.Members, document.Member{Name: "message", Value: *body})
	}
	return &Document{document.Document{Root: root, Missing: missing}}, nil
}

func (d *Documents) decoded(e *session.Entry, c *check.Change) document.Document {
	data := e.Message.Data.Bytes()
	if e.Message.Compressed {
		// What compressed bytes look like is not what they say.
		return document.Document{Root: document.Tree{Members: []document.Member{{Name: "@bytes", Value: document.Tree{Kind: document.String, Text: base64.StdEncoding.EncodeToString(data)}}}}}
	}
	content := ""
	if of := d.content[e.Stream]; of != nil {
		content = of[sender(e.Side)]
	}
	return decode.Decoder{Types: c.Types}.Decode(c.Method, e.Side, content, data)
}

// Document is an entry in full.
type Document struct{ doc document.Document }

// Missing are the types that are not known in it.
func (d *Document) Missing() []string { return d.doc.Missing }

// YAML ends with a newline. What is not printable in it is escaped.
func (d *Document) YAML() []byte {
	// Such characters stand in quoted strings only, where an escape means the
	// same.
	return []byte(SafeLines(string(d.doc.YAML())))
}

// JSON is indented and ends with a newline. What is not printable in it is
// escaped.
func (d *Document) JSON() []byte { return EscapeJSON(d.doc.JSON()) }

// treeOf turns a value into a tree, in the order of its JSON form.
func treeOf(v any) (document.Tree, error) {
	text, err := marshalJSON(v, "")
	if err != nil {
		return document.Tree{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return readTree(dec)
}

func readTree(dec *json.Decoder) (document.Tree, error) {
	token, err := dec.Token()
	if err != nil {
		return document.Tree{}, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return readItems(dec)
		}
		return readMembers(dec)
	case string:
		return document.Tree{Kind: document.String, Text: v}, nil
	case json.Number:
		return document.Tree{Kind: document.Number, Text: v.String()}, nil
	case nil:
		return document.Tree{Kind: document.Word, Text: "null"}, nil
	}
	return document.Tree{Kind: document.Word, Text: fmt.Sprint(token)}, nil
}

func readItems(dec *json.Decoder) (document.Tree, error) {
	t := document.Tree{Kind: document.Array}
	for dec.More() {
		item, err := readTree(dec)
		if err != nil {
			return t, err
		}
		t.Items = append(t.Items, item)
	}
	_, err := dec.Token()
	return t, err
}

func readMembers(dec *json.Decoder) (document.Tree, error) {
	t := document.Tree{Kind: document.Object}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return t, err
		}
		value, err := readTree(dec)
		if err != nil {
			return t, err
		}
		t.Members = append(t.Members, document.Member{Name: fmt.Sprint(name), Value: value})
	}
	_, err := dec.Token()
	return t, err
}
