package lenient

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// scalar reads a value that is no message; false if it is left out.
func (r *reader) scalar(fd protoreflect.FieldDescriptor, what string) (v protoreflect.Value, ok bool, err *Fault) {
	c := r.space()
	at := r.pos
	var text string
	isText := c == '"' || c == '\''
	switch {
	case isText:
		text, err = r.text()
	case isNumber(c):
		text, err = r.number()
	default:
		err = r.skip()
		text = string(r.data[at:r.pos]) // as written: true, false or null, if it is a value of any use
	}
	if err != nil {
		return v, false, err
	}
	if v, ok = valueOf(fd, text, isText, isNumber(c)); ok {
		return v, true, nil
	}
	switch {
	case fd.Enum() != nil && isText && r.exact != nil: // who reads it wrote it
		r.note(at, UnknownEnum, "%s is no word of the enum of %s", Quoted(text), Clipped(what))
		return v, false, nil
	case fd.Enum() != nil && isText:
		r.note(at, UnknownEnum, "this is no word of the enum of %s", Clipped(what))
		return v, false, nil
	}
	err = r.not(at, what, fd.Kind().String())
	if r.exact != nil && fd.Kind() == protoreflect.StringKind && c != '{' && c != '[' {
		err.Message += ": put it in quotes"
	}
	return v, false, err
}

func valueOf(fd protoreflect.FieldDescriptor, text string, isText, isNumber bool) (v protoreflect.Value, ok bool) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		b, ok := boolean(text)
		return protoreflect.ValueOfBool(b), ok && (isText || text == "true" || text == "false")
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), isText
	case protoreflect.BytesKind:
		b, ok := bytesOf(text)
		return protoreflect.ValueOfBytes(b), isText && ok
	case protoreflect.EnumKind:
		n, ok := enumNumber(fd.Enum(), text, isText, isNumber)
		return protoreflect.ValueOfEnum(n), ok
	}
	if !isText && !isNumber {
		return v, false
	}
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, ok := signed(text)
		return protoreflect.ValueOfInt32(int32(n)), ok && n >= math.MinInt32 && n <= math.MaxInt32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, ok := signed(text)
		return protoreflect.ValueOfInt64(n), ok
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, ok := unsigned(text)
		return protoreflect.ValueOfUint32(uint32(n)), ok && n <= math.MaxUint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, ok := unsigned(text)
		return protoreflect.ValueOfUint64(n), ok
	case protoreflect.FloatKind:
		f, ok := float(text)
		overflows := !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0)
		return protoreflect.ValueOfFloat32(float32(f)), ok && !overflows
	case protoreflect.DoubleKind:
		f, ok := float(text)
		return protoreflect.ValueOfFloat64(f), ok
	}
	return v, false // a group
}

// Number reads a scalar of a tree as a field of type uint32: of JSON, or of YAML,
// where it may be in hexadecimal or octal.
func Number(n *yaml.Node) (uint32, bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return 0, false
	}
	text := n.Value
	if i, ok := integer(text); ok && n.Tag != "!!str" && n.Style&quotes == 0 {
		text = strconv.FormatInt(i, 10)
	}
	u, ok := unsigned(text)
	return uint32(u), ok && u <= math.MaxUint32
}

func boolean(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "t", "yes", "y", "1":
		return true, true
	case "false", "f", "no", "n", "0":
		return false, true
	}
	return false, false
}

func signed(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, ok := whole(s, 1<<53)
	return int64(f), ok
}

func unsigned(s string) (uint64, bool) {
	if n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64); err == nil {
		return n, true
	}
	f, ok := whole(s, 1<<54)
	return uint64(f), ok && f >= 0
}

// whole reads an integer that is written as a number with a fraction.
func whole(s string, most float64) (float64, bool) {
	f, ok := float(s)
	return f, ok && f == math.Trunc(f) && math.Abs(f) <= most && !strings.ContainsFunc(s, unicode.IsSpace)
}

// float reads a number as C++ does: also in hexadecimal, and with space around it.
// What is too large is infinite.
func float(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	if strings.ContainsRune(s, '_') {
		return 0, false
	}
	if low := strings.ToLower(s); strings.HasPrefix(strings.TrimLeft(low, "+-"), "0x") && !strings.Contains(low, "p") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func enumNumber(e protoreflect.EnumDescriptor, text string, isText, isNumber bool) (protoreflect.EnumNumber, bool) {
	if !isText {
		if text == "null" {
			return 0, e.FullName() == "google.protobuf.NullValue"
		}
		n, ok := signed(text)
		return protoreflect.EnumNumber(n), isNumber && ok && n >= math.MinInt32 && n <= math.MaxInt32
	}
	if v := e.Values().ByName(protoreflect.Name(text)); v != nil {
		return v.Number(), true
	}
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); strings.EqualFold(string(v.Name()), text) {
			return v.Number(), true
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	return protoreflect.EnumNumber(n), err == nil
}

// bytesOf decodes base64 of either alphabet. Padding may be missing, but not a
// part of it.
func bytesOf(s string) ([]byte, bool) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	if strings.ContainsAny(s, "\r\n") { // which the decoder would skip
		return nil, false
	}
	if strings.HasSuffix(s, "=") {
		b, err := base64.StdEncoding.DecodeString(s)
		return b, err == nil
	}
	b, err := base64.RawStdEncoding.DecodeString(s)
	return b, err == nil
}

func mapKey(fd protoreflect.FieldDescriptor, key string) (protoreflect.MapKey, bool) {
	var v protoreflect.Value
	ok := true
	switch fd.Kind() {
	case protoreflect.StringKind:
		v = protoreflect.ValueOfString(key)
	case protoreflect.BoolKind:
		v, ok = protoreflect.ValueOfBool(key == "true"), key == "true" || key == "false"
	default: // integers, which a key has no fraction of
		if strings.ContainsAny(key, ".eExX") {
			return protoreflect.MapKey{}, false
		}
		v, ok = valueOf(fd, strings.TrimSpace(key), true, false)
	}
	return v.MapKey(), ok
}
