package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
)

// readJSON reads a file of JSON. Only if something has to be left out, or
// stands twice, it is taken apart.
func readJSON(data []byte) (Content, *Error) {
	var (
		r        discovery.DiscoveryResponse
		warnings []*Error
	)
	err := strict.Unmarshal(data, &r)
	if err != nil {
		if bare, at := withoutLastCommas(data); at >= 0 {
			p := places{data: data}
			p.goTo(int64(at))
			warnings = append(warnings, wrong("a comma before the end of a list").at(p.line, p.col()).
				hint("Envoy lets it pass; other readers of JSON do not"))
			data, err = bare, strict.Unmarshal(bare, &r)
		}
	}
	if err == nil {
		return marshalled(&r, warnings)
	}
	c := complaintOf(err)
	if c.kind == troubleOther || c.kind == troubleType {
		return Content{}, explained(c.error())
	}
	tokens, failure := tokensOf(data)
	if failure != nil {
		return Content{}, failure
	}
	tokens, more := uniqueKeys(tokens)
	return fromTokens(tokens, append(warnings, more...))
}

// withoutLastCommas puts spaces where commas stand before a closing bracket, in a
// copy. It says where the first of them is, -1 if there is none.
func withoutLastCommas(data []byte) (bare []byte, first int) {
	comma, quoted := -1, false
	first = -1
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, comma = !quoted, -1
		case quoted || c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			if first < 0 {
				bare, first = bytes.Clone(data), comma
			}
			bare[comma], comma = ' ', -1
		default:
			comma = -1
		}
	}
	return bare, first
}

// tokensOf takes JSON apart.
func tokensOf(data []byte) ([]token, *Error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	type level struct{ object, value bool } // value: it is a value's turn
	var (
		out  []token
		open []level
		p    = places{data: data}
	)
	for {
		from := dec.InputOffset()
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		p.goTo(from)
		if err != nil {
			return nil, wrong("syntax error").at(p.line, p.col())
		}
		if len(out) >= maxTokens || len(open) > maxDepth {
			return nil, wrong("more values than can be read").at(p.line, p.col())
		}
		p.skip()
		t := token{line: int32(p.line), col: int32(p.col())}
		var inside *level
		if len(open) > 0 {
			inside = &open[len(open)-1]
		}
		switch v := tok.(type) {
		case json.Delim:
			t.text = v.String()
		case string:
			t.text = quotedJSON(v)
			t.key = inside != nil && inside.object && !inside.value
		case json.Number:
			t.text = v.String()
		case bool:
			t.text = "false"
			if v {
				t.text = "true"
			}
		case nil:
			t.text = "null"
		}
		out = append(out, t)
		switch t.text {
		case "{", "[":
			open = append(open, level{object: t.text == "{"})
			continue
		case "}", "]":
			open = open[:len(open)-1]
			if len(open) == 0 {
				continue
			}
			inside = &open[len(open)-1]
		}
		if inside != nil && inside.object {
			inside.value = t.key
		}
	}
}

// places counts lines on the way through a text.
type places struct {
	data      []byte
	off, from int // from: where the line begins
	line      int
}

// goTo goes to an offset, which is not before the present one.
func (p *places) goTo(off int64) {
	p.line = max(p.line, 1)
	for p.off < int(off) && p.off < len(p.data) {
		p.step()
	}
}

// skip goes to what is a token.
func (p *places) skip() {
	for p.off < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[p.off]) >= 0 {
		p.step()
	}
}

func (p *places) step() {
	if p.data[p.off] == '\n' {
		p.line, p.from = p.line+1, p.off+1
	}
	p.off++
}

func (p *places) col() int {
	const most = 1 << 12 // a line may be the whole file
	return utf8.RuneCount(p.data[max(p.from, p.off-most):p.off]) + max(0, p.off-most-p.from) + 1
}

// readText reads the text form of protobuf, in which Envoy forgives nothing.
func readText(data []byte) (Content, *Error) {
	var r discovery.DiscoveryResponse
	if err := (prototext.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(data, &r); err != nil {
		return Content{}, complaintOf(err).error()
	}
	return marshalled(&r, nil)
}
