package filter

import (
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Filter takes the entries that all of its terms take, every entry if it has
// none. It must not be used by several goroutines while Begin runs.
type Filter struct {
	text  string
	terms []term // those that cost least first
	needs Needs
}

// term is KEY:VALUE,VALUE… and takes an entry that any of the values takes; if
// it is negated, an entry that none does.
type term struct {
	key     *key
	negated bool
	values  []value
}

// value is what a key makes of one of its values. Some are a place, a label or
// a beginner, too.
type value interface {
	takes(r *Row) bool
}

// Needs is what a filter asks of a Row beside the entry itself and its
// conversation.
type Needs struct {
	Summary, Body, Findings, Node bool
	// History says that what the filter asks is told from earlier messages, so
	// that an entry must not be come upon by a jump.
	History bool
	// End says that Begin needs the end of the recording.
	End bool
	// Content says that the filter asks for more of an entry than its kind,
	// sender, size, place and time, and more of its message than type, version,
	// nonce and the number of resources.
	Content bool
	// Marks says that the filter asks what people marked. A mark is a note that
	// comes later than the entry: they must be known before.
	Marks bool
}

// Needs says what must be in a Row.
func (f *Filter) Needs() Needs { return f.needs }

// Empty says that the filter takes everything.
func (f *Filter) Empty() bool { return len(f.terms) == 0 }

// String is the text that the filter was made of.
func (f *Filter) String() string { return f.text }

// Takes says whether an entry is wanted.
func (f *Filter) Takes(r *Row) bool {
	r.summary, r.body = text{}, text{}
	for i := range f.terms {
		t := &f.terms[i]
		if t.takes(r) == t.negated {
			return false
		}
	}
	return true
}

func (t *term) takes(r *Row) bool {
	for _, v := range t.values {
		if v.takes(r) {
			return true
		}
	}
	return false
}

// beginner is a value that depends on when the recording was made.
type beginner interface {
	begin(first, end time.Time)
}

// Begin must be called before any other method if the filter is to be used on a
// recording, with the time of its first entry, from which times of day are
// counted, and with that of its end, or now if it still grows.
func (f *Filter) Begin(first, end time.Time) {
	for i := range f.terms {
		for _, v := range f.terms[i].values {
			if b, is := v.(beginner); is {
				b.begin(first, end)
			}
		}
	}
}

// place is a value that takes entries of certain numbers or times only.
type place interface {
	span(find Find) (Span, error)
	// over says that no entry after e can be taken.
	over(e *session.Entry) bool
}

// Find gives the number of the first entry at or after a time, or the number
// that the next one will have and false if there is none yet.
type Find func(time.Time) (session.Seq, bool, error)

// Over says that no entry after e can be wanted. It needs the number and the
// time of e.
func (f *Filter) Over(e *session.Entry) bool {
	for i := range f.terms {
		if f.terms[i].over(e) {
			return true
		}
	}
	return false
}

func (t *term) over(e *session.Entry) bool {
	if t.negated {
		return false
	}
	for _, v := range t.values {
		if p, is := v.(place); !is || !p.over(e) {
			return false
		}
	}
	return true
}

// Spans is where all entries are that can be wanted.
func (f *Filter) Spans(find Find) ([]Span, error) {
	all := Everything()
	for i := range f.terms {
		t := &f.terms[i]
		if _, is := t.values[0].(place); !is || t.negated {
			continue
		}
		var any []Span
		for _, v := range t.values {
			s, err := v.(place).span(find)
			if err != nil {
				return nil, err
			}
			any = append(any, s)
		}
		all = Intersect(all, Union(any))
	}
	return all, nil
}

// The labels that Block knows: the short type and the client of an entry, as in
// the Change. Either may be missing of an entry that has none.
const (
	TypeLabel   = "type:"
	ClientLabel = "client:"
)

// labelled is a value that takes entries with certain labels only.
type labelled interface {
	mayBe(label string) bool
}

// Block says whether an entry that is wanted may be among some that have these
// labels and no others. Many says that the labels are too many to be listed.
// Without any, nobody has labelled the entries, and they may be anything.
func (f *Filter) Block(labels []string, many bool) bool {
	if many || len(labels) == 0 {
		return true
	}
	for i := range f.terms {
		if t := &f.terms[i]; !t.negated && !t.mayBeIn(labels) {
			return false
		}
	}
	return true
}

// Labelled says that Block may say no.
func (f *Filter) Labelled() bool { return !f.Block([]string{""}, false) }

func (t *term) mayBeIn(labels []string) bool {
	for _, v := range t.values {
		l, is := v.(labelled)
		if !is {
			return true
		}
		for _, label := range labels {
			if l.mayBe(label) {
				return true
			}
		}
	}
	return false
}
