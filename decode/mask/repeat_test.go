package mask

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is cut and masked is what would be if nothing had passed before: the same
// chunks, with the same masks, whatever the responses repeat of each other.
func FuzzRepeated(f *testing.F) {
	handmade.AddRepeats(f)
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		k := New()
		cold := func() handmade.Transformer { return &Masker{streams: decode.NewStreams(), masks: k.masks} }
		handmade.Repeat(t, seed, ops, k, cold, func(path string, _ []byte, got, want *session.Entry) {
			m := xds.LookupMethod(path)
			if g := k.Glance(m, session.Server, got.Message); g != chunk.Glance(m, session.Server, want.Message.Data) {
				t.Fatalf("%s: a glance at it gives %+v", path, g)
			}
		})
	})
}

// Most of a response that repeats another is in the memory of that, and the
// memory that it came in is not kept.
func TestRepeatedInTheSameMemory(t *testing.T) {
	k := New()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	s, was := handmade.NewSaid(false, clusterURL, 1000), map[*byte]bool{}
	for i, want := range []int{0, 1000, 999, 998, 1000} {
		if i == 2 {
			s.Resources[700] = s.Resource(700, 9)
		}
		if i == 3 {
			s.Resources = slices.Delete(s.Resources, 10, 11)
			s.Resources[300] = s.Resource(300, 8)
		}
		if i == 4 {
			s.Resources = slices.Insert(s.Resources, 500, s.Resources[498:500]...)
		}
		s.Version++
		data := s.Bytes(30)
		e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{data}}}
		k.Transform(&e)
		n := 0
		for _, c := range e.Message.Data {
			if was[&c[0]] && len(c) > 48 && c[0] == 2<<3|2 {
				n++
			}
			was[&c[0]] = true
		}
		if n < want {
			t.Errorf("response %d: %d resources are where they were, want %d", i, n, want)
		}
		clear(data)
	}
}
