package decode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// said is a response that is edited again and again.
type said struct {
	delta     bool
	url       string
	version   int
	resources [][]byte // fields
}

func newSaid(delta bool, url string, n int) *said {
	s := &said{delta: delta, url: url}
	for i := range n {
		s.resources = append(s.resources, s.resource(i, 0))
	}
	return s
}

// resource is one that has a secret now and then.
func (s *said) resource(i, generation int) []byte {
	parts := [][]byte{str(1, fmt.Sprintf("outbound|8080||service-%05d.default.svc.cluster.local", i)), num(2, 3), str(28, fmt.Sprint(generation))}
	if i%9 == 4 {
		parts = append(parts, sub(24, str(1, "envoy.transport_sockets.tls"), anyOf(3, "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
			sub(1, sub(2, sub(2, sub(4, []byte{}, str(4, fmt.Sprintf("-----BEGIN PRIVATE KEY-----%d", i)))))))))
	}
	if s.delta {
		return sub(2, str(1, fmt.Sprint(generation)), anyOf(2, s.url, parts...), str(3, fmt.Sprint("name ", i)))
	}
	return anyOf(2, s.url, parts...)
}

// edit changes something, of a kind that op says.
func (s *said) edit(op byte, rng *rand.Rand) {
	s.version++
	at := func() int { return rng.IntN(len(s.resources)) }
	switch op % 10 {
	case 0: // all as it was
	case 1:
		s.resources[at()] = s.resource(rng.IntN(200), s.version)
	case 2: // moved, near or far
		from := at()
		r := s.resources[from]
		s.resources = slices.Delete(s.resources, from, from+1)
		s.resources = slices.Insert(s.resources, rng.IntN(len(s.resources)+1), r)
	case 3:
		if from := at(); len(s.resources) > 1 {
			s.resources = slices.Delete(s.resources, from, min(from+1+rng.IntN(20), len(s.resources)))
		}
	case 4:
		s.resources = slices.Insert(s.resources, at(), s.resources[at()])
	case 5:
		for range 1 + rng.IntN(20) {
			s.resources = slices.Insert(s.resources, at(), s.resource(rng.IntN(1000), s.version))
		}
	case 6:
		rng.Shuffle(len(s.resources), func(a, b int) { s.resources[a], s.resources[b] = s.resources[b], s.resources[a] })
	case 7: // what is too small for a chunk, or unknown, or no resource at all
		s.resources = slices.Insert(s.resources, at(), [][]byte{
			sub(2, str(1, "small")), str(99, "an unknown field"), num(77, 7), str(6, "control plane or removed"), str(4, s.url), str(5, "another nonce"),
			{0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06},
		}[rng.IntN(7)])
	case 8: // a tag and a length that are longer than they must be
		if r := s.resources[at()]; r[0] == 2<<3|2 {
			s.resources = append(s.resources, append([]byte{0x92, 0x00}, r[1:]...))
		}
	case 9:
		for i := range s.resources {
			if rng.IntN(3) == 0 {
				s.resources[i] = s.resource(i, s.version)
			}
		}
	}
	if len(s.resources) < 90 {
		for i := range 90 {
			s.resources = append(s.resources, s.resource(i, 0))
		}
	}
	s.resources = s.resources[:min(len(s.resources), 300)]
}

// bytes is the message, with its fields in one order or another.
func (s *said) bytes(op byte) []byte {
	all := bytes.Join(s.resources, nil)
	version, url, nonce := str(1, fmt.Sprint("v", s.version)), str(4, s.url), str(5, fmt.Sprint("nonce ", s.version))
	switch op / 10 % 4 {
	case 0:
		return msg(nonce, url, all, version)
	case 1:
		return msg(url, all[:len(all)/2], nonce, all[len(all)/2:])
	default:
		return msg(version, all, url, nonce, str(6, "plane"))
	}
}

// What is cut is what would be cut if nothing had passed before: the same chunks,
// with the same masks, whatever the responses repeat of each other, and whoever
// writes over the memory that they came in.
func FuzzRepeated(f *testing.F) {
	f.Add(uint64(1), []byte{0, 20, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 20, 0, 10, 0})
	f.Add(uint64(2), []byte("what was said before is said again, more or less, in this order or that"))
	f.Add(uint64(3), bytes.Repeat([]byte{26}, 40)) // another order each time
	f.Add(uint64(4), bytes.Repeat([]byte{21, 0x40, 20, 0x80, 24}, 20))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		rng := rand.New(rand.NewPCG(seed, 5))
		methods := []string{adsPath, deltaADSPath}
		all := []*said{
			newSaid(false, clusterURL, 120), newSaid(true, clusterURL, 130),
			newSaid(false, "type.googleapis.com/envoy.config.listener.v3.Listener", 100), newSaid(false, secretURL, 100),
			newSaid(true, wrapperURL, 100), newSaid(false, clusterURL, 110), newSaid(false, clusterURL, 3),
		}
		warm, masks := NewMasker(), newMasks()
		warm.masks = masks
		split := NewSplitter()
		freed := 0
		warm.Free(func(session.Chunks) { freed++ })
		split.Free(func(session.Chunks) { freed++ })
		at, seen := 0, 0
		for _, op := range ops[:min(len(ops), 40)] {
			if op&0xc0 != 0 {
				at = rng.IntN(len(all)) // another type
			}
			s := all[at]
			s.edit(op&0x3f, rng)
			data := s.bytes(op & 0x3f)
			if op&0x3f > 60 {
				data = data[:rng.IntN(len(data))]
			}
			size := []int{16 << 10, 1 << 10, 100, len(data) + 1}[rng.IntN(4)]
			path := methods[0]
			if s.delta {
				path = methods[1]
			}
			seen++
			open := session.Entry{Kind: session.KindOpen, Conn: 1, Stream: session.StreamID(seen), Method: path}
			in := bytes.Clone(data)
			e := session.Entry{
				Kind: session.KindMessage, Side: session.Server, Conn: 1, Stream: open.Stream,
				Message: &session.Message{Data: slices.Collect(slices.Chunk(in, size)), Size: int64(len(data))},
			}
			for name, k := range map[string][2]interface {
				Transform(*session.Entry)
				Glance(xds.Method, session.Side, *session.Message) Brief
			}{
				"masker":   {warm, &Masker{streams: NewStreams(), masks: masks}},
				"splitter": {split, NewSplitter()},
			} {
				got, want := e, e
				before := freed
				for i, k := range k {
					k.Transform(&open)
					k.Transform([]*session.Entry{&got, &want}[i])
				}
				if !bytes.Equal(in, data) {
					t.Fatal("the message was written to")
				}
				wanted := want.Message.Data.Bytes()
				if freed > before { // then it may be written over
					wanted = bytes.Clone(wanted)
					clear(in)
				}
				if !bytes.Equal(got.Message.Data.Bytes(), wanted) {
					t.Fatalf("%s, op %d: it was freed too early", name, op)
				}
				copy(in, data)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, op %d, %s: %d chunks, want %d: %+v, want %+v", name, op, s.url, len(got.Message.Data), len(want.Message.Data), got.Problems, want.Problems)
				}
				m := xds.LookupMethod(path)
				if g := k[0].Glance(m, session.Server, got.Message); g != Glance(m, session.Server, want.Message.Data) {
					t.Fatalf("%s, op %d: a glance at it gives %+v", name, op, g)
				}
				if name == "splitter" && !bytes.Equal(got.Message.Data.Bytes(), data) {
					t.Fatalf("op %d: the message is another", op)
				}
			}
			clear(in) // who had it takes it back
			checkRepeats(t, &warm.splitter.repeats)
			checkRepeats(t, &split.splitter.repeats)
		}
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

// Most of a response that repeats another is in the memory of that, and the
// memory that it came in is not kept.
func TestRepeatedInTheSameMemory(t *testing.T) {
	k := NewMasker()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: adsPath})
	s, was := newSaid(false, clusterURL, 1000), map[*byte]bool{}
	for i, want := range []int{0, 1000, 999, 998, 1000} {
		if i == 2 {
			s.resources[700] = s.resource(700, 9)
		}
		if i == 3 {
			s.resources = slices.Delete(s.resources, 10, 11)
			s.resources[300] = s.resource(300, 8)
		}
		if i == 4 {
			s.resources = slices.Insert(s.resources, 500, s.resources[498:500]...)
		}
		s.version++
		data := s.bytes(30)
		e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{data}}}
		k.Transform(&e)
		n := 0
		for _, c := range e.Message.Data {
			if was[&c[0]] && isResource(c) {
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
		for _, a := range k.splitter.repeats.all {
			sum += a.cost()
		}
		all := k.splitter.repeats.all
		if len(all) > 1 && sum > maxRepeated || sum > maxOne || len(all) > maxResponses {
			t.Errorf("after %d MiB: %d bytes of %d responses", n, sum, len(all))
		}
		if n < 15 && len(all[len(all)-1].resources) != n {
			t.Errorf("%d MiB are not held", n)
		}
	}
}
