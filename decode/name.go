package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// A name of the form
//
//	xdstp://[authority]/type/id…[?key=value[&key=value]…]
//
// has parts, and can be written in more than one way. Any other name is as it
// is. Names are taken apart as Envoy does in source/common/config/xds_resource.cc:
// there a "#" is a character of the id, not the start of directives, which
// only locators have.

// xdstpName is such a name in its parts, still escaped.
type xdstpName struct{ authority, typ, id, query string }

func isXDSTP(name string) bool { return strings.HasPrefix(name, "xdstp:") }

// splitXDSTP is false for what cannot be taken apart.
func splitXDSTP(name string) (n xdstpName, ok bool) {
	rest, ok := strings.CutPrefix(name, "xdstp://")
	if !ok {
		return n, false
	}
	n.authority, rest, ok = strings.Cut(rest, "/")
	rest, n.query, _ = strings.Cut(rest, "?")
	n.typ, n.id, _ = strings.Cut(rest, "/")
	return n, ok && n.typ != ""
}

// NormalName is the one form in which names are compared: of an xdstp name
// with escapes only where they are needed and with sorted context parameters.
// A name that has no such form is its own.
func NormalName(name string) string {
	if !isXDSTP(name) || isNormal(name) {
		return name
	}
	n, ok := splitXDSTP(name)
	if !ok {
		return name
	}
	out := make([]byte, 0, len(name)+16)
	out = append(out, "xdstp://"...)
	out = appendEscaped(out, unescape(n.authority), "%/?#")
	out = append(append(out, '/'), n.typ...)
	if id := unescape(n.id); id != "" {
		out = appendEscaped(append(out, '/'), id, "%:?#[]")
	}
	for i, param := range contextParams(n.query) {
		out = append(append(out, "?&"[min(i, 1)]), param...)
	}
	return string(out)
}

// isNormal says of most names that are normal that they are.
func isNormal(name string) bool {
	const scheme = "xdstp://"
	if !strings.HasPrefix(name, scheme) || strings.HasSuffix(name, "/") {
		return false
	}
	for i := len(scheme); i < len(name); i++ {
		if c := name[i]; c < ' ' || c >= '~' || strings.IndexByte("%:?#[]", c) >= 0 {
			return false
		}
	}
	return true
}

// contextParams are the parameters of a query, escaped where they must be, and
// sorted. Of a key that comes twice the first value counts.
func contextParams(query string) []string {
	type param struct{ key, value string }
	var raw []param
	for rest := query; rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(one, "=")
		raw = append(raw, param{key, value})
	}
	slices.SortStableFunc(raw, func(a, b param) int { return strings.Compare(a.key, b.key) })
	raw = slices.CompactFunc(raw, func(a, b param) bool { return a.key == b.key })
	values := make(map[string]string, len(raw))
	for _, p := range raw {
		values[unescape(p.key)] = unescape(p.value)
	}
	out := make([]string, 0, len(values))
	for key, value := range values {
		one := append(appendEscaped(nil, key, "%#[]&="), '=')
		out = append(out, string(appendEscaped(one, value, "%#[]&=")))
	}
	slices.Sort(out)
	return out
}

// unescape leaves a percent sign alone that begins no escape.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func appendEscaped(out []byte, s, reserved string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= '~' || strings.IndexByte(reserved, c) >= 0 {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return out
}

// NameType is the resource type that an xdstp name is of, such as
// "envoy.config.listener.v3.Listener". Other names have none. The error says
// what is wrong with a name that has the scheme and not the form.
func NameType(name string) (typ string, isName bool, err error) {
	if !isXDSTP(name) {
		return "", false, nil
	}
	n, ok := splitXDSTP(name)
	wrong := ""
	switch {
	case !strings.HasPrefix(name, "xdstp://"):
		wrong = `"//" does not follow the scheme`
	case !ok:
		wrong = "it has no resource type"
	case n.id == "":
		wrong = "it has no id"
	default:
		wrong = wrongCharacter(name)
	}
	if wrong != "" {
		return n.typ, true, fmt.Errorf("the name %q is not valid: %s", clip.Text(name, 200), wrong)
	}
	return n.typ, true, nil
}

func wrongCharacter(name string) string {
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c == 0x7f:
			return fmt.Sprintf("it has a character %q", c)
		case c == '%' && (i+2 >= len(name) || !isHex(name[i+1]) || !isHex(name[i+2])):
			return `a "%" is not followed by two hexadecimal digits`
		}
	}
	return ""
}
