// Package command is what can be typed behind a colon: finding it, completing it,
// and reading its argument. What a command does is given to it by who shows the
// prompt.
package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/tui/prompt"
)

// Command is something that can be typed behind a colon.
type Command struct {
	Name, Args, Help string
	Do               func(arg string) (tea.Cmd, error)
	Words            func() []string // what the argument can be
}

// Table is the commands that there are, in the order in which they are offered.
type Table []Command

// find is the command of a name. A number goes to the entry.
func (t Table) find(name string) *Command {
	if name == "q" {
		name = "quit"
	}
	if i := slices.IndexFunc(t, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &t[i]
	}
	return nil
}

func (t Table) names() []string {
	var out []string
	for i := range t {
		out = append(out, t[i].Name)
	}
	return out
}

// Run does what was typed.
func (t Table) Run(text string) (tea.Cmd, error) {
	name, arg, _ := strings.Cut(text, " ")
	if name == "" {
		return nil, nil
	}
	if isNumber(name) {
		name, arg = "goto", name
	}
	c := t.find(name)
	if c == nil {
		return nil, t.unknown(name)
	}
	return c.Do(strings.TrimSpace(arg))
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

func (t Table) unknown(name string) error {
	if n := nearest.Name(name, t.names()); n != "" {
		return fmt.Errorf("there is no command %q; did you mean %q?", name, n)
	}
	return fmt.Errorf("there is no command %q; tab lists them", name)
}

// Language is that of the prompt.
func (t Table) Language() prompt.Language {
	return prompt.Language{Wrong: t.wrong, Words: t.words, Help: t.help}
}

func (t Table) wrong(text string) *prompt.Typo {
	name, _, more := strings.Cut(text, " ")
	if name == "" || isNumber(name) || t.find(name) != nil {
		return nil
	}
	for _, n := range t.names() {
		if !more && strings.HasPrefix(n, name) {
			return nil
		}
	}
	return &prompt.Typo{Text: t.unknown(name).Error()}
}

func (t Table) help(text string) string {
	name, _, _ := strings.Cut(text, " ")
	if c := t.find(name); c != nil {
		return strings.TrimLeft(c.Args+"  "+c.Help, " ")
	}
	return strings.Join(t.names(), " ")
}

// words are what a word can become. A command that takes something ends with a
// space, so that it can be typed at once.
func (t Table) words(before, word string) []string {
	var all, out []string
	if before == "" {
		for i := range t {
			name := t[i].Name
			if t[i].Args != "" {
				name += " "
			}
			all = append(all, name)
		}
	} else if c := t.find(strings.TrimSpace(before)); c != nil && c.Words != nil {
		all = c.Words()
	}
	for _, n := range all {
		if strings.HasPrefix(n, word) {
			out = append(out, n)
		}
	}
	return out
}
