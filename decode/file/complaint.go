package file

import (
	"regexp"
	"strconv"
	"strings"
)

// complaint is what a parser of protobuf says, taken apart.
type complaint struct {
	line, col int
	kind      trouble
	// what is the field, the type or the word that it is about. It is no value,
	// but for a word that stands where an enum should.
	what string
	text string // of other kinds, without any value
}

type trouble int

const (
	troubleOther trouble = iota
	troubleField         // a field that the message does not have
	troubleTwice         // a field that stands twice
	troubleEnum          // a word that the enum does not have
	troubleType          // a type that is not known
)

var (
	placeOf  = regexp.MustCompile(`^proto:[\s\x{a0}]*(syntax error )?\(line (\d+):(\d+)\): (?s)(.*)$`)
	fieldOf  = regexp.MustCompile(`^unknown field:? "?([^"]*)"?$`)
	twiceOf  = regexp.MustCompile(`^(?:duplicate field|duplicate map key) "?([^"]*)"?$`)
	enumOf   = regexp.MustCompile(`^invalid value for enum (?:field ([^\s:]+)|type): (.*)$`)
	typeOf   = regexp.MustCompile(`^unable to resolve (?:message )?[\["]+([^\]"]*)[\]"]+: `)
	oneofOf  = regexp.MustCompile(`^error parsing "?([^",]*)"?, (oneof \S+ is already set)`)
	valueOf  = regexp.MustCompile(`^invalid value for (\w+) (?:field ([^\s:]+)|type|key)`)
	repeatOf = regexp.MustCompile(`^non-repeated field "\\?"?([^"\\]*)`)
)

// complaintOf takes an error of protojson or prototext apart. It keeps nothing
// of the text that it does not know, since that may quote a secret.
func complaintOf(err error) complaint {
	text := err.Error()
	c := complaint{}
	syntax := false
	if m := placeOf.FindStringSubmatch(text); m != nil {
		c.line, _ = strconv.Atoi(m[2])
		c.col, _ = strconv.Atoi(m[3])
		text, syntax = m[4], m[1] != ""
	} else {
		text = strings.TrimLeft(strings.TrimPrefix(text, "proto:"), " \u00a0")
	}
	switch {
	case fieldOf.MatchString(text):
		c.kind, c.what = troubleField, fieldOf.FindStringSubmatch(text)[1]
	case twiceOf.MatchString(text):
		c.kind, c.what = troubleTwice, twiceOf.FindStringSubmatch(text)[1]
	case enumOf.MatchString(text):
		c.kind, c.what = troubleEnum, enumOf.FindStringSubmatch(text)[1]
	case typeOf.MatchString(text):
		c.kind, c.what = troubleType, typeOf.FindStringSubmatch(text)[1]
	case oneofOf.MatchString(text):
		m := oneofOf.FindStringSubmatch(text)
		c.text = m[1] + ": " + m[2]
	case repeatOf.MatchString(text):
		c.text = "the field " + repeatOf.FindStringSubmatch(text)[1] + " stands twice"
	case valueOf.MatchString(text):
		m := valueOf.FindStringSubmatch(text)
		c.text = "not a value of type " + m[1]
		if m[2] != "" {
			c.text = m[2] + " is of type " + m[1] + ", and this value is not"
		}
	case strings.Contains(text, "unexpected token "):
		c.text = "unexpected " + tokenKind(text[strings.Index(text, "unexpected token ")+len("unexpected token "):])
	case strings.HasPrefix(text, "unexpected EOF"), strings.HasPrefix(text, "unexpected end"):
		c.text = "it ends in the middle"
	case strings.Contains(text, "recursion depth"):
		c.text = "nested too deep"
	case strings.HasPrefix(text, "invalid google.protobuf."):
		c.text = "not a " + firstWord(strings.TrimPrefix(text, "invalid google.protobuf."))
	case strings.HasPrefix(text, "google.protobuf."):
		c.text = "out of the range of a " + firstWord(strings.TrimPrefix(text, "google.protobuf."))
	case strings.HasPrefix(text, `missing "@type"`):
		c.text = `the member "@type" is missing`
	case strings.Contains(text, "@type"):
		c.text = `the member "@type" is not a type`
	case strings.HasPrefix(text, `missing "value"`):
		c.text = `the member "value" is missing`
	case syntax:
		c.text = "syntax error"
	default:
		c.text = "not a DiscoveryResponse"
	}
	return c
}

// tokenKind says what a token is, without what it says.
func tokenKind(raw string) string {
	switch {
	case raw == "":
		return "end"
	case raw[0] == '"' || raw[0] == '\'':
		return "text"
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return "number"
	case raw[0] == '{' || raw[0] == '}' || raw[0] == '[' || raw[0] == ']' || raw[0] == ',' || raw[0] == ':':
		return strconv.Quote(raw[:1])
	case raw == "true" || raw == "false" || raw == "null":
		return raw
	}
	return "word"
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// error is the complaint in words, at a place.
func (c complaint) error() *Error {
	var e *Error
	switch c.kind {
	case troubleField:
		e = wrong("there is no field %s", quoted(c.what))
	case troubleTwice:
		e = wrong("the field %s stands twice", quoted(c.what))
	case troubleEnum:
		e = wrong("this is no word of its enum")
		if c.what != "" {
			e = wrong("this is no word of the enum of %s", clipped(c.what))
		}
	case troubleType:
		e = wrong("the type %s is not known to xdsproxy", quoted(c.what))
	default:
		e = wrong("%s", c.text)
	}
	return e.at(c.line, c.col)
}

func quoted(s string) string { return strconv.Quote(clipped(s)) }

// clipped keeps an error in one line.
func clipped(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
