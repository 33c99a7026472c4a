package script

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// line is one line that says something.
type line struct {
	no    int
	text  string
	wait  time.Duration // since the line before
	label string        // of the stream, where @ names one
	kind  *lineKind
	at    int // offset of kind, for errors
	words []word
	times int

	stream *stream // that it belongs to; nil for some events
}

// word is NAME=VALUE, or a value alone.
type word struct {
	off   int // of all of it
	key   string
	value span
}

// span is a part of a line.
type span struct{ from, to int }

func (l *line) str(s span) string { return l.text[s.from:s.to] }

const (
	maxLine  = 16 << 20
	maxTimes = maxEntries
	maxWait  = 366 * 24 * time.Hour
)

// read takes a line apart. It returns nil for one that says nothing.
func read(no int, text string) (*line, error) {
	text = strings.TrimSuffix(text, "\r")
	l := &line{no: no, text: text, times: 1}
	if len(text) > maxLine {
		return nil, l.fail(0, "the line has more than %d MiB", maxLine>>20)
	}
	if !utf8.ValidString(text) {
		return nil, l.fail(invalidAt(text), "the line is not valid UTF-8")
	}
	i := l.skip(0)
	if i == len(text) || text[i] == '#' {
		return nil, nil
	}
	for {
		end := l.bare(i)
		w := text[i:end]
		switch {
		case strings.HasPrefix(w, "t="):
			d, err := l.duration(span{i + len("t="), end})
			if err != nil {
				return nil, err
			}
			if w[2] != '+' {
				return nil, l.fail(i+2, "the time since the line before begins with +").hint("t=+%s", w[2:])
			}
			if d > maxWait {
				return nil, l.fail(i+2, "%s is more than a year", w[2:])
			}
			l.wait += d
		case strings.HasPrefix(w, "@"):
			if w == "@" || l.label != "" {
				return nil, l.fail(i, "@ names one stream").hint("such as @2")
			}
			l.label = w[1:]
		default:
			if l.kind = wordOf(lineKinds, w); l.kind == nil {
				return nil, l.fail(i, "%s is no kind of line", quoteShort(w)).hint("a line begins with one of %s", strings.Join(wordsOf(lineKinds), " "))
			}
			l.at = i
			return l, l.lex(end)
		}
		if i = l.skip(end); i == len(text) {
			return nil, l.fail(i, "the line ends before it says what happens").hint("a line begins with one of %s", strings.Join(wordsOf(lineKinds), " "))
		}
	}
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// skip returns the offset of the next sign that is no space.
func (l *line) skip(i int) int {
	for i < len(l.text) && (l.text[i] == ' ' || l.text[i] == '\t') {
		i++
	}
	return i
}

// bare returns where a word without quotes and brackets ends.
func (l *line) bare(i int) int {
	for i < len(l.text) && l.text[i] != ' ' && l.text[i] != '\t' {
		i++
	}
	return i
}

// lex finds the words from offset i on.
func (l *line) lex(i int) error {
	for i = l.skip(i); i < len(l.text); i = l.skip(i) {
		eq, end, err := l.wordEnd(i)
		if err != nil {
			return err
		}
		w := word{off: i, value: span{i, end}}
		switch {
		case eq > i:
			w.key, w.value.from = l.text[i:eq], eq+1
		case isTimes(l.text[i:end]):
			n, err := strconv.Atoi(l.text[i+1 : end])
			if err != nil || n < 1 || n > maxTimes {
				return l.fail(i, "%s is not between x1 and x%d", l.text[i:end], maxTimes)
			}
			if l.times != 1 {
				return l.fail(i, "the line says twice how often it is repeated")
			}
			l.times = n
			i = end
			continue
		}
		l.words = append(l.words, w)
		i = end
	}
	return nil
}

func isTimes(s string) bool {
	if len(s) < 2 || s[0] != 'x' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// wordEnd returns where the word at i ends, and where its = is, or -1.
func (l *line) wordEnd(i int) (eq, end int, err error) {
	eq = -1
	end, err = l.scan(i, len(l.text), func(at int, c byte) bool {
		if c == '=' && eq < 0 {
			eq = at
		}
		return c == ' ' || c == '\t'
	})
	return eq, end, err
}

// scan goes from i until stop says so of a sign outside of all quotes and
// brackets, at the latest to to.
func (l *line) scan(i, to int, stop func(at int, c byte) bool) (int, error) {
	var open []int
	for i < to {
		c := l.text[i]
		switch c {
		case '"':
			end, err := l.quoted(i, to)
			if err != nil {
				return i, err
			}
			i = end
			continue
		case '[', '{', '(':
			if len(open) == 0 && stop(i, c) {
				return i, nil
			}
			open = append(open, i)
			i++
			continue
		case ']', '}', ')':
			if n := len(open); n > 0 {
				if want := closing(l.text[open[n-1]]); want != c {
					return i, l.fail(i, "%c where %c is expected", c, want).hint("a name with brackets stands in double quotes")
				}
				open = open[:n-1]
				i++
				continue
			}
		}
		if len(open) == 0 && stop(i, c) {
			return i, nil
		}
		i++
	}
	if n := len(open); n > 0 {
		return i, l.fail(open[n-1], "%c is not closed", l.text[open[n-1]])
	}
	return to, nil
}

// until is scan for one of some signs.
func (l *line) until(i, to int, signs string) (int, error) {
	return l.scan(i, to, func(_ int, c byte) bool { return strings.IndexByte(signs, c) >= 0 })
}

func closing(c byte) byte {
	switch c {
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return ')'
}

// quoted returns where the text in quotes that begins at i ends.
func (l *line) quoted(i, to int) (int, error) {
	for j := i + 1; j < to; j++ {
		switch l.text[j] {
		case '\\':
			j++
		case '"':
			return j + 1, nil
		}
	}
	return i, l.fail(i, "the quote is not closed")
}

func quoteShort(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:40]) + "..."
	}
	return strconv.Quote(s)
}
