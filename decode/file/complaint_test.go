package file

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What prototext says is said in other words, at its place, and without values.
func TestComplaints(t *testing.T) {
	for said, want := range map[string]Error{
		"proto:\u00a0(line 3:4): unknown field: foo":                                  {Line: 3, Col: 4, Message: `there is no field "foo"`},
		`proto: (line 12:34): unknown field "foo"`:                                    {Line: 12, Col: 34, Message: `there is no field "foo"`},
		"proto: syntax error (line 1:2): unexpected token \"x\"":                      {Line: 1, Col: 2, Message: "syntax error"},
		"proto: (line 1:2): unexpected token \"x\"":                                   {Line: 1, Col: 2, Message: "not a DiscoveryResponse"},
		`proto: (line 1:2): unable to resolve [type.googleapis.com/a.B]: "not found"`: {Line: 1, Col: 2, Message: `the type "type.googleapis.com/a.B" is not known to xdsproxy`},
		`proto: (line 1:2): unable to resolve message "a.B": "not found"`:             {Line: 1, Col: 2, Message: `the type "a.B" is not known to xdsproxy`},
		`proto: (line 1:2): non-repeated field "name" is repeated`:                    {Line: 1, Col: 2, Message: `the field "name" stands twice`},
		`proto: (line 1:2): error parsing "a", oneof x.y is already set`:              {Line: 1, Col: 2, Message: "a: oneof x.y is already set"},
		"proto: (line 1:2): invalid value for string field name: secret":              {Line: 1, Col: 2, Message: "name is of type string, and this value is not"},
		"proto: (line 1:2): invalid value for int32 type: secret":                     {Line: 1, Col: 2, Message: "not a value of type int32"},
		"proto: unexpected EOF":                                                       {Message: "it ends in the middle"},
		"proto:\u00a0unexpected end of input":                                         {Message: "it ends in the middle"},
		"exceeded maximum recursion depth":                                            {Message: "nested too deep"},
		"proto: syntax error (line 7:8): unexpected EOF":                              {Line: 7, Col: 8, Message: "it ends in the middle"},
		"something secret": {Message: "not a DiscoveryResponse"},
	} {
		if got := complaint(errors.New(said)); *got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", said, *got, want)
		}
	}
	for want, e := range map[string]Error{
		"a.pb: m":            {File: "a.pb", Message: "m"},
		"a.pb:3: m":          {File: "a.pb", Line: 3, Message: "m"},
		"a.pb:3:4: m":        {File: "a.pb", Line: 3, Col: 4, Message: "m"},
		"a.pb: m; try again": {File: "a.pb", Message: "m", Hint: "try again"},
	} {
		if got := e.sentence(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A session of files says of each what was read, and what is wrong with it.
func TestEntries(t *testing.T) {
	at := time.Unix(7, 0)
	good := []byte("\x0a\x011")
	got := Entries([]File{
		{"/e/cds.pb", good}, {"/e/odd.pb", append([]byte("\xa2\x06\x01x"), good...)}, {"/e/lds.pb", []byte("\x0a\x09x")}, {"/e/a.yaml", []byte("version_info: \"7\"\nnope: 1\n")},
	}, at)
	entry := func(seq, stream int, e session.Entry) session.Entry {
		e.Seq, e.Stream, e.Time = session.Seq(seq), session.StreamID(stream), at
		return e
	}
	var want []session.Entry
	for i, c := range []struct {
		name     string
		m        session.Message
		problems []string
	}{
		{"/e/cds.pb", session.Message{Data: session.Chunks{good}, Size: 3, WireSize: 3}, nil},
		{"/e/odd.pb", session.Message{Data: session.Chunks{append([]byte("\xa2\x06\x01x"), good...)}, Size: 7, WireSize: 7}, []string{"/e/odd.pb: it has fields that a DiscoveryResponse does not have"}},
		{"/e/lds.pb", session.Message{Size: 3, WireSize: 3, Truncated: true}, []string{"/e/lds.pb: not a DiscoveryResponse in binary protobuf; Envoy says nothing of that: it takes what it could read before the fault"}},
		{"/e/a.yaml", session.Message{Data: session.Chunks{[]byte("\x0a\x017")}, Size: 3, WireSize: 26}, []string{
			`/e/a.yaml:2:1: there is no field "nope"; Envoy leaves it out and counts it in server.dynamic_unknown_fields; with --reject-unknown-dynamic-fields it rejects the file`,
		}},
	} {
		want = append(
			want,
			entry(3*i+1, i+1, session.Entry{Side: session.Proxy, Kind: session.KindOpen, Method: "file:" + c.name}),
			entry(3*i+2, i+1, session.Entry{Side: session.Server, Kind: session.KindHeader, Headers: []session.Field{{Name: xds.FileEvent, Value: "read"}, {Name: xds.FilePath, Value: c.name}}}),
			entry(3*i+3, i+1, session.Entry{Side: session.Server, Kind: session.KindMessage, Message: &c.m, Problems: c.problems}),
		)
	}
	if len(got) != len(want) {
		t.Fatalf("%d entries", len(got))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("entry %d:\n got %+v %+v\nwant %+v %+v", i, got[i], got[i].Message, want[i], want[i].Message)
		}
	}
}

// What is too large is not looked into, and text by another ending is warned of.
func TestReadAtTheBounds(t *testing.T) {
	large := bytes.Repeat([]byte(" "), MaxSize+1)
	copy(large, "{\"static_resources\": {}}")
	for size, want := range map[int]string{MaxSize: "a.pb: not a DiscoveryResponse in binary protobuf", MaxSize + 1: "a.pb: larger than 64 MiB"} {
		if _, err := Read("a.pb", large[:size]); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if got := KindOf("a.json", large); got != Response {
		t.Errorf("%d", got)
	}
	for _, size := range []int{1000, MaxSize} {
		if got := KindOf("a.json", large[:size]); got != Bootstrap {
			t.Errorf("%d bytes: %d", size, got)
		}
	}
	for name, warned := range map[string]bool{"a.pb_text": false, "A.PB_TEXT": false, "a.textproto": true, "a.txtpb": true} {
		c, err := Read(name, []byte(`version_info: "7"`))
		if err != nil || string(c.Response) != "\x0a\x017" || (len(c.Warnings) > 0) != warned {
			t.Errorf("%s: %q, %v, %v", name, c.Response, c.Warnings, err)
		}
		if !Is(name) || Is(name+"x") {
			t.Errorf("%s is none", name)
		}
	}
}
