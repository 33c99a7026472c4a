package widget

import (
	"strconv"
	"strings"
)

// linesOf splits a text into at most so many lines; more is how many there are
// beyond.
func linesOf(text string, most int, make func(string) TextLine) (out []TextLine, more int) {
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

// YamlLines are the lines of YAML, with what belongs to what.
func YamlLines(text string, most int) ([]TextLine, int) {
	level := 0
	return linesOf(text, most, func(s string) TextLine {
		indent := len(s) - len(strings.TrimLeft(s, " "))
		rest := s[indent:]
		if rest == "" {
			return TextLine{Level: level}
		}
		level = 2 * indent
		t := TextLine{}
		lead := indent
		for strings.HasPrefix(rest, "- ") {
			if level == 2*indent {
				level++ // items stand at the column of their name
			}
			lead += 2
			rest = rest[2:]
		}
		t.Level = level
		t.Add(Plain, s[:lead])
		key, value, ok := CutKey(rest)
		if !ok {
			t.Add(Plain, rest)
			t.Value = Unquoted(rest)
			return t
		}
		t.Add(Accent, key)
		t.Add(Plain, rest[len(key):])
		t.Name, t.Value = Unquoted(key), Unquoted(value)
		if value == "|" || value == "|-" {
			t.Value = "" // what is below it
		}
		return t
	})
}

// JsonLines are the lines of indented JSON.
func JsonLines(text string, most int) ([]TextLine, int) {
	return linesOf(text, most, func(s string) TextLine {
		indent := len(s) - len(strings.TrimLeft(s, " "))
		t := TextLine{Level: indent}
		t.Add(Plain, s[:indent])
		rest := s[indent:]
		key, value, ok := CutKey(rest)
		if !ok {
			t.Add(Plain, rest)
			t.Value = jsonValue(rest)
			return t
		}
		t.Add(Accent, key)
		t.Add(Plain, rest[len(key):])
		t.Name, t.Value = Unquoted(key), jsonValue(value)
		return t
	})
}

// jsonValue is a scalar, "" for what opens an object or a list.
func jsonValue(s string) string {
	if s == "{" || s == "[" {
		return ""
	}
	return Unquoted(strings.TrimSuffix(s, ","))
}

// CutKey splits "key: value" and "key:".
func CutKey(s string) (key, value string, ok bool) {
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

// Unquoted is a scalar as it was meant.
func Unquoted(s string) string {
	if t, err := strconv.Unquote(s); err == nil && strings.HasPrefix(s, `"`) {
		return t
	}
	return s
}

// Heading is a line that names what stands below.
func Heading(r Role, s string) TextLine { return TextLine{Line: Text(r, s)} }
