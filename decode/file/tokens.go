package file

import (
	"errors"
	"strings"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	maxTokens = 4 << 20  // of a file, aliases of YAML expanded
	maxText   = 96 << 20 // bytes of all tokens
	// maxMends bounds what is mended of a file: each time it is read again.
	maxMends = 32
)

// token is a piece of JSON, with its place in the file. Members of an object
// are a key and a value; commas and colons are not kept.
type token struct {
	text      string // as JSON has it
	line, col int32
	key       bool
}

// text writes tokens as JSON, one a line: the line number tells the token.
func text(tokens []token) []byte {
	var b strings.Builder
	type level struct{ some bool }
	var open []level
	for i, t := range tokens {
		closing := t.text == "}" || t.text == "]"
		if n := len(open); n > 0 && !closing {
			after := i > 0 && tokens[i-1].key
			if !after && open[n-1].some {
				b.WriteByte(',')
			}
			open[n-1].some = true
		}
		b.WriteString(t.text)
		switch {
		case t.key:
			b.WriteByte(':')
		case t.text == "{" || t.text == "[":
			open = append(open, level{})
		case closing && len(open) > 0:
			open = open[:len(open)-1]
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// end is the index after the value that begins at i.
func end(tokens []token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch tokens[i].text {
		case "{", "[":
			depth++
		case "}", "]":
			depth--
		}
		if depth <= 0 && !tokens[i].key {
			return i + 1
		}
	}
	return i
}

var strict = protojson.UnmarshalOptions{RecursionLimit: maxDepth}

// fromTokens reads a DiscoveryResponse, and leaves out what Envoy leaves out.
func fromTokens(tokens []token, warnings []*Error) (Content, *Error) {
	for mends := 0; ; mends++ {
		var r discovery.DiscoveryResponse
		err := strict.Unmarshal(text(tokens), &r)
		if err == nil {
			return marshalled(&r, warnings)
		}
		c := complaintOf(err)
		i := c.line - 1
		if i < 0 || i >= len(tokens) {
			return Content{}, explained(c.error().at(0, 0))
		}
		e := c.error().at(int(tokens[i].line), int(tokens[i].col))
		if mends == maxMends {
			return Content{}, e
		}
		switch t := &tokens[i]; {
		case c.kind == troubleField && t.key:
			warnings = append(warnings, leftOut(e))
			tokens = without(tokens, i, end(tokens, i+1))
		case c.kind == troubleTwice && t.key && earlier(tokens, i) >= 0:
			warnings = append(warnings, e.hint("Envoy takes the last one"))
			j := earlier(tokens, i)
			tokens = without(tokens, j, end(tokens, j+1))
		case c.kind == troubleEnum && strings.ToUpper(t.text) != t.text: // Envoy takes both
			t.text = strings.ToUpper(t.text)
		case c.kind == troubleEnum && strings.HasPrefix(t.text, `"`):
			warnings = append(warnings, leftOut(e))
			from := i
			if i > 0 && tokens[i-1].key {
				from--
			}
			tokens = without(tokens, from, i+1)
		default:
			return Content{}, explained(e)
		}
	}
}

// earlier is the key before i, in the same object, that is another spelling of
// it; -1 if there is none.
func earlier(tokens []token, i int) int {
	bare := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	depth := 0
	for j := i - 1; j >= 0 && depth >= 0; j-- {
		switch t := tokens[j]; {
		case t.text == "}" || t.text == "]":
			depth++
		case t.text == "{" || t.text == "[":
			depth--
		case t.key && depth == 0 && bare(t.text) == bare(tokens[i].text):
			return j
		}
	}
	return -1
}

func without(tokens []token, from, to int) []token {
	return append(tokens[:from:from], tokens[to:]...)
}

func leftOut(e *Error) *Error {
	return e.hint("Envoy leaves it out and counts it in server.dynamic_unknown_fields; with --reject-unknown-dynamic-fields it rejects the file")
}

// explained adds what may be meant by a file that is something else.
func explained(e *Error) *Error {
	if e.Hint == "" && strings.Contains(e.Message, "type") && strings.Contains(e.Message, "not known") {
		return e.hint("a type that is not Envoy's own cannot be read as text; the binary form of the file can")
	}
	return e
}

// uniqueKeys leaves out the members of objects whose key comes again, as Envoy
// does, and warns of them.
func uniqueKeys(tokens []token) ([]token, []*Error) {
	type object struct{ keys map[string]int } // where the key stands in out
	var (
		out      = make([]token, 0, len(tokens))
		open     []object
		warnings []*Error
		drop     = map[int]bool{} // indexes of out
	)
	for _, t := range tokens {
		if t.key && len(open) > 0 {
			o := &open[len(open)-1]
			if o.keys == nil {
				o.keys = make(map[string]int)
			}
			if before, twice := o.keys[t.text]; twice {
				drop[before] = true
				if len(warnings) < maxMends {
					warnings = append(warnings, wrong("the key %s stands twice", clipped(t.text)).at(int(t.line), int(t.col)).
						hint("Envoy takes the last one"))
				}
			}
			o.keys[t.text] = len(out)
		}
		out = append(out, t)
		switch t.text {
		case "{", "[":
			open = append(open, object{})
		case "}", "]":
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(drop) == 0 {
		return out, nil
	}
	kept := tokens[:0]
	for i := 0; i < len(out); {
		if drop[i] {
			i = end(out, i+1)
			continue
		}
		kept = append(kept, out[i])
		i++
	}
	return kept, warnings
}

var errTooMuch = errors.New("more values than can be read, with what its aliases stand for")
