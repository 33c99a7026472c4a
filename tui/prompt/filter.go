package prompt

import (
	"errors"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// Filters is the language of filters of entries. seen is where its values come
// from.
func Filters(seen *view.Seen) Language {
	return Language{
		Wrong: wrongFilter,
		Words: func(before, word string) []string { return filterWords(seen, before, word) },
		Help: func(text string) string {
			if text == "" {
				return "client:gw-* type:eds,cds -kind:ack   sev:error   text:\"duplicate address\""
			}
			return ""
		},
	}
}

// wrongFilter says what is wrong with a filter that is being typed.
func wrongFilter(text string) *Typo {
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
	return &Typo{At: max(e.Column-1, 0), Text: said}
}

func filterWords(seen *view.Seen, before, word string) []string {
	key := before[strings.LastIndexByte(before, ' ')+1:]
	key, hasKey := strings.CutSuffix(strings.TrimPrefix(cutList(key), "-"), ":")
	var all []string
	if !hasKey {
		for _, k := range filter.Keys() {
			all = append(all, k.Name+":")
		}
	} else if all = filter.Values(key); all == nil {
		all = seenValues(seen, key)
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
func seenValues(seen *view.Seen, key string) []string {
	var out []string
	switch key {
	case "client", "node.id":
		for i := range seen.Standing {
			out = append(out, view.Quoted(seen.Standing[i].Client))
		}
	case "rule":
		for i := range seen.Findings {
			out = append(out, seen.Findings[i].Rule.ID)
		}
		slices.Sort(out)
		for _, r := range check.Rules() {
			out = append(out, r.ID)
		}
		slices.Sort(out)
	case "name":
		for i := range seen.Findings {
			for _, n := range seen.Findings[i].Names {
				out = append(out, view.Quoted(n))
			}
		}
		slices.Sort(out)
	}
	return slices.Compact(out)
}
