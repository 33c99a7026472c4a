package document

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// YAML writes the document as YAML. Strings are plain where no reader of YAML
// 1.1 or 1.2 can take them for something else, texts of several lines are
// literal blocks, and everything else is quoted as in JSON.
func (d Document) YAML() []byte {
	if len(d.Root.Members) == 0 && d.Root.Kind == Object {
		return []byte("{}\n")
	}
	return appendYAML(nil, &d.Root, "")
}

// appendYAML writes a block whose lines begin with indent; the first one is
// indented already. It ends with a newline.
func appendYAML(out []byte, t *Tree, indent string) []byte {
	switch {
	case t.Kind == Object && len(t.Members) > 0:
		for i := range t.Members {
			if i > 0 {
				out = append(out, indent...)
			}
			m := &t.Members[i]
			if len(m.Name) > maxSimpleKey {
				out = appendLongKey(out, m, indent)
				continue
			}
			out = append(appendScalar(out, m.Name), ':')
			switch v := &m.Value; {
			case v.Kind == Object && len(v.Members) > 0:
				out = append(append(out, '\n'), indent...)
				out = appendYAML(append(out, "  "...), v, indent+"  ")
			case v.Kind == Array && len(v.Items) > 0:
				out = append(append(out, '\n'), indent...)
				out = appendYAML(out, v, indent)
			default:
				out = appendYAML(append(out, ' '), v, indent+"  ")
			}
		}
		return out
	case t.Kind == Array && len(t.Items) > 0:
		for i := range t.Items {
			if i > 0 {
				out = append(out, indent...)
			}
			out = appendYAML(append(out, "- "...), &t.Items[i], indent+"  ")
		}
		return out
	case t.Kind == Object:
		return append(out, "{}\n"...)
	case t.Kind == Array:
		return append(out, "[]\n"...)
	case t.Kind == String && isBlock(t.Text) && indent != "":
		return appendBlock(out, t.Text, indent)
	case t.Kind == String:
		return append(appendScalar(out, t.Text), '\n')
	}
	return append(append(out, t.Text...), '\n')
}

// maxSimpleKey is well below the 1,024 characters that YAML allows for a key
// before a colon, escapes included.
const maxSimpleKey = 128

// appendLongKey writes a member in the explicit form, "? key" and ": value".
func appendLongKey(out []byte, m *Member, indent string) []byte {
	out = appendQuoted(append(out, "? "...), m.Name)
	out = append(append(out, '\n'), indent...)
	return appendYAML(append(out, ": "...), &m.Value, indent+"  ")
}

func appendScalar(out []byte, s string) []byte {
	if isPlainScalar(s) {
		return append(out, s...)
	}
	return appendQuoted(out, s)
}

// isPlainScalar is stricter than YAML: but for durations, a plain scalar begins
// with a letter, "/" or "_", and holds nothing that could end it or make it a number, a date or a word.
func isPlainScalar(s string) bool {
	if s == "" || len(s) > 512 || isYAMLWord(s) {
		return false
	}
	if isDuration(s) {
		return true
	}
	if c := s[0]; !isLetter(c) && c != '/' && c != '_' {
		return false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case isLetter(c), c >= '0' && c <= '9', strings.IndexByte("_./+-@|()=*", c) >= 0:
		case c == ':' && i+1 < len(s) && s[i+1] != ' ':
		case c == ' ' && i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '#':
		default:
			return false
		}
	}
	return true
}

// isDuration says whether s is such as "5s" or "0.250s".
func isDuration(s string) bool {
	digits, ok := strings.CutSuffix(s, "s")
	return ok && digits != "" && digits[0] >= '0' && digits[0] <= '9' && strings.Trim(digits, "0123456789.") == ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isBlock says whether a literal block shows s faithfully: several lines of
// printable text without white space that could get lost.
func isBlock(s string) bool {
	if strings.Count(s, "\n") < 2 && !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") || s[0] == ' ' || s[0] == '\n' || strings.HasSuffix(s, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if !protoscan.IsPrintable([]byte(line)) || strings.HasSuffix(line, " ") || strings.HasPrefix(line, "\ufeff") {
			return false
		}
	}
	return true
}

// appendBlock writes a literal block: "|" if the text ends with a newline,
// "|-" if it does not.
func appendBlock(out []byte, s, indent string) []byte {
	out = append(out, '|')
	if !strings.HasSuffix(s, "\n") {
		out = append(out, '-')
	}
	out = append(out, '\n')
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			out = append(append(out, indent...), line...)
		}
		out = append(out, '\n')
	}
	return out
}
