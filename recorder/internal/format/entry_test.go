package format

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/filled"
	"github.com/xdsproxy/xdsproxy/session"
)

// written is an entry as in the file, without its length.
func written(e *session.Entry) []byte {
	b := AppendEntry(nil, e)
	if e.Message != nil && len(e.Message.Data) > 0 {
		b = protowire.AppendTag(b, FieldData, protowire.BytesType)
		b = protowire.AppendBytes(b, e.Message.Data.Bytes())
	}
	return b
}

// read is ParseEntry for an entry that refers to nothing.
func read(b []byte) (session.Entry, error) {
	var e session.Entry
	_, err := ParseEntry(&e, b, new(Dictionary))
	return e, err
}

func TestEveryFieldSurvives(t *testing.T) {
	var full session.Entry
	filled.Value(t, reflect.ValueOf(&full).Elem(), new(int))
	got, err := read(written(&full))
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
			got, err := read(written(&e))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(e, got); d != "" {
				t.Errorf("%s is not what was written:\n%s", whole.Type().Field(i).Name, d)
			}
		}
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
		got, err := read(written(&e))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, got) {
			t.Errorf("not what was written: seq %d, status %+v, note of %v", e.Seq, e.Status, e.Time)
		}
	}
	far := session.Entry{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Start: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}
	if got, err := read(written(&far)); err != nil || got.Time.Year() != 2262 || got.Start.Year() != 1677 {
		t.Errorf("times out of range became %v and %v, %v", got.Time, got.Start, err)
	}
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	e := session.Entry{Seq: 7, Message: &session.Message{Data: session.Chunks{[]byte("payload")}, Size: 7, WireSize: 7}}
	b := written(&e)
	b = protowire.AppendTag(b, 99, protowire.BytesType)
	b = protowire.AppendString(b, "from a later version")
	b = protowire.AppendTag(b, 100, protowire.StartGroupType)
	b = protowire.AppendTag(b, 100, protowire.EndGroupType)
	b = protowire.AppendTag(b, 101, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, 1)
	got, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, got); d != "" {
		t.Error(d)
	}
}
