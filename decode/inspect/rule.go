package inspect

import (
	"bytes"
	"cmp"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// rule is the constraint of protoc-gen-validate on one field, in a form that
// is quick to try on wire values. It may find fault with what is right, never
// the other way round: a message that it finds fault with is unmarshalled, and
// package constraints decides.
type rule struct {
	unsure   bool // the constraint is of a kind that is not tried on bytes
	required bool // of a message
	// number takes a varint or fixed-width value, text the body of a string, of
	// bytes, of a Duration or of a wrapper. Each says whether all is well.
	number func(uint64) bool
	text   func([]byte) bool
	items  *rule // of each element of a list
	keys   *rule // of a map
	values *rule
	fewest uint64
	most   uint64
}

func (r *rule) num(v uint64) bool  { return !r.unsure && (r.number == nil || r.number(v)) }
func (r *rule) body(b []byte) bool { return !r.unsure && (r.text == nil || r.text(b)) }

// failsAbsent says whether the field must be there.
func (r *rule) failsAbsent(fd protoreflect.FieldDescriptor) bool {
	switch {
	case fd.IsList() || fd.IsMap():
		return r.unsure || r.fewest > 0
	case fd.HasPresence():
		return r.required && fd.ContainingOneof() == nil
	}
	return !r.num(0) || !r.body(nil)
}

func compileRule(fd protoreflect.FieldDescriptor, rules protoreflect.Message) *rule {
	r := &rule{most: math.MaxUint64}
	rules.Range(func(of protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if of.Message() == nil {
			r.unsure = true
			return true
		}
		m := v.Message()
		switch of.Name() {
		case "message", "timestamp", "any":
			eachRule(m, func(name string, v protoreflect.Value) {
				switch name {
				case "required":
					r.required = v.Bool()
				case "skip": // less to find fault with
				default:
					r.unsure = true
				}
			})
		case "repeated", "map":
			r.lengths(fd, m)
		case "string", "bytes":
			r.strings(m)
		case "duration":
			r.duration(m)
		case "enum":
			r.enum(fd, m)
		default:
			r.numbers(string(of.Name()), m)
		}
		return true
	})
	if fd.Message() != nil && !fd.IsMap() && (r.number != nil || r.text != nil) && fd.Message().FullName() != "google.protobuf.Duration" {
		r.unwrap()
	}
	return r
}

func eachRule(m protoreflect.Message, f func(name string, v protoreflect.Value)) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		f(string(fd.Name()), v)
		return true
	})
}

// and adds a test to those that there are.
func (r *rule) and(test func([]byte) bool) {
	if before := r.text; before != nil {
		r.text = func(b []byte) bool { return before(b) && test(b) }
		return
	}
	r.text = test
}

// unwrap makes a rule on a value one on the message that wraps the value.
func (r *rule) unwrap() {
	number, text := r.number, r.text
	r.number = nil
	r.text = func(b []byte) bool {
		bits, body := uint64(0), []byte(nil)
		for s := protoscan.Of(b); s.Next(); {
			if s.Num == 1 {
				bits, body = s.Uint, s.Body
			}
		}
		return (number == nil || number(bits)) && (text == nil || text(body))
	}
}

func (r *rule) lengths(fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	eachRule(m, func(name string, v protoreflect.Value) {
		switch name {
		case "min_items", "min_pairs":
			r.fewest = v.Uint()
		case "max_items", "max_pairs":
			r.most = v.Uint()
		// A description from elsewhere may have these on whatever field.
		case "items":
			if fd.IsList() {
				r.items = compileRule(fd, v.Message())
			}
		case "keys":
			if fd.IsMap() {
				r.keys = compileRule(fd.MapKey(), v.Message())
			}
		case "values":
			if fd.IsMap() {
				r.values = compileRule(fd.MapValue(), v.Message())
			}
		default: // unique, no_sparse, whatever comes next
			r.unsure = true
		}
	})
}

func (r *rule) strings(m protoreflect.Message) {
	count := func(b []byte) uint64 { return uint64(utf8.RuneCount(b)) }
	if m.Descriptor().Name() == "BytesRules" {
		count = func(b []byte) uint64 { return uint64(len(b)) }
	}
	strict, ignoreEmpty := true, false
	eachRule(m, func(name string, v protoreflect.Value) {
		switch name {
		case "strict":
			strict = v.Bool()
		case "ignore_empty":
			ignoreEmpty = v.Bool()
		}
	})
	eachRule(m, func(name string, v protoreflect.Value) {
		switch name {
		case "strict", "ignore_empty":
		case "min_len":
			if n := v.Uint(); n == 1 {
				r.and(func(b []byte) bool { return len(b) > 0 })
			} else {
				r.and(func(b []byte) bool { return count(b) >= n })
			}
		case "max_len":
			r.and(func(b []byte) bool { return uint64(len(b)) <= v.Uint() || count(b) <= v.Uint() })
		case "min_bytes":
			r.and(func(b []byte) bool { return uint64(len(b)) >= v.Uint() })
		case "max_bytes":
			r.and(func(b []byte) bool { return uint64(len(b)) <= v.Uint() })
		case "prefix", "suffix":
			part := []byte(ruleText(v))
			has := bytes.HasPrefix
			if name == "suffix" {
				has = bytes.HasSuffix
			}
			r.and(func(b []byte) bool { return has(b, part) })
		case "in", "not_in":
			words := make(map[string]bool)
			for i := range v.List().Len() {
				words[ruleText(v.List().Get(i))] = true
			}
			r.and(func(b []byte) bool { return words[string(b)] == (name == "in") })
		case "well_known_regex":
			switch {
			case !strict:
				r.and(func(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && !bytes.ContainsAny(b, "\r\n") })
			case v.Enum() == 1: // a header name
				r.and(isToken)
			default:
				r.unsure = true
			}
		default:
			r.unsure = true
		}
	})
	if test := r.text; ignoreEmpty && test != nil && !r.unsure {
		r.text = func(b []byte) bool { return len(b) == 0 || test(b) }
	}
}

func ruleText(v protoreflect.Value) string {
	if b, ok := v.Interface().([]byte); ok {
		return string(b)
	}
	return v.String()
}

// isToken says whether b is an ordinary name of a header.
func isToken(b []byte) bool {
	for _, c := range b {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(b) > 0
}

func (r *rule) enum(fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	ed := fd.Enum()
	var tests []func(int32) bool
	eachRule(m, func(name string, v protoreflect.Value) {
		switch {
		case name == "defined_only" && ed != nil:
			if v.Bool() {
				tests = append(tests, definedTest(ed))
			}
		case name == "const":
			tests = append(tests, func(n int32) bool { return int64(n) == v.Int() })
		case name == "in" || name == "not_in":
			set := make(map[int32]bool)
			for i := range v.List().Len() {
				set[int32(v.List().Get(i).Int())] = true
			}
			tests = append(tests, func(n int32) bool { return set[n] == (name == "in") })
		default:
			r.unsure = true
		}
	})
	r.number = func(v uint64) bool {
		for _, test := range tests {
			if !test(int32(v)) {
				return false
			}
		}
		return true
	}
}

// definedTest looks for a number among those of an enum, which mostly have no
// gaps.
func definedTest(ed protoreflect.EnumDescriptor) func(int32) bool {
	known := make(map[int32]bool)
	for i := range ed.Values().Len() {
		known[int32(ed.Values().Get(i).Number())] = true
	}
	dense := int32(0)
	for known[dense] {
		dense++
	}
	return func(n int32) bool { return n >= 0 && n < dense || known[n] }
}

func (r *rule) duration(m protoreflect.Message) {
	r.text = durationTest(m, &r.required, &r.unsure)
}

func durationTest(m protoreflect.Message, required, unsure *bool) func([]byte) bool {
	lo, hi := time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	eachRule(m, func(name string, v protoreflect.Value) {
		switch name {
		case "required":
			*required = v.Bool()
		case "gt":
			lo = max(lo, durationOf(v.Message())+1)
		case "gte":
			lo = max(lo, durationOf(v.Message()))
		case "lt":
			hi = min(hi, durationOf(v.Message())-1)
		case "lte":
			hi = min(hi, durationOf(v.Message()))
		default:
			*unsure = true
		}
	})
	return func(b []byte) bool {
		sec, nanos, ok := protoscan.Numbers(b)
		nano := int64(int32(nanos))
		const most = int64(math.MaxInt64/time.Second) - 1
		if !ok || sec < -most || sec > most || nano <= -1e9 || nano >= 1e9 || sec > 0 && nano < 0 || sec < 0 && nano > 0 {
			return false
		}
		d := time.Duration(sec)*time.Second + time.Duration(nano)
		return d >= lo && d <= hi
	}
}

func durationOf(m protoreflect.Message) time.Duration {
	fields := m.Descriptor().Fields()
	return time.Duration(m.Get(fields.ByName("seconds")).Int())*time.Second + time.Duration(m.Get(fields.ByName("nanos")).Int())
}

// numbers compiles the rules of a number or bool type, which have its name.
func (r *rule) numbers(kind string, m protoreflect.Message) {
	switch kind {
	case "float":
		r.number = numberTest(m, &r.unsure, func(v uint64) float64 { return float64(math.Float32frombits(uint32(v))) }, protoreflect.Value.Float)
	case "double":
		r.number = numberTest(m, &r.unsure, math.Float64frombits, protoreflect.Value.Float)
	case "int32", "sfixed32":
		r.number = numberTest(m, &r.unsure, func(v uint64) int64 { return int64(int32(v)) }, protoreflect.Value.Int)
	case "int64", "sfixed64":
		r.number = numberTest(m, &r.unsure, func(v uint64) int64 { return int64(v) }, protoreflect.Value.Int)
	case "sint32":
		r.number = numberTest(m, &r.unsure, func(v uint64) int64 { return int64(int32(protowire.DecodeZigZag(v & math.MaxUint32))) }, protoreflect.Value.Int)
	case "sint64":
		r.number = numberTest(m, &r.unsure, protowire.DecodeZigZag, protoreflect.Value.Int)
	case "uint32", "fixed32":
		r.number = numberTest(m, &r.unsure, func(v uint64) uint64 { return uint64(uint32(v)) }, protoreflect.Value.Uint)
	case "uint64", "fixed64":
		r.number = numberTest(m, &r.unsure, func(v uint64) uint64 { return v }, protoreflect.Value.Uint)
	case "bool":
		truth := func(v uint64) uint64 {
			if v != 0 {
				return 1
			}
			return 0
		}
		r.number = numberTest(m, &r.unsure, truth, func(v protoreflect.Value) uint64 {
			if v.Bool() {
				return 1
			}
			return 0
		})
	default:
		r.unsure = true
	}
}

// numberTest wants a value within all bounds at once; where lower and upper
// bound are meant to exclude a range, it finds fault with everything.
func numberTest[T cmp.Ordered](m protoreflect.Message, unsure *bool, of func(uint64) T, get func(protoreflect.Value) T) func(uint64) bool {
	var tests []func(T) bool
	ignoreEmpty := false
	eachRule(m, func(name string, v protoreflect.Value) {
		if name == "ignore_empty" {
			ignoreEmpty = v.Bool()
			return
		}
		if name == "in" || name == "not_in" {
			set := make(map[T]bool)
			for i := range v.List().Len() {
				set[get(v.List().Get(i))] = true
			}
			tests = append(tests, func(x T) bool { return set[x] == (name == "in") })
			return
		}
		var bound T
		test := map[string]func(T) bool{
			"const": func(x T) bool { return x == bound },
			"lt":    func(x T) bool { return x < bound },
			"lte":   func(x T) bool { return x <= bound },
			"gt":    func(x T) bool { return x > bound },
			"gte":   func(x T) bool { return x >= bound },
		}[name]
		if test == nil {
			*unsure = true
			return
		}
		bound = get(v)
		tests = append(tests, test)
	})
	return func(v uint64) bool {
		x := of(v)
		var zero T
		if ignoreEmpty && x == zero {
			return true
		}
		for _, test := range tests {
			if !test(x) {
				return false
			}
		}
		return true
	}
}
