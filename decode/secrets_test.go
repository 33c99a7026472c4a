package decode

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bait"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

func TestTextsWithSecrets(t *testing.T) {
	k := NewMasker()
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
	k, texts := NewMasker(), bait.Harmless()
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

// What is found in a text is found whatever its neighbours in a message are:
// the search before the walk misses nothing.
func FuzzTextInAnyPlace(f *testing.F) {
	for i, p := range bait.Texts("s") {
		f.Add(p.Text, []byte{0x0a, byte('A' + i%26)}, []byte{0x28, '(', '='})
	}
	f.Fuzz(func(t *testing.T, text string, before, after []byte) {
		k := NewMasker()
		got, ok := k.alone(text)
		if again, _ := k.alone(got); again != got {
			t.Errorf("%q became %q and then %q", text, got, again)
		}
		if len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if ok && !hasSecretText(bytes.Join([][]byte{before, []byte(text), after}, nil)) {
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
	k := NewMasker()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	b.SetBytes(int64(len(data)))
	for n := 0; b.Loop(); n++ {
		ack := append(data[:len(data):len(data)], str(5, fmt.Sprint("nonce-", n, strings.Repeat("x", n%7)))...)
		k.Transform(&session.Entry{Kind: session.KindMessage, Side: session.Client, Stream: 1, Message: &session.Message{Data: session.Chunks{ack}}})
	}
}
