package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// filter says which entries are wanted: those that all of its terms take. The
// zero filter takes every entry.
type filter struct {
	text  string
	terms []filterTerm
}

// filterTerm is KEY:VALUE,VALUE… and takes an entry that any of the values takes; if
// it is negated, an entry that none does.
type filterTerm struct {
	key     string
	negated bool
	values  []filterValue
}

// filterValue is what a key makes of one of its values.
type filterValue interface {
	// begin is told once the time of the first entry of the recording.
	begin(first time.Time)
	takes(e *session.Entry) bool
	// span is where all entries are that can be taken. find gives the number
	// of the first entry at or after a time, or the number that the next one
	// will have and false if there is none yet.
	span(find func(time.Time) (session.Seq, bool, error)) (span, error)
	// over says that no entry after e can be taken.
	over(e *session.Entry) bool
}

// filterKeys are the keys that exist, in the order in which they are named.
var filterKeys = []struct {
	name  string
	parse func(value string) (filterValue, error)
}{
	{"seq", parseSeqs},
	{"at", parseTimes},
}

func filterKeyNames() string {
	var names []string
	for _, k := range filterKeys {
		names = append(names, k.name)
	}
	return strings.Join(names, " and ")
}

// parseFilter reads terms that are separated by spaces. Quotes keep spaces and
// commas; only the first colon separates key and value; a leading - negates.
func parseFilter(text string) (*filter, error) {
	f := &filter{text: text}
	for at := 0; ; {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\n"))
		if at == len(text) {
			return f, nil
		}
		wrong := func(format string, args ...any) error {
			return misused("filter %q: %w at column %d", text, fmt.Errorf(format, args...), utf8.RuneCountInString(text[:at])+1)
		}
		word, parts, err := cutTerm(text[at:])
		if err != nil {
			return nil, wrong("%w", err)
		}
		t, err := parseTerm(word, parts, wrong)
		if err != nil {
			return nil, err
		}
		f.terms = append(f.terms, t)
		at += len(word)
	}
}

// cutTerm returns the term that text begins with, as it stands, and its key and
// values without their quotes. Without a key there is one part.
func cutTerm(text string) (word string, parts []string, err error) {
	var part strings.Builder
	quoted := false
	end := len(text)
scan:
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
			part.WriteRune(c)
		case c == ' ' || c == '\t' || c == '\n':
			end = i
			break scan
		case c == ':' && len(parts) == 0, c == ',' && len(parts) > 0:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteRune(c)
		}
	}
	if quoted {
		return "", nil, fmt.Errorf("a quote that does not end")
	}
	return text[:end], append(parts, part.String()), nil
}

func parseTerm(word string, parts []string, wrong func(string, ...any) error) (t filterTerm, err error) {
	key, negated := strings.CutPrefix(strings.ToLower(parts[0]), "-")
	if len(parts) == 1 {
		if strings.ContainsAny(word, "()|") || strings.EqualFold(word, "or") || strings.EqualFold(word, "and") {
			return t, withHint(wrong("unexpected %q", word),
				"terms one after the other must all hold; a comma between values is or: seq:4,9..12")
		}
		return t, withHint(wrong("%q is not KEY:VALUE", word), "the keys are "+filterKeyNames())
	}
	t = filterTerm{key: key, negated: negated}
	for _, k := range filterKeys {
		if k.name != key {
			continue
		}
		for _, v := range parts[1:] {
			value, err := k.parse(v)
			if err != nil {
				return t, wrong("%w", err)
			}
			t.values = append(t.values, value)
		}
		return t, nil
	}
	return t, withHint(wrong("unknown key %q", key), "the keys are "+filterKeyNames())
}

func withHint(err error, hint string) error {
	if f, ok := err.(*failure); ok {
		f.hint("%s", hint)
	}
	return err
}

// begin must be called before the other methods, with the time of the first
// entry of the recording: times of day are counted from there.
func (f *filter) begin(first time.Time) {
	for _, t := range f.terms {
		for _, v := range t.values {
			v.begin(first)
		}
	}
}

// takes says whether an entry is wanted.
func (f *filter) takes(e *session.Entry) bool {
	for _, t := range f.terms {
		any := false
		for _, v := range t.values {
			any = any || v.takes(e)
		}
		if any == t.negated {
			return false
		}
	}
	return true
}

// over says that no entry after e can be wanted.
func (f *filter) over(e *session.Entry) bool {
	for _, t := range f.terms {
		over := !t.negated
		for _, v := range t.values {
			over = over && v.over(e)
		}
		if over {
			return true
		}
	}
	return false
}

// spans is where all entries are that can be wanted.
func (f *filter) spans(find func(time.Time) (session.Seq, bool, error)) ([]span, error) {
	all := everything()
	for _, t := range f.terms {
		if t.negated {
			continue
		}
		var any []span
		for _, v := range t.values {
			sp, err := v.span(find)
			if err != nil {
				return nil, err
			}
			any = append(any, sp)
		}
		all = intersect(all, union(any))
	}
	return all, nil
}

// filterFlag adds --filter.
func filterFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().Var(textValue{p, "FILTER"}, "filter", "only what it names, such as seq:100..200 or at:12:41..12:43; see xdsproxy help filters")
}

// seqValue is a sequence number or a range of them.
type seqValue struct{ of span }

func parseSeqs(text string) (filterValue, error) {
	sp, err := parseSpan(text)
	if err != nil {
		return nil, err
	}
	return seqValue{sp}, nil
}

func (v seqValue) begin(time.Time)             {}
func (v seqValue) takes(e *session.Entry) bool { return v.of.has(e.Seq) }
func (v seqValue) over(e *session.Entry) bool  { return e.Seq >= v.of.last }
func (v seqValue) span(func(time.Time) (session.Seq, bool, error)) (span, error) {
	return v.of, nil
}
