// Package filled gives tests values of which nothing is zero.
package filled

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Value gives everything that v holds, at any depth, a value that is not zero
// and not used elsewhere.
func Value(t testing.TB, v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1e9, int64(*n)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[session.Field]() && v.Type().Field(i).Name == "Secret" {
				continue // it is for the Transform only
			}
			Value(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Value(t, v.Elem(), n)
	case reflect.Slice:
		// Chunks are joined by reading, so there is one.
		count := 2
		if v.Type() == reflect.TypeFor[session.Chunks]() {
			count = 1
		}
		v.Set(reflect.MakeSlice(v.Type(), count, count))
		for i := range count {
			Value(t, v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("value %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(-*n))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	default:
		t.Fatalf("an entry holds a %v, which this test cannot fill", v.Type())
	}
}
