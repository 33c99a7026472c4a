package filter

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

// Parse reads terms that are separated by spaces. What is wrong is an *Error.
//
//	KEY:VALUE     a comma between values is or, a - before the term negates it
//	WORD          anywhere in the summary of an entry
//	"a b"         quotes keep spaces, commas and colons, in a word or a value
//	a*b  /a.*b/   a glob, a regular expression; capital letters do not matter
//
// Only the first colon separates key and value.
func Parse(text string) (*Filter, error) {
	f := &Filter{text: text}
	p := parser{text: text}
	for {
		p.space()
		if p.at == len(text) {
			break
		}
		t, err := p.term()
		if err != nil {
			err.Text = text
			return nil, err
		}
		f.add(t)
	}
	slices.SortStableFunc(f.terms, func(a, b term) int { return a.cost() - b.cost() })
	return f, nil
}

func (f *Filter) add(t term) {
	f.terms = append(f.terms, t)
	of := t.key.needs
	for _, v := range t.values {
		switch v := v.(type) {
		case kind:
			of.History = of.History || v.history()
		case *last:
			of.End = true
		case *typ:
			of.Content = of.Content || v.short == ""
		}
	}
	n := &f.needs
	n.Summary, n.Body, n.Findings = n.Summary || of.Summary, n.Body || of.Body, n.Findings || of.Findings
	n.Node, n.History, n.End = n.Node || of.Node, n.History || of.History, n.End || of.End
	n.Content = n.Content || of.Content
}

// cost orders terms by what it takes to try them.
func (t *term) cost() int {
	switch {
	case t.key.needs.Body:
		return 2
	case t.key.needs.Summary:
		return 1
	}
	return 0
}

// parser reads one term after the other.
type parser struct {
	text string
	at   int
}

// piece is a key, a value or a word without its quotes.
type piece struct {
	text   string
	at     int // where it begins
	quoted bool
}

// cut and tail say whether it may be the beginning, or the end, of a regular
// expression with a comma in it.
func (p piece) cut() bool {
	return !p.quoted && strings.HasPrefix(p.text, "/") && strings.Count(p.text, "/") == 1
}

func (p piece) tail() bool {
	return !p.quoted && strings.HasSuffix(p.text, "/") && strings.Count(p.text, "/") == 1
}

func (p *parser) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// wrong says where an error is.
func (p *parser) wrong(at int, err *Error) *Error {
	err.Column = utf8.RuneCountInString(p.text[:at]) + 1
	return err
}

func (p *parser) term() (t term, err *Error) {
	t.negated = p.text[p.at] == '-'
	if t.negated {
		p.at++
	}
	name, values, err := p.pieces()
	if err != nil {
		return t, err
	}
	if name == nil {
		t.key = bare()
		if err := p.operator(values); err != nil {
			return t, err
		}
	} else if t.key, err = p.key(name); err != nil {
		return t, err
	}
	for i, v := range values {
		if v.cut() && slices.ContainsFunc(values[i+1:], piece.tail) {
			return t, p.wrong(v.at, wrong("a comma ends %q", v.text)).hint("quotes keep the comma of a regular expression")
		}
		if v.text == "" {
			return t, p.wrong(v.at, wrong("a value is missing")).hint("after a colon, a comma or a - no space follows; quotes keep spaces")
		}
		value, err := t.key.parse(v.text)
		if err != nil {
			return t, p.wrong(v.at, err)
		}
		t.values = append(t.values, value)
	}
	return t, nil
}

// pieces reads a term; name is nil if there is no key.
func (p *parser) pieces() (name *piece, values []piece, err *Error) {
	var b strings.Builder
	now := piece{at: p.at}
	quote := -1 // where the open one is
	end := func() piece {
		now.text = b.String()
		b.Reset()
		return now
	}
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case c == '"' && quote < 0:
			quote, now.quoted = p.at, true
		case c == '"':
			quote = -1
		case quote >= 0:
			b.WriteByte(c)
		case c == ':' && name == nil && len(values) == 0:
			key := end()
			name, now = &key, piece{at: p.at + 1}
		case c == ',':
			values = append(values, end())
			now = piece{at: p.at + 1}
		default:
			if r, _ := utf8.DecodeRuneInString(p.text[p.at:]); unicode.IsSpace(r) {
				return name, append(values, end()), nil
			}
			b.WriteByte(c)
		}
	}
	if quote >= 0 {
		return nil, nil, p.wrong(quote, wrong("a quote that does not end"))
	}
	return name, append(values, end()), nil
}

// operator refuses what other languages join terms with.
func (p *parser) operator(words []piece) *Error {
	w := words[0]
	if w.quoted || len(words) > 1 {
		return nil
	}
	sign := strings.ToLower(w.text)
	switch sign {
	case "or", "and", "|", "||", "&", "&&", "(", ")", "!":
	default:
		if !strings.HasPrefix(sign, "(") {
			return nil
		}
		sign = "("
	}
	return p.wrong(w.at, wrong("unexpected %q", sign)).hint("%s", joining)
}

const joining = "terms one after the other must all hold; a comma between values is or: type:eds,cds; quotes search for the word itself"

func (p *parser) key(name *piece) (*key, *Error) {
	if strings.HasPrefix(name.text, "(") && !name.quoted {
		return nil, p.wrong(name.at, wrong("unexpected %q", "(")).hint("%s", joining)
	}
	word := strings.ToLower(name.text)
	if k := keyNamed(word); k != nil {
		return k, nil
	}
	if word == "" {
		return nil, p.wrong(name.at, wrong("a key is missing before the colon")).hint("the keys are %s", strings.Join(keyNames(), ", "))
	}
	err := wrong("unknown key %q", name.text).nearest(nearest.Name(word, keyNames()))
	if err.Nearest == "" {
		err.hint("the keys are %s; quotes search for a word with a colon in it", strings.Join(keyNames(), ", "))
	}
	return nil, p.wrong(name.at, err)
}
