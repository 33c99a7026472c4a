package chunk

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is cut is what would be cut if nothing had passed before: the same chunks,
// whatever the responses repeat of each other, and whoever writes over the memory
// that they came in.
func FuzzRepeated(f *testing.F) {
	handmade.AddRepeats(f)
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		k := NewSplitter()
		handmade.Repeat(t, seed, ops, k, func() handmade.Transformer { return NewSplitter() }, func(path string, data []byte, got, want *session.Entry) {
			m := xds.LookupMethod(path)
			if g := k.Glance(m, session.Server, got.Message); g != Glance(m, session.Server, want.Message.Data) {
				t.Fatalf("%s: a glance at it gives %+v", path, g)
			}
			if !bytes.Equal(got.Message.Data.Bytes(), data) {
				t.Fatalf("%s: the message is another", path)
			}
			checkRepeats(t, &k.cutter.repeats)
		})
	})
}

// masker cuts as a Masker does: it remembers what is torn, too.
type masker struct {
	cutter Cutter
	kind   decode.Kind
}

func (k *masker) Free(put func(session.Chunks)) { k.cutter.Free = put }

func (k *masker) Transform(e *session.Entry) {
	if e.Kind == session.KindOpen {
		k.kind, _ = decode.KindOf(xds.LookupMethod(e.Method), session.Server, nil)
		return
	}
	k.cutter.Response(k.kind, e.Message.Data)
	k.cutter.Keep()
	k.cutter.Give(e)
}

func FuzzRepeatedByAMasker(f *testing.F) {
	handmade.AddRepeats(f)
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		k := &masker{}
		handmade.Repeat(t, seed, ops, k, func() handmade.Transformer { return &masker{} }, func(string, []byte, *session.Entry, *session.Entry) {
			checkRepeats(t, &k.cutter.repeats)
		})
	})
}

// checkRepeats counts what is held anew.
func checkRepeats(t *testing.T, r *repeats) {
	t.Helper()
	if len(r.all) > maxResponses {
		t.Errorf("%d responses are held", len(r.all))
	}
	for _, a := range r.all {
		var n int64
		held := map[*byte]bool{}
		for _, c := range a.resources {
			if !held[&c[0]] {
				held[&c[0]] = true
				n += int64(len(c))
			}
		}
		if a.held < n || a.held > 2*a.resources.Len() {
			t.Fatalf("%d bytes are held for %d", a.held, n)
		}
	}
}

// What is held is bounded, whatever passes.
func TestRepeatedIsBounded(t *testing.T) {
	k := NewSplitter()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	big := string(make([]byte, 1<<20))
	give := func(n, kind int) {
		data := msg(str(1, "v"))
		for i := range n {
			data = append(data, anyOf(2, fmt.Sprintf("type.googleapis.com/type.Number%d", kind), str(1, fmt.Sprint(i)), str(9, big))...)
		}
		k.Transform(&session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{data}}})
	}
	for i, n := range []int{1, 5, 10, 3, 30, 2, 14, 40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} {
		give(n, i)
		var sum int64
		for _, a := range k.cutter.repeats.all {
			sum += a.cost()
		}
		all := k.cutter.repeats.all
		if len(all) > 1 && sum > maxRepeated || sum > maxOne || len(all) > maxResponses {
			t.Errorf("after %d MiB: %d bytes of %d responses", n, sum, len(all))
		}
		if n < 15 && len(all[len(all)-1].resources) != n {
			t.Errorf("%d MiB are not held", n)
		}
	}
}

// A glance at the response that was cut last is one at its parts. A glance at another
// one tells of that, whatever was cut before.
func TestGlanceAtAnotherMessage(t *testing.T) {
	m := xds.LookupMethod(adsPath)
	response := func(nonce string) []byte {
		return msg(str(1, "v"), anyOf(2, clusterURL, str(1, "a cluster with a name that is long enough to be cut")), str(4, clusterURL), str(5, nonce))
	}
	k := &masker{}
	k.Transform(&session.Entry{Kind: session.KindOpen, Method: adsPath})
	e := &session.Entry{Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{response("first")}}}
	k.Transform(e)
	other := &session.Message{Data: session.Chunks{response("second")}}
	for _, c := range []struct {
		msg  *session.Message
		want string
	}{{e.Message, "first"}, {other, "second"}, {e.Message, "first"}} {
		if b := k.cutter.Glance(m, session.Server, c.msg); b.Nonce != c.want || b.TypeURL != clusterURL || b.Kind != decode.SotwResponse {
			t.Errorf("a glance at the %s one gives %+v", c.want, b)
		}
	}
	if b := k.cutter.Glance(m, session.Client, other); b.Kind != decode.SotwRequest {
		t.Errorf("as a request it is %+v", b)
	}
}
