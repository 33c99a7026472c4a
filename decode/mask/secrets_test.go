package mask

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/internal/bait"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestTextsWithSecrets(t *testing.T) {
	k := New()
	for _, p := range bait.Texts("s") {
		if !p.Holds(p.Text) {
			t.Fatalf("%q was not planted into %q", p.Secret, p.Text)
		}
		got, _ := k.text(p.Text)
		if p.Holds(got) || len(got) != len(p.Text) {
			t.Errorf("%q became %q", p.Text, got)
		}
		if again, _ := k.text(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
}

// What people need to read stays, in any text and where text is configuration.
func TestHarmlessTextsStay(t *testing.T) {
	k, texts := New(), bait.Harmless()
	for _, text := range texts {
		if got, ok := k.text(text); ok || got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got, ok := k.alone(text); ok {
			t.Errorf("as configuration, %q became %q", text, got)
		}
	}
	if len(texts) < 200 {
		t.Errorf("only %d texts", len(texts))
	}
}

// What is masked by what stands beside it in a Struct, in a list and in JSON.
func TestMaskBesideANameOrAFlag(t *testing.T) {
	value := func(s string) []byte { return str(3, s) }
	entry := func(key string, v []byte) []byte { return sub(1, str(1, key), sub(2, v)) }
	list := func(vs ...string) (b []byte) {
		for _, v := range vs {
			b = append(b, sub(1, value(v))...)
		}
		return sub(6, b)
	}
	metadata := sub(3, entry("env", sub(6, sub(1, sub(5, entry("name", value("DB_PASSWORD")), entry("value", value("gone-1")))),
		sub(1, sub(5, entry("value", value("gone-2")), entry("name", value("API_TOKEN")))),
		sub(1, sub(5, entry("name", value("LEVEL")), entry("value", value("stays-1")))))),
		entry("args", list("--token", "gone-3", "--level", "stays-2", "-password", "gone-4", "stays-3")),
		entry("dbPass", value("gone-5")), entry("x-honeycomb-team", value("gone-6")), entry("client-key-data", value("gone-7")),
		entry("client-certificate-data", value("stays-4")), entry("connectionString", value("gone-8")), entry("credential_value", value("gone-9")), entry("tokenValue", value("gone-0")))
	inProtobuf := masked(t, New(), adsPath, session.Client, whole(msg(sub(2, str(1, "n"), metadata), str(4, clusterURL))), "application/grpc")
	inJSON := masked(t, New(), "/v3/discovery:clusters", session.Client, whole([]byte(`{"node":{"metadata":{"env":[{"name":"DB_PASSWORD","value":"gone-1"},{"value":"gone-2","name":"API_TOKEN"},{"name":"LEVEL","value":"stays-1"}],
		"args":["--token","gone-3","--level","stays-2","-password","gone-4","stays-3"],"dbPass":"gone-5","x-honeycomb-team":"gone-6","client-key-data":"gone-7",
		"client-certificate-data":"stays-4","connectionString":"gone-8","credential_value":"gone-9","tokenValue":"gone-0"}}}`)), "application/json")
	for form, e := range map[string]session.Entry{"protobuf": inProtobuf, "JSON": inJSON} {
		got := string(e.Message.Data.Bytes())
		for _, n := range "0123456789" {
			if strings.Contains(got, "gone-"+string(n)) {
				t.Errorf("%s: gone-%c is still there: %q", form, n, got)
			}
			if n >= '1' && n <= '4' && !strings.Contains(got, "stays-"+string(n)) {
				t.Errorf("%s: stays-%c is gone: %q", form, n, got)
			}
		}
	}
}

// The trailer of a call that failed says what went wrong three times. The masks
// are the same, and it can still be decoded.
func TestMaskTrailers(t *testing.T) {
	const text = "no: Authorization: Bearer seed-hunter22, \"ü\" and {\"password\": \"seed-hünter33\"}"
	details := msg([]byte{0x08, 14}, str(2, text), anyOf(3, secretURL, tlsSecret(planted)))
	for name, encoding := range map[string]*base64.Encoding{"padded": base64.StdEncoding, "bare": base64.RawStdEncoding} {
		k := New()
		fields := []session.Field{
			{Name: "grpc-status", Value: "14"},
			{Name: "grpc-message", Value: url.PathEscape(text)},
			{Name: "grpc-status-details-bin", Value: encoding.EncodeToString(details)},
			{Name: "trace-bin", Value: encoding.EncodeToString([]byte{1, 2, 3, 0xff})},
		}
		e := session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: 1, Headers: fields, Status: &session.Status{Code: 14, Message: text}}
		k.Transform(&e)
		want := e.Status.Message
		if strings.Contains(want, "seed") || !strings.HasPrefix(want, "no: Authorization: Bearer ") {
			t.Errorf("the message is %q", want)
		}
		if got, err := url.PathUnescape(e.Headers[1].Value); got != want || err != nil {
			t.Errorf("grpc-message is %q, not %q: %v", got, want, err)
		}
		got, err := encoding.DecodeString(e.Headers[2].Value)
		if err != nil || len(got) != len(details) || bytes.Contains(got, []byte("MIIEvQ")) || !bytes.Contains(got, []byte(want)) || !bytes.Contains(got, []byte(chain)) {
			t.Errorf("%s: the details are %q: %v", name, got, err)
		}
		if e.Headers[3].Value != fields[3].Value {
			t.Errorf("%s: a trace became %q", name, e.Headers[3].Value)
		}
		again := e
		again.Headers = e.Headers
		if k.Transform(&again); again.Headers[2].Value != e.Headers[2].Value || again.Headers[1].Value != e.Headers[1].Value {
			t.Errorf("%s: masked twice: %+v", name, again.Headers)
		}
	}
	e := session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: 1, Headers: []session.Field{{Name: "grpc-status-details-bin", Value: "not base64: seed-1"}}}
	if New().Transform(&e); strings.Contains(e.Headers[0].Value, "seed") {
		t.Errorf("details that cannot be read stay: %q", e.Headers[0].Value)
	}
}

// What is found in a text is found whatever its neighbours in a message are:
// the search before the walk misses nothing.
func FuzzTextInAnyPlace(f *testing.F) {
	for i, p := range bait.Texts("s") {
		f.Add(p.Text, []byte{0x0a, byte('A' + i%26)}, []byte{0x28, '(', '='})
	}
	f.Fuzz(func(t *testing.T, text string, before, after []byte) {
		k := New()
		got, ok := k.alone(text)
		if again, _ := k.alone(got); again != got {
			t.Errorf("%q became %q and then %q", text, got, again)
		}
		if len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if ok && !secrets.In(bytes.Join([][]byte{before, []byte(text), after}, nil)) {
			t.Errorf("%q is not looked at between %q and %q", text, before, after)
		}
	})
}

// alone is text without the search before it.
func (k *Masker) alone(s string) (string, bool) {
	w, b := k.walker(true), []byte(s)
	w.full = true
	w.loose(b)
	return string(b), string(b) != s
}

// A client that acknowledges says all the names that it wants once more.
func BenchmarkMaskerRequest(b *testing.B) {
	data := str(1, "41")
	for i := range 20000 {
		data = append(data, str(3, fmt.Sprintf("outbound|8080||reviews-%d.default.svc.cluster.local", i))...)
	}
	data = append(data, str(4, "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment")...)
	k := New()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	b.SetBytes(int64(len(data)))
	for n := 0; b.Loop(); n++ {
		ack := append(data[:len(data):len(data)], str(5, fmt.Sprint("nonce-", n, strings.Repeat("x", n%7)))...)
		k.Transform(&session.Entry{Kind: session.KindMessage, Side: session.Client, Stream: 1, Message: &session.Message{Data: session.Chunks{ack}}})
	}
}
