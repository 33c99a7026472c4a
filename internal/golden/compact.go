package golden

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Compact is a value as text: of a struct the exported fields that are not zero, times
// by how long after since they are.
func Compact(v any, since time.Time) string {
	var b strings.Builder
	compact(&b, reflect.ValueOf(v), since)
	return b.String()
}

func compact(b *strings.Builder, v reflect.Value, since time.Time) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	switch x := v.Interface().(type) {
	case time.Time:
		fmt.Fprintf(b, "+%v", x.Sub(since))
		return
	case fmt.Stringer:
		if v.Kind() != reflect.Pointer || !v.IsNil() {
			b.WriteString(x.String())
			return
		}
	case []byte:
		fmt.Fprintf(b, "%q", x)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		compact(b, v.Elem(), since)
	case reflect.Struct:
		b.WriteByte('{')
		more := false
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || v.Field(i).IsZero() {
				continue
			}
			if more {
				b.WriteByte(' ')
			}
			more = true
			b.WriteString(f.Name)
			if f.Type.Kind() == reflect.Bool {
				continue
			}
			b.WriteByte(':')
			compact(b, v.Field(i), since)
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			compact(b, v.Index(i), since)
		}
		b.WriteByte(']')
	case reflect.Map:
		var all []string
		for _, key := range v.MapKeys() {
			var one strings.Builder
			compact(&one, key, since)
			one.WriteByte(':')
			compact(&one, v.MapIndex(key), since)
			all = append(all, one.String())
		}
		slices.Sort(all)
		b.WriteString("map[" + strings.Join(all, " ") + "]")
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}
