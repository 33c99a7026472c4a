package lenient

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb" // no message of Envoy's has one, but an Any may
)

// special is a type that has a form of its own; without read it has none.
type special struct {
	read   func(r *reader, m protoreflect.Message, what string) *Fault
	object bool // it may be an object like any other message, too
	null   bool // null is one with nothing in it
}

func specialOf(name protoreflect.FullName) special {
	switch name {
	case "google.protobuf.Any":
		return special{read: (*reader).any}
	case "google.protobuf.Value":
		return special{read: (*reader).anyValue}
	case "google.protobuf.Struct":
		return special{read: (*reader).structure, null: true}
	case "google.protobuf.ListValue":
		return special{read: (*reader).listValue, object: true, null: true}
	case "google.protobuf.Duration":
		return special{read: (*reader).duration, object: true, null: true}
	case "google.protobuf.Timestamp":
		return special{read: (*reader).timestamp, object: true, null: true}
	case "google.protobuf.FieldMask":
		return special{read: (*reader).fieldMask, object: true}
	case "google.protobuf.BoolValue", "google.protobuf.BytesValue", "google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int32Value",
		"google.protobuf.Int64Value", "google.protobuf.StringValue", "google.protobuf.UInt32Value", "google.protobuf.UInt64Value":
		return special{read: (*reader).wrapper, object: true, null: true}
	}
	return special{}
}

func (r *reader) wrapper(m protoreflect.Message, what string) *Fault {
	return r.set(m, m.Descriptor().Fields().ByNumber(1), what)
}

func (r *reader) structure(m protoreflect.Message, what string) *Fault {
	fd := m.Descriptor().Fields().ByNumber(1)
	if r.space() != '{' {
		return r.not(r.pos, what, "Struct")
	}
	return r.mapping(m.Mutable(fd).Map(), fd, what)
}

func (r *reader) listValue(m protoreflect.Message, what string) *Fault {
	if r.space() != '[' {
		return r.not(r.pos, what, "ListValue")
	}
	fd := m.Descriptor().Fields().ByNumber(1)
	return r.elements(m.Mutable(fd).List(), fd, what)
}

// anyValue reads a Value; its fields are numbered by what JSON has.
func (r *reader) anyValue(m protoreflect.Message, what string) *Fault {
	fields := m.Descriptor().Fields()
	switch c := r.space(); {
	case c == '{':
		return r.message(m.Mutable(fields.ByNumber(5)).Message(), what, false)
	case c == '[':
		return r.message(m.Mutable(fields.ByNumber(6)).Message(), what, false)
	case c == 'n':
		m.Set(fields.ByNumber(1), protoreflect.ValueOfEnum(0))
		return r.word("null")
	case c == '"' || c == '\'':
		return r.set(m, fields.ByNumber(3), what)
	case isNumber(c):
		return r.set(m, fields.ByNumber(2), what)
	}
	return r.set(m, fields.ByNumber(4), what)
}

func (r *reader) set(m protoreflect.Message, fd protoreflect.FieldDescriptor, what string) *Fault {
	v, ok, err := r.scalar(fd, what)
	if ok && err == nil {
		m.Set(fd, v)
	}
	return err
}

// textOf takes a text that a message stands as.
func (r *reader) textOf(what, kind string) (text string, at int, err *Fault) {
	c := r.space()
	at = r.pos
	if c != '"' && c != '\'' {
		return "", at, r.not(at, what, kind)
	}
	text, err = r.text()
	return text, at, err
}

func setTime(m protoreflect.Message, seconds int64, nanos int32) {
	fields := m.Descriptor().Fields()
	m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(seconds))
	m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(nanos))
}

func (r *reader) duration(m protoreflect.Message, what string) *Fault {
	const most = 3652500 * 86400
	text, at, err := r.textOf(what, "Duration")
	if err != nil {
		return err
	}
	number, ok := strings.CutSuffix(text, "s")
	whole, fraction, split := strings.Cut(number, ".")
	seconds, bad := strconv.ParseInt(whole, 10, 64)
	nanos, fine := nanosOf(fraction)
	if !ok || bad != nil || whole[0] == '+' || split && !fine {
		return r.not(at, what, "Duration")
	}
	if seconds > most || seconds < -most {
		return r.wrong(at, "%s is out of the range of a Duration", Clipped(what))
	}
	if whole[0] == '-' {
		nanos = -nanos
	}
	setTime(m, seconds, nanos)
	return nil
}

// nanosOf reads the digits after a point, of which there are one to nine.
func nanosOf(digits string) (int32, bool) {
	if len(digits) < 1 || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", 9-len(digits)), 10, 32)
	return int32(n), err == nil
}

// timestamp reads a time; a month or a day that there is not is one of the next
// year or month.
func (r *reader) timestamp(m protoreflect.Message, what string) *Fault {
	text, at, err := r.textOf(what, "Timestamp")
	if err != nil {
		return err
	}
	seconds, nanos, ok := timeOf(text)
	if !ok {
		return r.not(at, what, "Timestamp")
	}
	setTime(m, seconds, nanos)
	return nil
}

func timeOf(s string) (seconds int64, nanos int32, ok bool) {
	const layout = "0000-00-00T00:00:00"
	if len(s) <= len(layout) || !shaped(s[:len(layout)], layout) {
		return 0, 0, false
	}
	n := func(from, to int) int {
		v, _ := strconv.Atoi(s[from:to]) // digits
		return v
	}
	year, month, day := n(0, 4), n(5, 7), n(8, 10)
	if year == 0 || month == 0 || day == 0 {
		return 0, 0, false
	}
	seconds = time.Date(year, time.Month(month), day, n(11, 13), n(14, 16), n(17, 19), 0, time.UTC).Unix()
	rest := s[len(layout):]
	if fraction, is := strings.CutPrefix(rest, "."); is {
		end := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
		if nanos, ok = nanosOf(fraction[:end]); !ok {
			return 0, 0, false
		}
		rest = fraction[end:]
	}
	if rest == "Z" {
		return seconds, nanos, true
	}
	if !shaped(rest, "+00:00") && !shaped(rest, "-00:00") {
		return 0, 0, false
	}
	hours, _ := strconv.Atoi(rest[1:3])
	minutes, _ := strconv.Atoi(rest[4:6])
	offset := int64(hours*60+minutes) * 60
	if rest[0] == '-' {
		offset = -offset
	}
	return seconds - offset, nanos, true
}

// shaped says whether a text is like another, in which 0 stands for any digit.
func shaped(s, like string) bool {
	if len(s) != len(like) {
		return false
	}
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; like[i] == '0' && !digit || like[i] != '0' && s[i] != like[i] {
			return false
		}
	}
	return true
}

func (r *reader) fieldMask(m protoreflect.Message, what string) *Fault {
	text, _, err := r.textOf(what, "FieldMask")
	if err != nil || text == "" {
		return err
	}
	fd := m.Descriptor().Fields().ByNumber(1)
	for path := range strings.SplitSeq(text, ",") {
		var b strings.Builder
		for i := range len(path) {
			c := path[i]
			if c >= 'A' && c <= 'Z' {
				b.WriteByte('_')
				c += 'a' - 'A'
			}
			b.WriteByte(c)
		}
		m.Mutable(fd).List().Append(protoreflect.ValueOfString(b.String()))
	}
	return nil
}

// JSONName is the JSON name that protobuf derives from a field name.
func JSONName(name string) string {
	var b strings.Builder
	up := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_':
			up = true
			continue
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}
