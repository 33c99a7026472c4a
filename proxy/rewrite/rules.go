// Package rewrite changes header fields of requests on their way from a client
// to its server: :authority, and fields that are set to a value or to what a
// file holds.
//
// It is a push transformer beside the tap, not a part of it. It holds a header
// block until it is whole, and nothing else: DATA and every other frame pass
// byte for byte as they come. It starts no goroutine and opens no socket, looks
// at no response and at no message, and takes nothing away. Where it cannot
// follow what a client sends it says why and is of no more use: unlike a tap it
// cannot look away, because once one header block was encoded anew all later
// ones must be.
package rewrite

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxValue is the longest value, in bytes. It is what a header list has room
// for beside the fields of the client.
const maxValue = 32 << 10

// Rules say what is to be changed in the headers of each request. Trailers stay
// as they are.
type Rules struct {
	// Authority is put in the place of :authority, and of host where the
	// client sends one; "": they stay.
	Authority string
	Headers   []Header
}

// Header is a field that is set in each request: it replaces all fields of its
// name, or is added behind the others.
type Header struct {
	// Name is in lower case. If it ends in "-bin" the value is base64, as gRPC
	// sends it; it is not encoded here.
	Name string
	// Value is what it is set to, if File is "".
	Value string
	// File holds the value, a newline at its end aside. It is read again when
	// it changes. The value is taken for a credential whatever its name.
	File string
}

// Error is what is wrong with rules, in a sentence, and what helps.
type Error struct {
	Text string
	Hint string // or ""
}

func (e *Error) Error() string { return e.Text }

func wrong(hint, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), hint}
}

// ParseHeader reads name=value, as --header takes it. The error is an *Error.
func ParseHeader(s string) (Header, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return Header{}, wrong("write it as name=value", "header %q has no =", clip(s))
	}
	h := Header{Name: strings.ToLower(strings.TrimSpace(name)), Value: value}
	return h, h.Check()
}

// ParseHeaderFile reads name=path, as --header-from-file takes it. It does not
// look at the file. The error is an *Error.
func ParseHeaderFile(s string) (Header, error) {
	name, path, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return Header{}, wrong("write it as name=path", "header from a file %q has no path", clip(s))
	}
	h := Header{Name: strings.ToLower(strings.TrimSpace(name)), File: path}
	return h, h.Check()
}

// clip is what of a name may be quoted: what follows its first character that
// is none of a name may be a credential.
func clip(s string) string {
	for i := range len(s) {
		if i == 32 || !isTokenByte(s[i]) && (i > 0 || s[i] != ':') {
			return s[:i] + "…"
		}
	}
	return s
}

// Check says what is wrong with rules, but for their files. The error is an
// *Error.
func (r *Rules) Check() error {
	if r.Authority != "" {
		if err := checkAuthority(r.Authority); err != nil {
			return err
		}
	}
	for i, h := range r.Headers {
		if err := h.Check(); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Headers[:i], func(o Header) bool { return o.Name == h.Name }) {
			return wrong("values of one name are joined by a comma", "header %s is set twice", h.Name)
		}
	}
	return nil
}

// Check says what is wrong with a header, but for its file. The error is an
// *Error.
func (h *Header) Check() error {
	if err := checkName(h.Name); err != nil {
		return err
	}
	if h.File != "" {
		if h.Value != "" {
			return wrong("give one of them", "header %s has a value and a file", h.Name)
		}
		return nil
	}
	if err := checkValue(h.Name, h.Value); err != nil {
		return wrong("", "header %s cannot be set: %v", h.Name, err)
	}
	return nil
}

// checkName says why a field may not be set.
func checkName(name string) error {
	switch {
	case name == "":
		return wrong("write it as name=value", "a header without a name cannot be set")
	case name == ":authority" || name == "host":
		return wrong("set it by --upstream-authority", "header %s cannot be set like others", name)
	case name[0] == ':':
		return wrong("", "header %q cannot be set: it is a pseudo-header of HTTP/2", clip(name))
	}
	for i := range len(name) {
		if !isTokenByte(name[i]) || name[i] >= 'A' && name[i] <= 'Z' {
			return wrong("a name has lower-case letters, digits and - _ .", "header name %q has a character %q", clip(name), name[i])
		}
	}
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te", "trailer", "expect", "http2-settings":
		return wrong("", "header %s cannot be set: it is about the connection of the client", name)
	case "content-length", "content-type", "content-encoding":
		return wrong("", "header %s cannot be set: it describes what the client sends", name)
	}
	if strings.HasPrefix(name, "grpc-") {
		return wrong("", "header %s cannot be set: gRPC keeps names that begin with grpc- for itself", name)
	}
	return nil
}

// isTokenByte is tchar of RFC 9110 5.6.2.
func isTokenByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// checkValue says why a value is no field-value of RFC 9110 5.5, without
// quoting it.
func checkValue(name, v string) error {
	if len(v) > maxValue {
		return fmt.Errorf("its value has more than %d bytes", maxValue)
	}
	if v != strings.Trim(v, " \t") {
		return fmt.Errorf("its value begins or ends with a space")
	}
	for i := range len(v) {
		if b := v[i]; b < ' ' && b != '\t' || b == 0x7f {
			return fmt.Errorf("its value has the control character %#02x at byte %d", b, i+1)
		}
	}
	if strings.HasSuffix(name, "-bin") {
		for part := range strings.SplitSeq(v, ",") {
			if _, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Trim(part, " "), "=")); err != nil {
				return fmt.Errorf("its value is not base64, which a name that ends in -bin demands")
			}
		}
	}
	return nil
}

// checkAuthority says why s is no authority: host and port of RFC 3986 3.2,
// without user information, as RFC 9113 8.3.1 demands.
func checkAuthority(s string) error {
	refuse := func(why string) error {
		return wrong("it is a host name or an address, and a port where it needs one, such as istiod.istio-system.svc:15012",
			"authority %q is not one that a server takes: %s", s[:min(len(s), 80)], why)
	}
	if len(s) > 1<<10 {
		return refuse("it is too long")
	}
	if strings.Contains(s, "/") {
		return refuse("it has a /")
	}
	if strings.Contains(s, "@") {
		return refuse("it has a user name")
	}
	host, port := s, ""
	if strings.HasPrefix(s, "[") {
		inner, rest, ok := strings.Cut(s[1:], "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return refuse("what is in brackets is no IPv6 address")
		}
		if rest != "" && rest[0] != ':' {
			return refuse("something other than a port follows the address")
		}
		host, port = inner, strings.TrimPrefix(rest, ":")
		if rest == ":" {
			return refuse("the port is missing")
		}
		return checkPort(port, refuse)
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if host, port = s[:i], s[i+1:]; port == "" {
			return refuse("the port is missing")
		}
	}
	if host == "" {
		return refuse("the host is missing")
	}
	for i := 0; i < len(host); i++ {
		b := host[i]
		switch {
		case b == ':':
			return refuse("an IPv6 address stands in brackets")
		case b == '%':
			if _, err := strconv.ParseUint(host[i+1:min(i+3, len(host))], 16, 8); err != nil || i+3 > len(host) {
				return refuse("a % is not followed by two hexadecimal digits")
			}
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~!$&'()*+,;=", b) >= 0:
		default:
			return refuse(fmt.Sprintf("it has a character %q", b))
		}
	}
	return checkPort(port, refuse)
}

func checkPort(port string, refuse func(string) error) error {
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return refuse("its port is no number from 1 to 65535")
	}
	return nil
}
