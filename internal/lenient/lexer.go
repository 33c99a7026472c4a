package lenient

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may be nested, which is protobuf's own
// bound for JSON.
const maxDepth = 100

// lexer goes through JSON. Its methods leave white space before a token, and
// return a fault with its place.
type lexer struct {
	data  []byte
	pos   int
	depth int
	// place says where what is at an offset stands; nil: there.
	place func(offset int) (line, col int)
}

func (l *lexer) wrong(at int, format string, args ...any) *Fault {
	f := faultf(format, args...)
	if l.place != nil {
		return f.at(l.place(at))
	}
	before := l.data[:min(at, len(l.data))]
	from := bytes.LastIndexByte(before, '\n') + 1
	return f.at(bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[from:])+1)
}

func (l *lexer) syntax() *Fault {
	if l.space(); l.pos >= len(l.data) {
		return l.wrong(l.pos, "it ends in the middle")
	}
	return l.wrong(l.pos, "syntax error")
}

// space skips white space and returns what is next; 0 at the end.
func (l *lexer) space() byte {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; c {
		case ' ', '\t', '\r', '\n':
			l.pos++
		default:
			return c
		}
	}
	return 0
}

// take takes the character c, if it is next behind white space.
func (l *lexer) take(c byte) bool {
	l.space()
	return l.next(c)
}

// next takes it if it stands right here.
func (l *lexer) next(c byte) bool {
	if l.pos < len(l.data) && l.data[l.pos] == c {
		l.pos++
		return true
	}
	return false
}

func (l *lexer) isNull() bool {
	l.space()
	return bytes.HasPrefix(l.data[l.pos:], []byte("null"))
}

// word takes null, true or false.
func (l *lexer) word(w string) *Fault {
	if l.space(); !bytes.HasPrefix(l.data[l.pos:], []byte(w)) {
		return l.syntax()
	}
	l.pos += len(w)
	return nil
}

func (l *lexer) enter(open byte) *Fault {
	at := l.pos
	if !l.take(open) {
		return l.syntax()
	}
	if l.depth++; l.depth > maxDepth {
		return l.wrong(at, "nested too deep")
	}
	return nil
}

// object calls f with each key, where its value begins. at is where the key is.
func (l *lexer) object(f func(key string, at int) *Fault) *Fault {
	return l.each('{', '}', func() *Fault {
		c := l.space()
		at := l.pos
		var (
			key string
			err *Fault
		)
		if c == '"' || c == '\'' {
			key, err = l.text()
		} else if key = l.bare(); key == "" {
			err = l.syntax()
		}
		if err != nil {
			return err
		}
		if !l.take(':') {
			return l.syntax()
		}
		return f(key, at)
	})
}

// list calls f where each element begins.
func (l *lexer) list(f func() *Fault) *Fault { return l.each('[', ']', f) }

func (l *lexer) each(open, end byte, f func() *Fault) *Fault {
	if err := l.enter(open); err != nil {
		return err
	}
	for comma := true; !l.take(end); comma = l.take(',') {
		if !comma {
			return l.syntax()
		}
		if err := f(); err != nil {
			return err
		}
	}
	l.depth--
	return nil
}

// bare is a key without quotes; "" if there is none.
func (l *lexer) bare() string {
	from := l.pos
	for l.pos < len(l.data) && isWord(l.data[l.pos]) {
		l.pos++
	}
	key := string(l.data[from:l.pos])
	if key == "null" || key == "true" || key == "false" || key != "" && key[0] >= '0' && key[0] <= '9' {
		return ""
	}
	return key
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// text takes a text in quotes of either kind.
func (l *lexer) text() (string, *Fault) {
	quote := l.space()
	from := l.pos
	if quote != '"' && quote != '\'' {
		return "", l.syntax()
	}
	l.pos++
	var b []byte // what is before plain, if there was an escape
	for plain := l.pos; l.pos < len(l.data); {
		switch c := l.data[l.pos]; c {
		case quote:
			text := l.data[plain:l.pos]
			if b != nil {
				text = append(b, text...)
			}
			l.pos++
			if !utf8.Valid(text) {
				return "", l.wrong(from, "a text that is not UTF-8")
			}
			return string(text), nil
		case '\\':
			b = append(b, l.data[plain:l.pos]...)
			r, ok := l.escape()
			if !ok {
				return "", l.wrong(l.pos, "syntax error")
			}
			b = utf8.AppendRune(b, r)
			plain = l.pos
		default:
			l.pos++
		}
	}
	return "", l.wrong(l.pos, "it ends in the middle")
}

var escapes = map[byte]rune{'"': '"', '\'': '\'', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (l *lexer) escape() (rune, bool) {
	l.pos++
	if l.pos >= len(l.data) {
		return 0, false
	}
	c := l.data[l.pos]
	if c != 'u' && c != 'U' {
		r, ok := escapes[c]
		if ok {
			l.pos++
		}
		return r, ok
	}
	high, ok := l.unit()
	if !ok || high < 0xd800 || high > 0xdfff {
		return high, ok
	}
	if high > 0xdbff || !bytes.HasPrefix(l.data[l.pos:], []byte(`\u`)) {
		return 0, false
	}
	l.pos++
	low, ok := l.unit()
	return 0x10000 + (high-0xd800)<<10 + low - 0xdc00, ok && low >= 0xdc00 && low <= 0xdfff
}

// unit takes a letter and four hexadecimal digits.
func (l *lexer) unit() (rune, bool) {
	if l.pos+5 > len(l.data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(l.data[l.pos+1:l.pos+5]), 16, 16)
	if err == nil {
		l.pos += 5
	}
	return rune(n), err == nil
}

// number takes a number and returns how it is written.
func (l *lexer) number() (string, *Fault) {
	l.space()
	from := l.pos
	l.next('-')
	whole := l.digits()
	ok := whole == 1 || whole > 1 && l.data[l.pos-whole] != '0'
	if ok && l.next('.') {
		ok = l.digits() > 0
	}
	if ok && (l.next('e') || l.next('E')) {
		_ = l.next('-') || l.next('+')
		ok = l.digits() > 0
	}
	text := string(l.data[from:l.pos])
	if f, err := strconv.ParseFloat(text, 64); !ok || err != nil && math.IsInf(f, 0) {
		return "", l.wrong(from, "not a number")
	}
	if c := l.space(); c != 0 && strings.IndexByte(",]}", c) < 0 {
		return "", l.syntax()
	}
	return text, nil
}

func (l *lexer) digits() (n int) {
	for l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '9' {
		l.pos++
		n++
	}
	return n
}

// skip takes a value and leaves it.
func (l *lexer) skip() *Fault {
	switch c := l.space(); {
	case c == '{':
		return l.object(func(string, int) *Fault { return l.skip() })
	case c == '[':
		return l.list(l.skip)
	case c == '"' || c == '\'':
		_, err := l.text()
		return err
	case c == 't':
		return l.word("true")
	case c == 'f':
		return l.word("false")
	case c == 'n':
		return l.word("null")
	case isNumber(c):
		_, err := l.number()
		return err
	}
	return l.syntax()
}

func isNumber(c byte) bool { return c == '-' || c >= '0' && c <= '9' }
