package tui

import (
	"errors"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// wrongFilter says what is wrong with a filter that is being typed.
func wrongFilter(text string) *typo {
	_, err := filter.Parse(text)
	var e *filter.Error
	if !errors.As(err, &e) {
		return nil
	}
	said := e.Message
	if e.Nearest != "" {
		said += "; did you mean " + e.Nearest + "?"
	} else if e.Hint != "" {
		said += "; " + e.Hint
	}
	return &typo{at: max(e.Column-1, 0), text: said}
}

// candidates are what the word that is being typed can become.
func (p *prompt) candidates(m *Model, word string) []string {
	switch p.kind {
	case view.CommandPrompt:
		return m.completeCommand(p.base, word)
	case view.EntryFilter:
		return p.filterWords(m, word)
	}
	return nil
}

func (p *prompt) filterWords(m *Model, word string) []string {
	key := p.base[strings.LastIndexByte(p.base, ' ')+1:]
	key, hasKey := strings.CutSuffix(strings.TrimPrefix(cutList(key), "-"), ":")
	var all []string
	if !hasKey {
		for _, k := range filter.Keys() {
			all = append(all, k.Name+":")
		}
	} else if all = filter.Values(key); all == nil {
		all = m.seenValues(key)
	}
	var out []string
	for _, v := range all {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(word)) {
			out = append(out, v)
		}
	}
	return out
}

// cutList leaves out the values that a term has already.
func cutList(term string) string {
	if i := strings.IndexByte(term, ':'); i >= 0 {
		return term[:i+1]
	}
	return term
}

// seenValues are values of a key that have been met.
func (m *Model) seenValues(key string) []string {
	var out []string
	switch key {
	case "client", "node.id":
		for i := range m.seen.Standing {
			out = append(out, view.Quoted(m.seen.Standing[i].Client))
		}
	case "rule":
		for i := range m.seen.Findings {
			out = append(out, m.seen.Findings[i].Rule.ID)
		}
		slices.Sort(out)
		for _, r := range check.Rules() {
			out = append(out, r.ID)
		}
		slices.Sort(out)
	case "name":
		for i := range m.seen.Findings {
			for _, n := range m.seen.Findings[i].Names {
				out = append(out, view.Quoted(n))
			}
		}
		slices.Sort(out)
	}
	return slices.Compact(out)
}
