// Package mcptest puts the pages of an answer together again. It is for tests, and
// goes by what an assistant is told, and by nothing else.
package mcptest

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Page is an answer as an assistant gets it.
type Page struct {
	Recording string   `json:"recording"`
	Notes     []string `json:"notes"`
	BeginsAt  string   `json:"begins_at"`
	RestOf    bool     `json:"rest_of_text"`
	AnswerAt  string   `json:"answer_at"`
	Cursor    string   `json:"cursor"`
	Answer    any      `json:"answer"`
}

// Merge adds a page to those before it.
func Merge(whole any, p *Page) any {
	return graft(whole, steps(p.BeginsAt), len(steps(p.AnswerAt)), p.RestOf, p.Answer)
}

var stepForm = regexp.MustCompile(`\.?([^.\[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]`)

// steps are names and numbers.
func steps(path string) (out []any) {
	for _, m := range stepForm.FindAllStringSubmatch(path, -1) {
		switch {
		case m[2] != "":
			n, _ := strconv.Atoi(m[2]) // it is one
			out = append(out, n)
		case m[3] != "":
			var name string
			_ = json.Unmarshal([]byte(m[3]), &name)
			out = append(out, name)
		default:
			out = append(out, m[1])
		}
	}
	return out
}

// graft puts a page, of which some outer containers are left out, where it begins.
func graft(whole any, at []any, left int, rest bool, page any) any {
	if len(at) == 0 {
		if rest {
			return whole.(string) + page.(string)
		}
		return page
	}
	if left > 0 {
		return with(whole, at[0], func(old any) any { return graft(old, at[1:], left-1, rest, page) })
	}
	switch page := page.(type) {
	case []any:
		whole = with(whole, at[0], func(old any) any { return graft(old, at[1:], 0, rest, page[0]) })
		return append(whole.([]any), page[1:]...)
	case map[string]any:
		for name, value := range page {
			if name == at[0] {
				value = graft(whole.(map[string]any)[name], at[1:], 0, rest, value)
			}
			whole.(map[string]any)[name] = value
		}
	}
	return whole
}

// with changes one child.
func with(whole, step any, change func(old any) any) any {
	switch step := step.(type) {
	case int:
		list := whole.([]any)
		if step == len(list) {
			return append(list, change(nil))
		}
		list[step] = change(list[step])
	case string:
		whole.(map[string]any)[step] = change(whole.(map[string]any)[step])
	}
	return whole
}
