package constraints

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// bound is one end of a range, and how it is written.
type bound[T cmp.Ordered] struct {
	value T
	text  string
}

// bounds are the rules lt, lte, gt and gte. Where the upper end is not above the
// lower one, what is between them is excluded.
type bounds[T cmp.Ordered] struct{ lt, lte, gt, gte *bound[T] }

// test says what is wrong with a value.
func (b bounds[T]) test() func(T) string {
	high, over, upper, close, open := b.lt, func(x T) bool { return x >= b.lt.value }, "less than ", ")", "["
	if b.lt == nil {
		high, over, upper, close, open = b.lte, func(x T) bool { return x > b.lte.value }, "less than or equal to ", "]", "("
	}
	low, under, lower, from, to := b.gt, func(x T) bool { return x <= b.gt.value }, "greater than ", "(", "]"
	if b.gt == nil {
		low, under, lower, from, to = b.gte, func(x T) bool { return x < b.gte.value }, "greater than or equal to ", "[", ")"
	}
	wrong, reason := func(T) bool { return false }, ""
	switch {
	case high != nil && low != nil && high.value > low.value:
		wrong, reason = func(x T) bool { return under(x) || over(x) }, "inside range "+from+low.text+", "+high.text+close
	case high != nil && low != nil:
		wrong, reason = func(x T) bool { return over(x) && under(x) }, "outside range "+open+high.text+", "+low.text+to
	case high != nil:
		wrong, reason = over, upper+high.text
	case low != nil:
		wrong, reason = under, lower+low.text
	}
	return func(x T) string {
		if wrong(x) {
			return "value must be " + reason
		}
		return ""
	}
}

// numberTests are those of the rules of one type of numbers.
func numberTests(m protoreflect.Message) (ignoreEmpty bool, tests []test) {
	fd := m.Descriptor().Fields().ByName("const")
	if ignore := m.Descriptor().Fields().ByName("ignore_empty"); ignore != nil { // not of bool
		ignoreEmpty = m.Get(ignore).Bool()
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		tests = orderedTests(m, func(v protoreflect.Value) int {
			if v.Bool() {
				return 1
			}
			return 0
		})
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		tests = orderedTests(m, protoreflect.Value.Float)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		tests = orderedTests(m, protoreflect.Value.Uint)
	default:
		tests = orderedTests(m, protoreflect.Value.Int)
	}
	return ignoreEmpty, tests
}

func orderedTests[T cmp.Ordered](m protoreflect.Message, of func(protoreflect.Value) T) (tests []test) {
	get := func(name protoreflect.Name) *bound[T] {
		fd := m.Descriptor().Fields().ByName(name)
		if fd == nil || !m.Has(fd) {
			return nil
		}
		v := m.Get(fd)
		return &bound[T]{of(v), fmt.Sprint(v.Interface())}
	}
	list := func(name protoreflect.Name) (values []T, said string) {
		fd := m.Descriptor().Fields().ByName(name)
		if fd == nil || !m.Has(fd) {
			return nil, ""
		}
		words := []any{}
		for l, i := m.Get(fd).List(), 0; i < l.Len(); i++ {
			values, words = append(values, of(l.Get(i))), append(words, l.Get(i).Interface())
		}
		return values, fmt.Sprint(words)
	}
	if c := get("const"); c != nil {
		tests = append(tests, when(of, func(x T) bool { return x == c.value }, "value must equal "+c.text))
	}
	if b := (bounds[T]{get("lt"), get("lte"), get("gt"), get("gte")}); b != (bounds[T]{}) {
		within := b.test()
		tests = append(tests, func(v protoreflect.Value) problem { return problem{reason: within(of(v))} })
	}
	in, saidIn := list("in")
	out, saidOut := list("not_in")
	return append(tests, listed(of, in, out, saidIn, saidOut)...)
}
