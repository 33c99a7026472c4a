package pseudonym

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// place says what a text stands for, where its field says so.
type place uint8

const (
	inValue place = iota
	inKey         // of a Struct, of which parts of the configuration say it again as a value
	inField       // of an object that stands for a message of the API
	inAgent       // the name of a program, or of a part of Envoy
	inProse       // what people read: errors, above all
	inPattern
	inHeader // the name of a header field
)

// maxNested is how deep texts are followed into others.
const maxNested = 16

// text maps a text.
func (n *Names) text(s string, in place, depth int) string {
	if in != inPattern {
		s = unescaped(s)
	}
	if n.leak != nil {
		n.leak(s, in)
		if strings.Contains(s, "-----BEGIN ") {
			n.pem(s)
		} else if depth < maxNested && (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) {
			n.json(s, depth+1)
		}
		return s
	}
	switch {
	case in == inKey && n.typed:
		in = inField
	}
	switch {
	case s == "", in == inKey && n.vocab.key(s), in == inField && n.vocab.field(s), in == inHeader && n.vocab.headers[lower(s)]:
		return s
	case in != inProse && n.vocab.value(s):
		return s
	case in == inAgent:
		return n.agent(s)
	case in == inPattern:
		return n.strict(s, pattern)
	}
	if depth < maxNested && (s[0] == '{' || s[0] == '[' || s[0] == ' ' || s[0] == '\n') {
		if out, ok := n.json(s, depth+1); ok {
			return out
		}
	}
	if strings.Contains(s, "-----BEGIN ") {
		return n.pem(s)
	}
	if in == inProse {
		return n.prose(s)
	}
	if isScript(s) {
		return n.prose(s) // of which not even known words may be replaced
	}
	n.whole(s)
	if strings.ContainsAny(s, "\n\t") || strings.Count(s, " ") > 1 || strings.HasPrefix(s, "%") || strings.Contains(s, " %") {
		// A program, a format, YAML: its words have a meaning, where the whole does not stay.
		// While names are learnt, those of the whole are learnt, too.
		if out := n.prose(s); out != s && n.settled {
			return out
		}
	}
	return n.strict(s, plain)
}

// isScript says whether a text is a script in Lua, which defines what Envoy calls.
func isScript(s string) bool {
	return strings.Contains(s, "function envoy_on_re") && strings.Contains(s, "end")
}

// unescaped is a text without the escapes of URLs and of grpc-message for letters
// of other scripts, which would stay: what stands for these letters needs none.
func unescaped(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	var out strings.Builder
	for i := at; i < len(s); {
		var run []byte
		end := i
		for ; escape(s[end:]) == 3 && s[end] == '%' && s[end+1] >= '8'; end += 3 {
			b, _ := strconv.ParseUint(s[end+1:end+3], 16, 8)
			run = append(run, byte(b))
		}
		if len(run) > 0 && utf8.Valid(run) {
			out.Write(run)
			i = end
			continue
		}
		end = max(end, i+1)
		out.WriteString(s[i:end])
		i = end
	}
	return s[:at] + out.String()
}

// bytes maps the value of a field of bytes.
func (n *Names) bytes(b []byte, depth int) []byte {
	if len(b) == 0 {
		return b
	}
	if isText(b) {
		return []byte(n.text(string(b), inValue, depth))
	}
	if n.leak != nil || !n.settled {
		return b
	}
	return n.opaque(b)
}

// opaque is what stands for bytes that cannot be read: as many others, which are
// the same for the same bytes.
func (n *Names) opaque(b []byte) []byte {
	if n.leak != nil || !n.settled {
		return b
	}
	n.random.reset("bytes", 0, string(b))
	out := make([]byte, len(b))
	for i := range out {
		out[i] = n.random.next()
	}
	return out
}

func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
