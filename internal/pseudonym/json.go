package pseudonym

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// isNumber says whether a number in JSON may hold c.
func isNumber(c byte) bool { return isDigit(c) || strings.IndexByte("+-.eE", c) >= 0 }

// json maps the strings of a text of JSON, which otherwise stays as it is written,
// and whole numbers in it that may name something: not those of a message of the API,
// which depth 0 is. What is no JSON is not touched.
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
			if !isDigit(c) || depth == 0 || i > 0 && isNumber(s[i-1]) {
				out.WriteByte(c)
				i++
				continue
			}
			end := i
			for end < len(s) && isNumber(s[end]) {
				end++
			}
			if number := s[i:end]; strings.Trim(number, "0123456789") == "" {
				out.WriteString(n.text(number, inValue, depth))
			} else {
				out.WriteString(number)
			}
			i = end
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
		to := ""
		if last == "n" && !key && len(is) >= leastModulus {
			to = n.modulus(is)
		} else {
			to = n.text(is, in, depth)
		}
		if to == is {
			out.WriteString(s[i:end])
		} else {
			b, _ := json.Marshal(to) // a string: it does not fail
			out.Write(b)
		}
		i = end
	}
	return out.String(), true
}

// leastModulus is how long the modulus of an RSA key is at least, in base64.
const leastModulus = 86

// modulus stands for that of a public key in a JSON web key: it is as long, and odd,
// or no client takes it.
func (n *Names) modulus(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return n.text(s, inValue, maxNested)
	}
	if n.leak != nil || !n.settled {
		return s
	}
	b = n.opaque(b)
	b[0] |= 0x80
	b[len(b)-1] |= 1
	return base64.RawURLEncoding.EncodeToString(b)
}
