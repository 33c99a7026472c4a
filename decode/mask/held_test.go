package mask

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// What a client says that it holds is masked by what each thing in it is, and cut
// where its contents are.
func TestMaskHeld(t *testing.T) {
	const secret = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	generic := msg(str(1, secret), str(2, "default"), sub(4, str(1, secret), sub(2, tlsSecret(planted))))
	data := msg(sub(1, sub(1, str(1, "node-a")), sub(3, generic), sub(3, generic)))
	m := whole(data)
	e := session.Entry{
		Kind: session.KindHeld, Side: session.Client, Message: &m,
		Held: &session.Held{Node: "node-a", Address: "127.0.0.1:1", Failed: "it said: " + planted},
	}
	k := New()
	k.Transform(&e)
	if len(e.Message.Data) != 4 {
		t.Errorf("it is in %d pieces", len(e.Message.Data))
	}
	contents(k, &e)
	got := e.Message.Data.Bytes()
	switch {
	case bytes.Contains(got, []byte("MIIEvQ")) || strings.Contains(e.Held.Failed, "MIIEvQ"):
		t.Errorf("a key is there: %q, %q", got, e.Held.Failed)
	case len(got) != len(data) || !bytes.Contains(got, []byte(chain)) || !bytes.Contains(got, []byte("node-a")):
		t.Errorf("more than the key is gone: %q", got)
	case !e.Message.Masked:
		t.Error("it is not said that it is masked")
	case e.Held.Node != "node-a" || e.Held.Address != "127.0.0.1:1":
		t.Errorf("%+v", e.Held)
	}
}
