package chunk

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// A Cache says of a message in pieces what Peek says of it as a whole, whatever
// it has seen before, and knows the same pieces again.
func TestCacheIsLikePeek(t *testing.T) {
	cluster := func(name string) []byte {
		return sub(2, str(1, clusterURL), sub(2, str(1, name), str(28, "long enough to be a chunk of its own")))
	}
	wrapped := func(name string) []byte {
		return sub(2, str(1, "v"+name), str(3, name), sub(2, str(1, clusterURL), sub(2, str(1, name), str(28, "long enough to be a piece"))))
	}
	tiny := sub(2, str(1, clusterURL))[:0]
	small := sub(2, str(1, "t"), sub(2, str(1, "n")))
	broken := append(cluster("x")[:60:60], 0xff)
	a, b, c := cluster("a"), cluster("b"), cluster("c")
	wa, wb := wrapped("a"), wrapped("b")
	head := func(n int) []byte { return str(1, fmt.Sprint("version ", n)) }
	tail := func(n int) []byte { return msg(str(4, clusterURL), str(5, fmt.Sprint("nonce ", n))) }
	plane := sub(6, str(1, "the control plane"))
	var s Cache
	for _, path := range []string{adsPath, deltaADSPath} {
		m := xds.LookupMethod(path)
		seen := map[*Batch]string{}
		for n, data := range []session.Chunks{
			{head(1), a, b, tail(1)},
			{head(2), a, b, tail(2)},
			{a, head(3), b, tail(3)},
			{head(4), b, a, tail(4)},
			{head(5), a, c, plane, tail(5)},
			{head(6), a, b, str(4, "another/type"), str(5, "n")},
			{head(7), a, small, b, tail(7)},
			{head(8), wa, wb, tail(8)},
			{head(9), wa, sub(7, str(1, "x")), wb, tail(9)},
			{head(10), str(6, "removed"), wb, tail(10)},
			{a, b},
			{a, broken, tail(12)},
			{head(13), tail(13)},
			{msg(head(14), a, tail(14))},
			{tiny, a, a, tail(15)},
		} {
			want := decode.Peek(m, session.Server, "application/grpc", data.Bytes())
			for range 2 {
				got, batch := s.Peek(m, session.Server, "application/grpc", data)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %d (-peek +cache):\n%s", m.Name, n+1, diff)
				}
				if batch == nil {
					continue
				}
				names := fmt.Sprint(got.ResourceNames())
				if was, known := seen[batch]; known && was != names {
					t.Errorf("%s %d: the batch of %s is that of %s", m.Name, n+1, names, was)
				}
				seen[batch] = names
			}
		}
		if len(seen) < 4 {
			t.Errorf("%s: %d batches", m.Name, len(seen))
		}
	}
}

// What is wrong with the resources of a message is told as Peek tells it, up to as
// many problems as it tells.
func TestCacheTellsProblemsAsPeekDoes(t *testing.T) {
	m := xds.LookupMethod(adsPath)
	sound := sub(2, str(1, clusterURL), sub(2, str(1, "sound"), str(28, "long enough to be a chunk of its own")))
	broken := func(n int) []byte { // a field without end is in it
		return sub(2, str(1, clusterURL), sub(2, str(1, fmt.Sprint("cluster ", n))), str(9, "long enough to be a chunk of its own"), []byte{0xff})
	}
	for _, n := range []int{1, 2, maxProblems - 1, maxProblems, maxProblems + 1, maxProblems + 5} {
		data := session.Chunks{str(1, "v"), sound}
		for i := range n {
			data = append(data, broken(i))
		}
		data = append(data, msg(str(4, clusterURL), str(5, "n")))
		want := decode.Peek(m, session.Server, "", data.Bytes())
		if len(want.Problems) != min(n, maxProblems) {
			t.Fatalf("of %d resources Peek says %q", n, want.Problems)
		}
		var s Cache
		for range 2 {
			got, batch := s.Peek(m, session.Server, "", data)
			if diff := cmp.Diff(want, got); diff != "" || batch == nil {
				t.Errorf("%d resources (-peek +cache):\n%s", n, diff)
			}
		}
	}
}

// Of requests in pieces, too, and a list of names that comes again in the same
// memory is read once.
func TestCacheIsLikePeekOfRequests(t *testing.T) {
	list := func(field protowire.Number, n int) (b []byte) {
		for i := range n {
			b = append(b, str(field, fmt.Sprintf("outbound|8080||service-%05d.default.svc.cluster.local", i))...)
		}
		return b
	}
	node := sub(2, str(1, "n1"), str(2, "c"))
	names, more := list(3, 20), list(3, 30)
	tail := msg(str(4, clusterURL), str(5, "nonce"))
	located := sub(7, str(1, "by locator"))
	var s Cache
	for path, cases := range map[string][]session.Chunks{
		adsPath: {
			{str(1, "v"), node, names, tail},
			{node, names, tail},
			{names, tail},
			{names, more, tail},
			{str(1, "v"), names, msg(tail, str(3, "one more"))},
			{str(3, "one before"), names, tail},
			{located, names, tail},
			{names, msg(located, tail)},
			{names[:len(names)-3], names[len(names)-3:], tail},
			{append(list(3, 20), 0xff), tail},
			{append(list(3, 20), tail...), str(5, "another")},
			{list(3, 20), sub(6, num(1, 3), str(2, "no"))},
			{more, []byte{0x08}},
		},
		deltaADSPath: {
			{sub(1, str(1, "n1")), str(2, clusterURL), list(3, 20)},
			{list(3, 20), list(4, 20), str(6, "nonce")},
			{list(3, 20), sub(8, str(1, "by locator")), list(4, 20)},
			{str(2, clusterURL), sub(5, str(1, "a"), str(2, "v")), names},
		},
	} {
		m := xds.LookupMethod(path)
		for n, data := range cases {
			want := decode.Peek(m, session.Client, "application/grpc", data.Bytes())
			for range 2 {
				got, batch := s.Peek(m, session.Client, "application/grpc", data)
				if diff := cmp.Diff(want, got); diff != "" || batch != nil {
					t.Errorf("%s %d (-peek +cache):\n%s", m.Name, n+1, diff)
				}
			}
		}
	}
	data := session.Chunks{str(1, "1"), names, tail}
	a, _ := s.Peek(xds.LookupMethod(adsPath), session.Client, "", data)
	b, _ := s.Peek(xds.LookupMethod(adsPath), session.Client, "", data)
	if &a.Names[0] != &b.Names[0] {
		t.Error("a list in the same memory was read twice")
	}
}

// A recorder stores a request in pieces, and reads these.
func FuzzCache(f *testing.F) {
	for _, s := range handmade.Samples {
		f.Add(s.Path, s.Data)
		f.Add("", s.Data)
	}
	var names []byte
	for i := range 40 {
		names = append(names, str(3, fmt.Sprint("a cluster with a long name, number ", i))...)
	}
	f.Add(adsPath, msg(str(1, "v"), names, str(4, clusterURL), str(5, "n")))
	f.Add(adsPath, msg(names, sub(7, str(1, "located")), names))
	f.Add(deltaADSPath, msg(str(2, clusterURL), names, sub(8, str(1, "located"))))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		m := xds.LookupMethod(path)
		want := decode.Peek(m, session.Client, "", data)
		if !want.Request() {
			return
		}
		k, cache := NewSplitter(), Cache{}
		k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: path})
		e := session.Entry{Kind: session.KindMessage, Side: session.Client, Stream: 1, Message: &session.Message{Data: session.Chunks{data}}}
		k.Transform(&e)
		for range 2 {
			got, _ := cache.Peek(m, session.Client, "", e.Message.Data)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("in pieces (-whole +pieces):\n%s", diff)
			}
		}
	})
}
