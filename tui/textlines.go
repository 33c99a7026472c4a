package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// mostLines bounds the lines of a text, fewLines those of one of a large
// message.
const (
	fewLines     = 2000
	mostLines    = 200_000
	largeMessage = 1 << 20
)

// linesOf splits a text into at most so many lines; more is how many there are
// beyond.
func linesOf(text string, most int, make func(string) textLine) (out []textLine, more int) {
	text = strings.TrimSuffix(text, "\n")
	for text != "" {
		l, rest, _ := strings.Cut(text, "\n")
		if len(out) == most {
			return out, strings.Count(text, "\n") + 1
		}
		out = append(out, make(l))
		text = rest
	}
	return out, 0
}

// yamlLines are the lines of YAML, with what belongs to what.
func yamlLines(text string, most int) ([]textLine, int) {
	level := 0
	return linesOf(text, most, func(s string) textLine {
		indent := len(s) - len(strings.TrimLeft(s, " "))
		rest := s[indent:]
		if rest == "" {
			return textLine{level: level}
		}
		level = 2 * indent
		t := textLine{}
		lead := indent
		for strings.HasPrefix(rest, "- ") {
			if level == 2*indent {
				level++ // items stand at the column of their name
			}
			lead += 2
			rest = rest[2:]
		}
		t.level = level
		t.add(plain, s[:lead])
		key, value, ok := cutKey(rest)
		if !ok {
			t.add(plain, rest)
			t.value = unquoted(rest)
			return t
		}
		t.add(accent, key)
		t.add(plain, rest[len(key):])
		t.name, t.value = unquoted(key), unquoted(value)
		if value == "|" || value == "|-" {
			t.value = "" // what is below it
		}
		return t
	})
}

// jsonLines are the lines of indented JSON.
func jsonLines(text string, most int) ([]textLine, int) {
	return linesOf(text, most, func(s string) textLine {
		indent := len(s) - len(strings.TrimLeft(s, " "))
		t := textLine{level: indent}
		t.add(plain, s[:indent])
		rest := s[indent:]
		key, value, ok := cutKey(rest)
		if !ok {
			t.add(plain, rest)
			t.value = jsonValue(rest)
			return t
		}
		t.add(accent, key)
		t.add(plain, rest[len(key):])
		t.name, t.value = unquoted(key), jsonValue(value)
		return t
	})
}

// jsonValue is a scalar, "" for what opens an object or a list.
func jsonValue(s string) string {
	if s == "{" || s == "[" {
		return ""
	}
	return unquoted(strings.TrimSuffix(s, ","))
}

// cutKey splits "key: value" and "key:".
func cutKey(s string) (key, value string, ok bool) {
	end := 0
	if strings.HasPrefix(s, `"`) {
		for end = 1; end < len(s) && s[end] != '"'; end++ {
			if s[end] == '\\' {
				end++
			}
		}
		if end++; end >= len(s) || s[end] != ':' {
			return "", "", false
		}
	} else if end = strings.Index(s, ": "); end < 0 {
		if !strings.HasSuffix(s, ":") {
			return "", "", false
		}
		end = len(s) - 1
	}
	return s[:end], strings.TrimSpace(s[end+1:]), true
}

// unquoted is a scalar as it was meant.
func unquoted(s string) string {
	if t, err := strconv.Unquote(s); err == nil && strings.HasPrefix(s, `"`) {
		return t
	}
	return s
}

// wireLines are the fields of a message with their offsets, and its bytes.
func wireLines(fields []decode.WireField, data []byte, most int) (out []textLine, more int) {
	for i := range fields {
		out = append(out, wireLine(&fields[i]))
	}
	if len(fields) > 0 {
		out = append(out, textLine{})
	}
	rows := (len(data) + 15) / 16
	for n := range min(rows, max(most-len(out), most/2)) {
		out = append(out, hexLine(n*16, data[n*16:min(n*16+16, len(data))]))
	}
	if n := max(most-len(fields), most/2); rows > n {
		more = rows - n
	}
	return out, more
}

func wireLine(f *decode.WireField) textLine {
	t := textLine{level: f.Depth + 1, name: f.Name, value: f.Value}
	t.add(muted, fmt.Sprintf("%08x %6d  ", f.At, f.Size))
	name := f.Name
	if name == "" {
		name = "?"
	}
	t.add(plain, spaces(2*f.Depth)+strconv.Itoa(f.Number)+" ")
	t.add(accent, name)
	t.add(muted, " "+f.Wire)
	switch {
	case f.Holds != "":
		t.add(muted, "  "+f.Holds)
		if f.Value != "" {
			t.add(plain, "  "+f.Value)
		}
	case f.Value != "":
		t.add(plain, "  "+f.Value)
	}
	return t
}

func hexLine(at int, b []byte) textLine {
	t := textLine{level: 1}
	t.add(muted, fmt.Sprintf("%08x  ", at))
	var hex, chars strings.Builder
	for i := range 16 {
		if i == 8 {
			hex.WriteByte(' ')
		}
		if i >= len(b) {
			hex.WriteString("   ")
			continue
		}
		fmt.Fprintf(&hex, "%02x ", b[i])
		if b[i] >= ' ' && b[i] < 0x7f {
			chars.WriteByte(b[i])
		} else {
			chars.WriteByte('.')
		}
	}
	t.add(plain, hex.String()+" ")
	t.add(muted, "|"+chars.String()+"|")
	t.value, t.name = fmt.Sprintf("%x", b), fmt.Sprintf("byte %d and on", at)
	return t
}

// heading is a line that names what stands below.
func heading(r role, s string) textLine { return textLine{line: text(r, s)} }

// moreLine says that not everything is shown.
func moreLine(more int) textLine {
	return heading(warned, fmt.Sprintf("... %s are not shown: o opens all of it in the pager", render.Count(more, "more line", "more lines")))
}
