package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Param is an argument of a tool.
type Param struct {
	Name  string
	About string
	Kind  Kind
	Needs bool     // it must be given
	Of    []string // what it may be; nil: any text
}

// Kind is what an argument is, by its name in JSON Schema.
type Kind string

// The kinds of arguments.
const (
	Text   Kind = "string"
	Number Kind = "integer" // from 1 on
	Flag   Kind = "boolean"
)

// maxText bounds an argument that is a text.
const maxText = 16 << 10

// cursorParam is one that every tool has.
var cursorParam = Param{Name: "cursor", Kind: Text, About: "The cursor of the answer before, to go on where that ended. The other arguments stay what they were."}

// Args are the arguments of a call.
type Args struct {
	texts   map[string]string
	numbers map[string]uint64
	flags   map[string]bool
}

// Text is an argument, "" if it was not given.
func (a *Args) Text(name string) string { return a.texts[name] }

// Number is an argument, 0 if it was not given.
func (a *Args) Number(name string) uint64 { return a.numbers[name] }

// Flag is an argument, false if it was not given.
func (a *Args) Flag(name string) bool { return a.flags[name] }

// parseArgs reads the arguments of a call to a tool, and its cursor.
func (t *Tool) parseArgs(raw json.RawMessage) (a *Args, cursor string, err error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, "", console.Misused("the arguments of %s are no JSON object", t.Name)
		}
	}
	params := append(slices.Clone(t.Params), cursorParam)
	a = &Args{map[string]string{}, map[string]uint64{}, map[string]bool{}}
	for _, p := range params {
		value, is := given[p.Name]
		delete(given, p.Name)
		if is = is && string(value) != "null"; is {
			if err := a.take(&p, value); err != nil {
				return nil, "", err
			}
		} else if p.Needs {
			return nil, "", console.Misused("%s needs %s", t.Name, p.Name).Hint("%s: %s", p.Name, p.About)
		}
	}
	for name := range given {
		return nil, "", unknownArgument(t.Name, name, params)
	}
	cursor = a.texts["cursor"]
	delete(a.texts, "cursor")
	return a, cursor, nil
}

// take reads one argument.
func (a *Args) take(p *Param, value json.RawMessage) error {
	wrong := func(what string) error {
		return console.Misused("%s is %s, not %s", p.Name, what, render.End(string(value), 40)).Hint("%s", p.About)
	}
	switch p.Kind {
	case Number:
		n, err := strconv.ParseUint(string(bytes.Trim(value, `"`)), 10, 63)
		if err != nil || n == 0 {
			return wrong("a whole number from 1 on")
		}
		a.numbers[p.Name] = n
	case Flag:
		on, err := strconv.ParseBool(string(bytes.Trim(value, `"`)))
		if err != nil {
			return wrong("true or false")
		}
		a.flags[p.Name] = on
	case Text:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return wrong("a text")
		}
		if len(text) > maxText {
			return console.Misused("%s has %d bytes, and at most %d are taken", p.Name, len(text), maxText).Hint("%s", p.About)
		}
		if p.Of != nil && text != "" && !slices.Contains(p.Of, text) {
			return wrong("one of " + strings.Join(p.Of, ", "))
		}
		a.texts[p.Name] = text
	}
	return nil
}

func unknownArgument(tool, name string, params []Param) error {
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	f := console.Misused("%s has no argument %q", tool, render.End(name, 60))
	if best := nearest.Name(strings.ToLower(name), names); best != "" {
		return f.Hint("did you mean %s?", best)
	}
	return f.Hint("its arguments are %s", strings.Join(names, ", "))
}

// canonical is the same for the same arguments.
func (a *Args) canonical() []byte {
	text, _ := json.Marshal([]any{a.texts, a.numbers, a.flags}) // keys are sorted
	return text
}

// schema is the JSON Schema of the arguments.
func (t *Tool) schema() map[string]any {
	properties, needs := map[string]any{}, []string{}
	for _, p := range append(slices.Clone(t.Params), cursorParam) {
		one := map[string]any{"type": p.Kind, "description": p.About}
		if p.Kind == Number {
			one["minimum"] = 1
		}
		if p.Of != nil {
			one["enum"] = p.Of
		}
		properties[p.Name] = one
		if p.Needs {
			needs = append(needs, p.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(needs) > 0 {
		out["required"] = needs
	}
	return out
}
