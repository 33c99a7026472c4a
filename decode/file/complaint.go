package file

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

var (
	placeOf  = regexp.MustCompile(`^proto:[\s\x{a0}]*(syntax error )?\(line (\d+):(\d+)\): (?s)(.*)$`)
	fieldOf  = regexp.MustCompile(`^unknown field:? "?([^"]*)"?$`)
	typeOf   = regexp.MustCompile(`^unable to resolve (?:message )?[\["]+([^\]"]*)[\]"]+: `)
	valueOf  = regexp.MustCompile(`^invalid value for (\w+) (?:field ([^\s:]+)|type|key)`)
	repeatOf = regexp.MustCompile(`^non-repeated field "\\?"?([^"\\]*)`)
	oneofOf  = regexp.MustCompile(`^error parsing "?([^",]*)"?, (oneof \S+ is already set)`)
)

// complaint is what prototext says, at its place. Of what is not known here
// nothing is kept, since it may quote a secret.
func complaint(err error) *Error {
	said, line, col, syntax := err.Error(), 0, 0, false
	if m := placeOf.FindStringSubmatch(said); m != nil {
		line, _ = strconv.Atoi(m[2])
		col, _ = strconv.Atoi(m[3])
		said, syntax = m[4], m[1] != ""
	} else {
		said = strings.TrimLeft(strings.TrimPrefix(said, "proto:"), " \u00a0")
	}
	text := "not a DiscoveryResponse"
	field := fieldOf.FindStringSubmatch(said)
	typ := typeOf.FindStringSubmatch(said)
	value := valueOf.FindStringSubmatch(said)
	repeat := repeatOf.FindStringSubmatch(said)
	oneof := oneofOf.FindStringSubmatch(said)
	switch {
	case field != nil:
		text = "there is no field " + lenient.Quoted(field[1])
	case typ != nil:
		text = "the type " + lenient.Quoted(typ[1]) + " is not known to xdsproxy"
	case repeat != nil:
		text = "the field " + lenient.Quoted(repeat[1]) + " stands twice"
	case oneof != nil:
		text = oneof[1] + ": " + oneof[2]
	case value != nil && value[2] != "":
		text = value[2] + " is of type " + value[1] + ", and this value is not"
	case value != nil:
		text = "not a value of type " + value[1]
	case strings.HasPrefix(said, "unexpected EOF"), strings.HasPrefix(said, "unexpected end"):
		text = "it ends in the middle"
	case strings.Contains(said, "recursion depth"):
		text = "nested too deep"
	case syntax:
		text = "syntax error"
	}
	return wrong("%s", text).at(line, col)
}
