package pseudonym

import (
	"encoding/json"
	"strings"
)

// json maps the strings of a text of JSON, which otherwise stays as it is written.
// What is no JSON is not touched.
func (n *Names) json(s string, depth int) (string, bool) {
	if !json.Valid([]byte(s)) {
		return "", false
	}
	var out strings.Builder
	var scopes []bool // true: an object
	key, last, prose := false, "", false
	for i := 0; i < len(s); {
		c := s[i]
		if c != '"' {
			switch c {
			case '{', '[':
				scopes = append(scopes, c == '{')
				key = c == '{'
			case '}', ']':
				scopes = scopes[:len(scopes)-1]
			case ':':
				key = false
			case ',':
				key = len(scopes) > 0 && scopes[len(scopes)-1]
			}
			out.WriteByte(c)
			i++
			continue
		}
		end := i + 1
		for s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		end++
		var is string
		_ = json.Unmarshal([]byte(s[i:end]), &is)
		in := inValue
		switch {
		case key:
			in, last = inField, is
			prose = is == "message" || is == "details"
		case last == "regex":
			in = inPattern
		case prose:
			in = inProse
		}
		if to := n.text(is, in, depth); to == is {
			out.WriteString(s[i:end])
		} else {
			b, _ := json.Marshal(to) // a string: it does not fail
			out.Write(b)
		}
		i = end
	}
	return out.String(), true
}
