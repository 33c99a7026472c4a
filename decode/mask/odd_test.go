package mask

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// A number that is secret by its key becomes none, and others stay.
func TestMaskNumbers(t *testing.T) {
	double := func(v float64) []byte {
		return binary.LittleEndian.AppendUint64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v))
	}
	request := func(key string, v float64) []byte {
		return sub(2, str(1, "node-a"), sub(3, sub(1, str(1, key), sub(2, double(v)))))
	}
	for _, c := range []struct {
		key      string
		v, want  float64
		isSecret bool
	}{
		{"password", 12.5, 0, true},
		{"password", 0, 0, false},
		{"port", 12.5, 12.5, false},
	} {
		data := request(c.key, c.v)
		e := masked(t, New(), adsPath, session.Client, whole(data), "application/grpc")
		if got := e.Message.Data.Bytes(); !bytes.Equal(got, request(c.key, c.want)) || e.Message.Masked != c.isSecret {
			t.Errorf("%s %v: %q, masked %v", c.key, c.v, got, e.Message.Masked)
		}
	}
}

// A secret in a group that nothing is known of is found, and what is around it stays.
func TestMaskGroups(t *testing.T) {
	for _, text := range []string{"password=hunter2secret", "plain text, and more of it"} {
		group := msg(protowire.AppendTag(nil, 50, protowire.StartGroupType), sub(1, str(1, text), num(2, 1)), protowire.AppendTag(nil, 50, protowire.EndGroupType))
		e := masked(t, New(), adsPath, session.Client, whole(msg(str(1, "41"), group)), "application/grpc")
		got, secret := e.Message.Data.Bytes(), text[0] == 'p' && text[1] == 'a'
		if bytes.Contains(got, []byte("hunter2")) || !bytes.HasPrefix(got, str(1, "41")) || e.Message.Masked != secret || bytes.Contains(got, []byte(text)) == secret {
			t.Errorf("%q, masked %v", got, e.Message.Masked)
		}
	}
}

// The value of a "-bin" field that is not base64 is a text like others.
func TestMaskBinaryFieldsThatAreNone(t *testing.T) {
	for value, want := range map[string]string{"hello~": "hello~", "a~,b~": "a~,b~", "": "", "AAEC": "AAEC"} {
		e := session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: 1, Headers: []session.Field{{Name: "trace-bin", Value: value}}}
		if New().Transform(&e); e.Headers[0].Value != want {
			t.Errorf("%q became %q", value, e.Headers[0].Value)
		}
	}
	for _, value := range []string{"password=hunter2~", "x~,password=hunter2~", "password=hunter2~,x~"} {
		e := session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: 1, Headers: []session.Field{{Name: "trace-bin", Value: value}}}
		if New().Transform(&e); bytes.Contains([]byte(e.Headers[0].Value), []byte("hunter2")) || len(e.Headers[0].Value) != len(value) {
			t.Errorf("%q became %q", value, e.Headers[0].Value)
		}
	}
}
