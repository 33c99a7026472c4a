package filter

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a text in which * stands for any text, or a regular expression.
// Capital and small letters are the same.
type pattern struct {
	re   *regexp.Regexp
	text string // in small letters
	// plain says that all of text is ASCII, so that bytes can be compared.
	plain bool
	star  bool
}

// parsePattern reads /re/ or a text with stars.
func parsePattern(s string) (pattern, *Error) {
	if !isExpression(s) {
		return literal(s), nil
	}
	expr := s[1 : len(s)-1]
	_, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		var p pattern
		if p.re, err = regexp.Compile("(?im)" + expr); err == nil {
			return p, nil
		}
	}
	reason := err.Error()
	if e, is := errors.AsType[*syntax.Error](err); is {
		reason = e.Code.String()
	}
	return pattern{}, wrong("%q is not a regular expression: %s", s, reason)
}

func isExpression(s string) bool {
	return len(s) > len("//") && s[0] == '/' && s[len(s)-1] == '/'
}

func literal(s string) pattern {
	s = strings.ToLower(s)
	p := pattern{text: s, plain: true, star: strings.Contains(s, "*")}
	for i := range len(s) {
		p.plain = p.plain && s[i] < utf8.RuneSelf
	}
	return p
}

// is says whether all of s fits; an expression may fit anywhere in it.
func (p *pattern) is(s string) bool {
	switch {
	case p.re != nil:
		return p.re.MatchString(s)
	case !p.plain:
		s = strings.ToLower(s)
	}
	if p.star {
		return fits(p.text, s)
	}
	return len(s) == len(p.text) && same(s, p.text)
}

// in says whether some part of s fits.
func (p *pattern) in(s string) bool {
	switch {
	case p.re != nil:
		return p.re.MatchString(s)
	case !p.plain:
		s = strings.ToLower(s)
	}
	for rest, more := p.text, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "*")
		at := index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}

// fits compares all of s with a pattern with stars: between them, each part is
// looked for as far to the left as possible.
func fits(pattern, s string) bool {
	head, rest, _ := strings.Cut(pattern, "*")
	if len(s) < len(head) || !same(s[:len(head)], head) {
		return false
	}
	s = s[len(head):]
	for {
		part, more, starred := strings.Cut(rest, "*")
		if !starred {
			return len(s) >= len(part) && same(s[len(s)-len(part):], part)
		}
		at := index(s, part)
		if at < 0 {
			return false
		}
		s, rest = s[at+len(part):], more
	}
}

// index is where in s the text sub, which is in small letters, begins, or -1.
func index(s, sub string) int {
	if sub == "" {
		return 0
	}
	small := sub[0]
	large := small
	if 'a' <= small && small <= 'z' {
		large -= 'a' - 'A'
	}
	for i := 0; i+len(sub) <= len(s); i++ {
		if c := s[i]; (c == small || c == large) && same(s[i:i+len(sub)], sub) {
			return i
		}
	}
	return -1
}

// same compares texts of the same length; b is in small letters.
func same(s, b string) bool {
	for i := range len(b) {
		if c := s[i]; c != b[i] && (c < 'A' || c > 'Z' || c+('a'-'A') != b[i]) {
			return false
		}
	}
	return true
}
