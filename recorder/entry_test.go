package recorder

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// encode is an entry as in the file, without its length.
func encode(e *session.Entry) []byte {
	b := format.AppendEntry(nil, e)
	if e.Message != nil && len(e.Message.Data) > 0 {
		b = protowire.AppendTag(b, format.FieldData, protowire.BytesType)
		b = protowire.AppendBytes(b, e.Message.Data.Bytes())
	}
	return b
}

// decode is format.ParseEntry for an entry that refers to nothing.
func decode(b []byte) (session.Entry, error) {
	var e session.Entry
	_, err := format.ParseEntry(&e, b, new(format.Dictionary))
	return e, err
}

// fill gives everything that v holds, at any depth, a value that is not zero
// and not used elsewhere.
func fill(t *testing.T, v reflect.Value, n *int) {
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
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		// Chunks are joined by reading, so there is one.
		count := 2
		if v.Type() == reflect.TypeFor[session.Chunks]() {
			count = 1
		}
		v.Set(reflect.MakeSlice(v.Type(), count, count))
		for i := range count {
			fill(t, v.Index(i), n)
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

func TestEveryFieldSurvives(t *testing.T) {
	var full session.Entry
	fill(t, reflect.ValueOf(&full).Elem(), new(int))
	got, err := decode(encode(&full))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(full, got); d != "" {
		t.Errorf("not what was written:\n%s", d)
	}

	// Each alone, so that none leans on another; and what a pointer leads to
	// may be zero, but is there.
	whole := reflect.ValueOf(full)
	for i := range whole.NumField() {
		alone := []reflect.Value{whole.Field(i)}
		if alone[0].Kind() == reflect.Pointer {
			alone = append(alone, reflect.New(alone[0].Type().Elem()))
		}
		for _, v := range alone {
			var e session.Entry
			reflect.ValueOf(&e).Elem().Field(i).Set(v)
			got, err := decode(encode(&e))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(e, got); d != "" {
				t.Errorf("%s is not what was written:\n%s", whole.Type().Field(i).Name, d)
			}
		}
	}
}

func TestEveryKindPassesTheFile(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	var want []session.Entry
	at := time.Unix(1.7e9, 0).UTC()
	for k := session.KindUnknown; k <= session.KindTime; k++ {
		var e session.Entry
		fill(t, reflect.ValueOf(&e).Elem(), new(int))
		e.Kind, e.Seq, e.Time = k, session.Seq(k)+1, at.Add(time.Duration(k)*time.Hour)
		e.Message.Compressed = false
		want = append(want, e)
		l.Append(e)
	}
	closeLog(t, l)
	got, _ := readAll(t, l.Path())
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("not what was written:\n%s", d)
	}
}

func TestExtremes(t *testing.T) {
	for _, e := range []session.Entry{
		{Seq: math.MaxUint64, Conn: math.MaxUint64, Stream: math.MaxUint64, H2: math.MaxUint32, Side: 255, Kind: 255},
		{Status: &session.Status{Code: math.MinInt32, Reset: math.MaxUint32, HTTP: -1}},
		{Time: time.Unix(0, 0).UTC(), Start: time.Unix(0, math.MinInt64).UTC()},
		{Time: time.Unix(0, math.MaxInt64).UTC()},
		{Headers: make([]session.Field, 3), Problems: make([]string, 2)},
		{Note: &session.Note{Text: string(make([]byte, 1<<20))}},
		{Note: &session.Note{Text: string(make([]byte, 127))}},
		{Message: &session.Message{Size: math.MinInt64, Data: session.Chunks{make([]byte, 1<<20)}}},
		{Method: "\xff not text"},
	} {
		got, err := decode(encode(&e))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, got) {
			t.Errorf("not what was written: seq %d, status %+v, note of %v", e.Seq, e.Status, e.Time)
		}
	}
	far := session.Entry{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Start: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}
	if got, err := decode(encode(&far)); err != nil || got.Time.Year() != 2262 || got.Start.Year() != 1677 {
		t.Errorf("times out of range became %v and %v, %v", got.Time, got.Start, err)
	}
}

func TestChunksAreJoined(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	e := message(1, "")
	e.Message.Data = session.Chunks{[]byte("ab"), nil, []byte("c")}
	l.Append(e)
	closeLog(t, l)
	got, _ := readAll(t, l.Path())
	if len(got) != 1 || len(got[0].Message.Data) != 1 || string(got[0].Message.Data[0]) != "abc" {
		t.Errorf("got %+v", got)
	}
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	e := message(7, "payload")
	b := encode(&e)
	b = protowire.AppendTag(b, 99, protowire.BytesType)
	b = protowire.AppendString(b, "from a later version")
	b = protowire.AppendTag(b, 100, protowire.StartGroupType)
	b = protowire.AppendTag(b, 100, protowire.EndGroupType)
	b = protowire.AppendTag(b, 101, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, 1)
	got, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, got); d != "" {
		t.Error(d)
	}
}
