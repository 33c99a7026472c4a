package script

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// text is a value without quotes, or with quotes around all of it.
func (l *line) textOf(s span) (string, error) {
	v, rest, err := l.part(s, "")
	if err == nil && rest.from < rest.to {
		err = l.fail(rest.from, "%s after the closing quote", quoteShort(l.str(rest)))
	}
	return v, err
}

// part is what s begins with: a text in quotes, or all up to one of the signs in
// stops.
func (l *line) part(s span, stops string) (string, span, error) {
	if s.from < s.to && l.text[s.from] == '"' {
		end, err := l.quoted(s.from, s.to)
		if err != nil {
			return "", s, err
		}
		v, uerr := strconv.Unquote(l.text[s.from:end])
		if uerr != nil || !utf8.ValidString(v) {
			return "", s, l.fail(s.from, "%s is not a text in quotes", quoteShort(l.text[s.from:end])).
				hint("inside of quotes, write \\\" for a quote and \\\\ for a backslash")
		}
		return v, span{end, s.to}, nil
	}
	raw := l.str(s)
	end := len(raw)
	if i := strings.IndexAny(raw, stops); stops != "" && i >= 0 {
		end = i
	}
	if i := strings.IndexByte(raw[:end], '"'); i >= 0 {
		return "", s, l.fail(s.from+i, "a quote in the middle of a word").hint("put quotes around all of it")
	}
	return raw[:end], span{s.from + end, s.to}, nil
}

// pair is TEXT or TEXT/TEXT; a slash in quotes does not divide.
func (l *line) pair(s span) (a, b string, err error) {
	a, rest, err := l.part(s, "/")
	if err != nil || rest.from == rest.to {
		return a, "", err
	}
	if l.text[rest.from] != '/' {
		return "", "", l.fail(rest.from, "%s after the closing quote", quoteShort(l.str(rest)))
	}
	b, err = l.textOf(span{rest.from + 1, rest.to})
	return a, b, err
}

// items are the elements of a list, whose brackets are open and end.
func (l *line) items(s span, open byte) ([]span, error) {
	raw := l.str(s)
	if len(raw) < 2 || raw[0] != open || raw[len(raw)-1] != closing(open) {
		return nil, l.fail(s.from, "%s is not a list", quoteShort(raw)).hint("a list stands in %c%c, such as %ca,b%c", open, closing(open), open, closing(open))
	}
	in := span{s.from + 1, s.to - 1}
	if in.from = l.skip(in.from); in.from >= in.to {
		return nil, nil
	}
	var out []span
	for {
		end, err := l.until(in.from, in.to, ",")
		if err != nil {
			return nil, err
		}
		it := span{l.skip(in.from), end}
		for it.to > it.from && (l.text[it.to-1] == ' ' || l.text[it.to-1] == '\t') {
			it.to--
		}
		if it.from >= it.to {
			return nil, l.fail(end, "an element of the list is missing").hint(`an empty name is written ""`)
		}
		if out = append(out, it); len(out) > maxItems {
			return nil, l.fail(s.from, "the list has more than %d elements", maxItems)
		}
		if end == in.to {
			return out, nil
		}
		in.from = end + 1
	}
}

// list reads the elements of a list.
func list[T any](l *line, s span, open byte, read func(span) (T, error)) ([]T, error) {
	items, err := l.items(s, open)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(items))
	for _, it := range items {
		v, err := read(it)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// names is a list of texts.
func (l *line) names(s span) ([]string, error) { return list(l, s, '[', l.textOf) }

// keyed divides NAME:VALUE at the last colon outside of quotes.
func (l *line) keyed(s span) (name string, value span, err error) {
	colon := -1
	for i := s.from; i < s.to; i++ {
		switch l.text[i] {
		case '"':
			end, err := l.quoted(i, s.to)
			if err != nil {
				return "", s, err
			}
			i = end - 1
		case ':':
			colon = i
		}
	}
	if colon < 0 {
		return "", s, l.fail(s.from, "%s has no colon", quoteShort(l.str(s))).hint("write NAME:VALUE")
	}
	name, err = l.textOf(span{s.from, colon})
	return name, span{colon + 1, s.to}, err
}

func (l *line) number(s span, most int64) (int64, error) {
	n, err := strconv.ParseInt(l.str(s), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, l.fail(s.from, "%s is not a number from 0 to %d", quoteShort(l.str(s)), most)
	}
	return n, nil
}

// duration is one of Go, with or without a sign.
func (l *line) duration(s span) (time.Duration, error) {
	d, err := time.ParseDuration(l.str(s))
	if err != nil || d < 0 {
		return 0, l.fail(s.from, "%s is not a duration", quoteShort(l.str(s))).hint("such as 250ms, 1.5s or 10m")
	}
	return d, nil
}

var units = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"B", 1}, {"", 1}}

// bytes is a number of bytes.
func (l *line) bytes(s span) (int, error) {
	raw := l.str(s)
	for _, u := range units {
		digits, ok := strings.CutSuffix(raw, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil || math.IsNaN(n) || n < 0 {
			break
		}
		if n*u.size > maxMessage {
			return 0, l.fail(s.from, "%s is more than %d MiB", raw, maxMessage>>20)
		}
		return int(n * u.size), nil
	}
	return 0, l.fail(s.from, "%s is not a size", quoteShort(raw)).hint("such as 5MiB or 100KiB")
}

func (l *line) boolean(s span) (bool, error) {
	switch l.str(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, l.fail(s.from, "%s is neither true nor false", quoteShort(l.str(s)))
}

// code is a status code, by number or by name.
func (l *line) code(s span) (int32, error) {
	raw := l.str(s)
	for i, name := range codes {
		if strings.EqualFold(raw, name) {
			return int32(i), nil
		}
	}
	n, err := strconv.ParseInt(raw, 10, 32)
	if err != nil {
		return 0, l.fail(s.from, "%s is not a status code", quoteShort(raw)).meant(raw, codes[:])
	}
	return int32(n), nil
}
