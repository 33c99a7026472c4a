package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Select is the value at a path in a document of JSON, such as
// message.resources[3].filter_chains.
func Select(doc []byte, path string) ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, doc); err != nil {
		return nil, err
	}
	doc = compact.Bytes()
	at, rest := 0, path
	for rest != "" {
		step, after, err := firstStep(rest)
		if err != nil {
			return nil, console.Misused("path %q: %w", path, err).Hint("a path is such as message.resources[3].name")
		}
		here := strings.TrimSuffix(path[:len(path)-len(rest)], ".")
		rest = after
		if at, err = step.in(doc, at, here); err != nil {
			return nil, err
		}
	}
	return doc[at:valueEnd(doc, at)], nil
}

// pathStep is one name or one number of a path.
type pathStep struct {
	name  string
	index int // -1: it is a name
}

func firstStep(path string) (s pathStep, rest string, err error) {
	path = strings.TrimPrefix(path, ".")
	if inner, is := strings.CutPrefix(path, `["`); is {
		end := stringEnd([]byte(path), 1)
		if end >= len(path) || path[end] != ']' {
			return s, "", console.Misused("the bracket before %q is not closed", render.End(inner, 40))
		}
		err := json.Unmarshal([]byte(path[1:end]), &s.name)
		s.index = -1
		return s, path[end+1:], err
	}
	if inner, is := strings.CutPrefix(path, "["); is {
		digits, after, closed := strings.Cut(inner, "]")
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil || !closed {
			return s, "", console.Misused("%q is no number in brackets", render.End("["+inner, 40))
		}
		return pathStep{index: int(n)}, after, nil
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if end == 0 {
		return s, "", console.Misused("a name is missing before %q", render.End(path, 40))
	}
	return pathStep{path[:end], -1}, path[end:], nil
}

// in goes one step on from the value at a byte.
func (s pathStep) in(doc []byte, at int, here string) (int, error) {
	if here == "" {
		here = "the entry"
	}
	var names []string
	count := 0
	if doc[at] == '{' || doc[at] == '[' {
		l, i, empty := enter(doc, at)
		for closed := empty; !closed; count++ {
			name := ""
			if !l.array {
				_ = json.Unmarshal(l.key, &name) // it is valid
			}
			if l.array && l.index == s.index || !l.array && s.index < 0 && name == s.name {
				return i, nil
			}
			if names = append(names, name); len(names) > 1000 {
				names = names[:1000]
			}
			i, closed = l.next(doc, valueEnd(doc, i))
		}
	}
	switch {
	case doc[at] == '[' && s.index < 0:
		return 0, console.Misused("%s is a list, and %q is a name", here, s.name).Hint("%s[0] is its first of %d", here, count)
	case doc[at] == '[':
		return 0, console.Misused("%s has no number %d: it has %d, counted from 0", here, s.index, count)
	case s.index >= 0:
		return 0, console.Misused("%s is no list", here)
	}
	f := console.Misused("%s has no member %q", here, s.name)
	if best := nearest.Name(s.name, names); best != "" {
		return 0, f.Hint("did you mean %s?", best)
	}
	if len(names) == 0 {
		return 0, f.Hint("it has no members")
	}
	return 0, f.Hint("it has %s", render.SomeOf(names, 20))
}
