package constraints

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What well_known_regex stands for.
const (
	headerName  = "^:?[0-9a-zA-Z!#$%&'*+-.^_|~\x60]+$"
	headerValue = "^[^\u0000-\u0008\u000A-\u001F\u007F]*$"
	headerAny   = "^[^\u0000\u000A\u000D]*$" // if it is not strict
)

// lengths is what is wrong with a text of so many runes or bytes.
func lengths(exact, least, most *uint64, unit string) func(uint64) string {
	if least != nil && most != nil && *least == *most {
		exact = least
	}
	return func(n uint64) string {
		switch {
		case exact != nil && n != *exact:
			return fmt.Sprintf("value length must be %d %s", *exact, unit)
		case exact != nil:
		case least != nil && most != nil && (n < *least || n > *most):
			return fmt.Sprintf("value length must be between %d and %d %s, inclusive", *least, *most, unit)
		case least != nil && most == nil && n < *least:
			return fmt.Sprintf("value length must be at least %d %s", *least, unit)
		case least == nil && most != nil && n > *most:
			return fmt.Sprintf("value length must be at most %d %s", *most, unit)
		}
		return ""
	}
}

func textTests(r *validate.StringRules) (tests []test) {
	add := func(right func(string) bool, reason string) {
		tests = append(tests, when(protoreflect.Value.String, right, reason))
	}
	if r.Const != nil {
		add(func(s string) bool { return s == r.GetConst() }, "value must equal "+r.GetConst())
	}
	tests = append(tests, listed(protoreflect.Value.String, r.GetIn(), r.GetNotIn(), fmt.Sprint(r.GetIn()), fmt.Sprint(r.GetNotIn()))...)
	if r.Len != nil || r.MinLen != nil || r.MaxLen != nil {
		of := lengths(r.Len, r.MinLen, r.MaxLen, "runes")
		tests = append(tests, func(v protoreflect.Value) problem {
			return problem{reason: of(uint64(utf8.RuneCountInString(v.String())))}
		})
	}
	if r.LenBytes != nil || r.MinBytes != nil || r.MaxBytes != nil {
		of := lengths(r.LenBytes, r.MinBytes, r.MaxBytes, "bytes")
		tests = append(tests, func(v protoreflect.Value) problem { return problem{reason: of(uint64(len(v.String())))} })
	}
	if r.Prefix != nil {
		add(func(s string) bool { return strings.HasPrefix(s, r.GetPrefix()) }, fmt.Sprintf("value does not have prefix %q", r.GetPrefix()))
	}
	if r.Suffix != nil {
		add(func(s string) bool { return strings.HasSuffix(s, r.GetSuffix()) }, fmt.Sprintf("value does not have suffix %q", r.GetSuffix()))
	}
	if r.Contains != nil {
		add(func(s string) bool { return strings.Contains(s, r.GetContains()) }, fmt.Sprintf("value does not contain substring %q", r.GetContains()))
	}
	if r.NotContains != nil {
		add(func(s string) bool { return !strings.Contains(s, r.GetNotContains()) }, fmt.Sprintf("value contains substring %q", r.GetNotContains()))
	}
	if re, err := regexp.Compile(patternOf(r)); err == nil && re.String() != "" {
		add(re.MatchString, fmt.Sprintf("value does not match regex pattern %q", re.String()))
	}
	return tests
}

func patternOf(r *validate.StringRules) string {
	switch known := r.GetWellKnownRegex(); {
	case known == validate.KnownRegex_UNKNOWN:
		return r.GetPattern()
	case !r.GetStrict():
		return headerAny
	case known == validate.KnownRegex_HTTP_HEADER_NAME:
		return headerName
	}
	return headerValue
}

func bytesTests(r *validate.BytesRules) (tests []test) {
	if r.Len != nil || r.MinLen != nil || r.MaxLen != nil {
		of := lengths(r.Len, r.MinLen, r.MaxLen, "bytes")
		tests = append(tests, func(v protoreflect.Value) problem { return problem{reason: of(uint64(len(v.Bytes())))} })
	}
	if r.Const != nil {
		tests = append(tests, when(protoreflect.Value.Bytes, func(b []byte) bool { return bytes.Equal(b, r.GetConst()) }, fmt.Sprint("value must equal ", r.GetConst())))
	}
	return tests
}
