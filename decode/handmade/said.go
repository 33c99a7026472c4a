package handmade

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// Said is a response that is edited again and again.
type Said struct {
	Version   int
	Resources [][]byte // fields
	delta     bool
	url       string
}

// NewSaid returns a response of n resources.
func NewSaid(delta bool, url string, n int) *Said {
	s := &Said{delta: delta, url: url}
	for i := range n {
		s.Resources = append(s.Resources, s.Resource(i, 0))
	}
	return s
}

// Resource is one that has a secret now and then.
func (s *Said) Resource(i, generation int) []byte {
	parts := [][]byte{Str(1, fmt.Sprintf("outbound|8080||service-%05d.default.svc.cluster.local", i)), Num(2, 3), Str(28, fmt.Sprint(generation))}
	if i%9 == 4 {
		parts = append(parts, Sub(24, Str(1, "envoy.transport_sockets.tls"), AnyOf(3, "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
			Sub(1, Sub(2, Sub(2, Sub(4, []byte{}, Str(4, fmt.Sprintf("-----BEGIN PRIVATE KEY-----%d", i)))))))))
	}
	if s.delta {
		return Sub(2, Str(1, fmt.Sprint(generation)), AnyOf(2, s.url, parts...), Str(3, fmt.Sprint("name ", i)))
	}
	return AnyOf(2, s.url, parts...)
}

// edit changes something, of a kind that op says.
func (s *Said) edit(op byte, rng *rand.Rand) {
	s.Version++
	at := func() int { return rng.IntN(len(s.Resources)) }
	switch op % 10 {
	case 0: // all as it was
	case 1:
		s.Resources[at()] = s.Resource(rng.IntN(200), s.Version)
	case 2: // moved, near or far
		from := at()
		r := s.Resources[from]
		s.Resources = slices.Delete(s.Resources, from, from+1)
		s.Resources = slices.Insert(s.Resources, rng.IntN(len(s.Resources)+1), r)
	case 3:
		if from := at(); len(s.Resources) > 1 {
			s.Resources = slices.Delete(s.Resources, from, min(from+1+rng.IntN(20), len(s.Resources)))
		}
	case 4:
		s.Resources = slices.Insert(s.Resources, at(), s.Resources[at()])
	case 5:
		for range 1 + rng.IntN(20) {
			s.Resources = slices.Insert(s.Resources, at(), s.Resource(rng.IntN(1000), s.Version))
		}
	case 6:
		rng.Shuffle(len(s.Resources), func(a, b int) { s.Resources[a], s.Resources[b] = s.Resources[b], s.Resources[a] })
	case 7: // what is too small for a chunk, or unknown, or no resource at all
		s.Resources = slices.Insert(s.Resources, at(), [][]byte{
			Sub(2, Str(1, "small")), Str(99, "an unknown field"), Num(77, 7), Str(6, "control plane or removed"), Str(4, s.url), Str(5, "another nonce"),
			{0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06},
		}[rng.IntN(7)])
	case 8: // a tag and a length that are longer than they must be
		if r := s.Resources[at()]; r[0] == 2<<3|2 {
			s.Resources = append(s.Resources, append([]byte{0x92, 0x00}, r[1:]...))
		}
	case 9:
		for i := range s.Resources {
			if rng.IntN(3) == 0 {
				s.Resources[i] = s.Resource(i, s.Version)
			}
		}
	}
	if len(s.Resources) < 90 {
		for i := range 90 {
			s.Resources = append(s.Resources, s.Resource(i, 0))
		}
	}
	s.Resources = s.Resources[:min(len(s.Resources), 300)]
}

// Bytes is the message, with its fields in one order or another.
func (s *Said) Bytes(op byte) []byte {
	all := bytes.Join(s.Resources, nil)
	version, url, nonce := Str(1, fmt.Sprint("v", s.Version)), Str(4, s.url), Str(5, fmt.Sprint("nonce ", s.Version))
	switch op / 10 % 4 {
	case 0:
		return Msg(nonce, url, all, version)
	case 1:
		return Msg(url, all[:len(all)/2], nonce, all[len(all)/2:])
	default:
		return Msg(version, all, url, nonce, Str(6, "plane"))
	}
}

// Transformer is what cuts responses, and what is given the memory that they came in.
type Transformer interface {
	Transform(*session.Entry)
	Free(func(session.Chunks))
}

// Repeat gives responses that repeat each other, more or less, to one that has seen
// those before and to one that has not: both must make the same of them, whoever
// writes over the memory that they came in.
func Repeat(t *testing.T, seed uint64, ops []byte, warm Transformer, cold func() Transformer, check func(path string, data []byte, got, want *session.Entry)) {
	rng := rand.New(rand.NewPCG(seed, 5))
	all := []*Said{
		NewSaid(false, ClusterURL, 120), NewSaid(true, ClusterURL, 130),
		NewSaid(false, "type.googleapis.com/envoy.config.listener.v3.Listener", 100), NewSaid(false, SecretURL, 100),
		NewSaid(true, WrapperURL, 100), NewSaid(false, ClusterURL, 110), NewSaid(false, ClusterURL, 3),
	}
	freed := 0
	warm.Free(func(session.Chunks) { freed++ })
	at, seen := 0, 0
	for _, op := range ops[:min(len(ops), 40)] {
		if op&0xc0 != 0 {
			at = rng.IntN(len(all)) // another type
		}
		s := all[at]
		s.edit(op&0x3f, rng)
		data := s.Bytes(op & 0x3f)
		if op&0x3f > 60 {
			data = data[:rng.IntN(len(data))]
		}
		size := []int{16 << 10, 1 << 10, 100, len(data) + 1}[rng.IntN(4)]
		path := ADSPath
		if s.delta {
			path = DeltaADSPath
		}
		seen++
		open := session.Entry{Kind: session.KindOpen, Conn: 1, Stream: session.StreamID(seen), Method: path}
		in := bytes.Clone(data)
		e := session.Entry{
			Kind: session.KindMessage, Side: session.Server, Conn: 1, Stream: open.Stream,
			Message: &session.Message{Data: slices.Collect(slices.Chunk(in, size)), Size: int64(len(data))},
		}
		got, want := e, e
		before := freed
		for i, k := range []Transformer{warm, cold()} {
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
			t.Fatalf("op %d: it was freed too early", op)
		}
		copy(in, data)
		if len(got.Message.Data) == 0 && len(want.Message.Data) == 0 {
			got.Message.Data = want.Message.Data // nothing is left, in whatever it was
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("op %d, %s: %d chunks, want %d: %+v, want %+v", op, s.url, len(got.Message.Data), len(want.Message.Data), got.Problems, want.Problems)
		}
		check(path, data, &got, &want)
		clear(in) // who had it takes it back
	}
}

// AddRepeats adds seeds for Repeat.
func AddRepeats(f *testing.F) {
	f.Add(uint64(1), []byte{0, 20, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 20, 0, 10, 0})
	f.Add(uint64(2), []byte("what was said before is said again, more or less, in this order or that"))
	f.Add(uint64(3), bytes.Repeat([]byte{26}, 40)) // another order each time
	f.Add(uint64(4), bytes.Repeat([]byte{21, 0x40, 20, 0x80, 24}, 20))
}
