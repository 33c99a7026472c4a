package trigger

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/session"
)

// Condition is one thing that is worth a dump: findings of a rule, findings of a
// severity, or entries that a filter takes.
type Condition struct {
	Text   string         // as it was given
	Filter *filter.Filter // nil if it is about findings
	// Wants asks the filter of each entry, in order. Who has the summary and the
	// body of entries sets it.
	Wants func(e *session.Entry, c *check.Change) bool

	rule     string // "" if it is not about one rule
	severity check.Severity
}

// Parse reads conditions. Each text is a filter, or a list of rules and severities
// with commas between them.
func Parse(texts []string) ([]Condition, error) {
	var out []Condition
	for _, text := range texts {
		found, err := parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func parse(text string) ([]Condition, error) {
	parts := strings.Split(text, ",")
	var out []Condition
	var unknown []string
	for _, p := range parts {
		p = strings.TrimSpace(p)
		c, err := finding(p)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			unknown = append(unknown, p)
		default:
			out = append(out, *c)
		}
	}
	if len(unknown) == 0 {
		return out, nil
	}
	// A word alone would be a filter, too, but hardly what is meant.
	if len(out) > 0 || !strings.ContainsAny(text, ": ") {
		err := fmt.Errorf("%q is neither a rule, nor error, warning or info, nor a filter such as 'kind:nack client:web'", unknown[0])
		if best := nearest.Name(unknown[0], words()); best != "" {
			err = fmt.Errorf("%q is no rule; did you mean %s?", unknown[0], best)
		}
		return nil, err
	}
	f, err := filter.Parse(text)
	if err != nil {
		return nil, err
	}
	if n := f.Needs(); n.Marks || n.End {
		return nil, fmt.Errorf("the filter %q asks for what is known only of a whole recording", text)
	}
	return []Condition{{Text: text, Filter: f}}, nil
}

// finding reads a rule or a severity; nil if it is neither.
func finding(word string) (*Condition, error) {
	for s := check.Info; s <= check.Error; s++ {
		if word == s.String() {
			return &Condition{Text: word, severity: s}, nil
		}
	}
	rules := check.Rules()
	i := slices.IndexFunc(rules, func(r *check.Rule) bool { return r.ID == word })
	switch {
	case i < 0:
		return nil, nil
	case rules[i].Off:
		return nil, errors.New(word + " is off unless xdsproxy check --enable names it, and does not look at what passes")
	}
	return &Condition{Text: word, rule: word}, nil
}

func words() []string {
	out := []string{check.Error.String(), check.Warning.String(), check.Info.String()}
	for _, r := range check.Rules() {
		out = append(out, r.ID)
	}
	return out
}

// Judges says that it is about findings, so that rules have to run.
func (c *Condition) Judges() bool { return c.Filter == nil || c.Filter.Needs().Findings }

func (c *Condition) takes(f *check.Finding) bool {
	if c.rule != "" {
		return f.Rule.ID == c.rule
	}
	return c.Filter == nil && f.Severity == c.severity
}
