package recorder

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/filled"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
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

func TestEveryKindPassesTheFile(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	var want []session.Entry
	at := time.Unix(1.7e9, 0).UTC()
	for k := session.KindUnknown; k <= session.KindTime; k++ {
		var e session.Entry
		filled.Value(t, reflect.ValueOf(&e).Elem(), new(int))
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
