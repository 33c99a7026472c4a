package filled

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
	"github.com/xdsproxy/xdsproxy/session"
)

// Everything at any depth has a value, and none has that of another.
func TestValue(t *testing.T) {
	var v struct {
		Text    string
		Yes     bool
		Int     int
		Int32   int32
		Uint8   uint8
		Uint64  uint64
		At      time.Time
		Later   *time.Time
		List    []struct{ A, B int64 }
		Field   session.Field
		Data    session.Chunks
		Pointer **uint32
	}
	n := 0
	Value(t, reflect.ValueOf(&v).Elem(), &n)
	got := fmt.Sprintf("%q %t %d %d %d %d %d %d %d %+v %d %d, %d", v.Text, v.Yes, v.Int, v.Int32, v.Uint8, v.Uint64,
		v.At.Sub(time.Unix(1e9, 0)), v.Later.Sub(time.Unix(1e9, 0)), v.List, v.Field, v.Data, **v.Pointer, n)
	// Each value takes the next number, and so does what holds others.
	want := `"value 2" true -4 -5 6 7 8 10 [{-13 -14} {-16 -17}] {Name:value 19 Value:value 20 Secret:false} [[23 24]] 27, 27`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if v.At.Location() != time.UTC {
		t.Error("a time that is not the same once it was written and read")
	}
}

// What it cannot fill fails the test, instead of staying zero.
func TestUnknown(t *testing.T) {
	v := struct{ F func() }{}
	n := 0
	want := "fatal: an entry holds a func(), which this test cannot fill\n"
	if got := verdict.Of(t, func(t testing.TB) { Value(t, reflect.ValueOf(&v).Elem(), &n) }); got != want {
		t.Errorf("%q", got)
	}
}
