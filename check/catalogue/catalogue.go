// Package catalogue holds what there is to know of each rule, in words for
// people: a file a group of rules. How a rule looks, it does not know.
package catalogue

import (
	"embed"
	"strings"
)

//go:embed *.txt
var files embed.FS

// Text is what a rule is about. Means, Causes and Next are a few sentences each.
type Text struct {
	Group string // heading under which it is listed
	Title string // what is wrong, in one line
	Scope string // variants that the rule looks at
	Spec  string // where the protocol says so
	// What it means, what usually causes it, and what to do next.
	Means, Causes, Next string
}

// Texts returns the texts of all rules by their ids.
func Texts() map[string]Text {
	texts := make(map[string]Text)
	names, _ := files.ReadDir(".") // what is embedded can be read
	for _, f := range names {
		all, _ := files.ReadFile(f.Name())
		rules := strings.Split(string(all), "\n## ")
		group := strings.TrimSpace(strings.TrimPrefix(rules[0], "# "))
		for _, rule := range rules[1:] {
			id, body, _ := strings.Cut(rule, "\n")
			texts[id] = parse(group, body)
		}
	}
	return texts
}

// parse reads the lines of one rule. A test says if one is not as it should be.
func parse(group, body string) Text {
	t := Text{Group: group}
	for line := range strings.Lines(body) {
		word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch word {
		case "Title":
			t.Title = value
		case "Scope":
			t.Scope = value
		case "Spec":
			t.Spec = value
		case "Means":
			t.Means = value
		case "Causes":
			t.Causes = value
		case "Next":
			t.Next = value
		}
	}
	return t
}
