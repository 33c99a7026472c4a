package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/xdsproxy/xdsproxy/session"
)

// rig is a tap with a log, for conversations that are written by hand.
type rig struct {
	t              *testing.T
	tap            *Tap
	log            *collector
	memory         *Memory
	client, server *endpoint
	ids            session.StreamID
}

func newRig(t *testing.T, budget int64) *rig {
	rng := rand.New(rand.NewPCG(7, 7))
	r := &rig{
		t: t, log: &collector{}, memory: NewMemory(budget),
		client: newEndpoint(session.Client, rng), server: newEndpoint(session.Server, rng),
	}
	r.tap = NewTap(Config{Conn: 1, Sink: r.log, Memory: r.memory, NewStream: func() session.StreamID { r.ids++; return r.ids }})
	return r
}

func (r *rig) flush() {
	r.tap.Feed(session.Client, time.Unix(1, 0), r.client.out.Next(r.client.out.Len()))
	r.tap.Feed(session.Server, time.Unix(1, 0), r.server.out.Next(r.server.out.Len()))
}

// grpc opens a gRPC stream and answers with headers.
func (r *rig) grpc(id uint32) {
	fields := []session.Field{{Name: ":path", Value: "/s/M"}, {Name: "content-type", Value: "application/grpc"}}
	r.client.writeHeaders(id, fields, false, 0)
	r.flush()
	r.server.writeHeaders(id, fields[1:], false, 0)
	r.flush()
}

func (r *rig) kinds() []string {
	var out []string
	for _, e := range r.log.entries {
		k := e.Kind.String()
		if e.Note != nil {
			k = string(e.Note.Code)
		}
		out = append(out, k)
	}
	return out
}

func (r *rig) last() session.Entry { return r.log.entries[len(r.log.entries)-1] }

func (r *rig) wantKinds(want ...string) {
	r.t.Helper()
	if got := r.kinds(); !slices.Equal(got, want) {
		r.t.Fatalf("entries are %v, want %v", got, want)
	}
}

func prefixed(msg string) []byte {
	b := append(make([]byte, 1, 5+len(msg)), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b[1:], uint32(len(msg)))
	return append(b, msg...)
}

func TestLyingLengthPrefix(t *testing.T) {
	r := newRig(t, 256<<20)
	r.grpc(1)
	r.client.framer.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 'a', 'b'})
	r.flush()
	if used := r.memory.Used(); used > 1024 {
		t.Errorf("7 bytes of a message that claims 4 GiB cost %d bytes", used)
	}
	r.client.framer.WriteData(1, true, bytes.Repeat([]byte("x"), 1000))
	r.flush()
	r.wantKinds("open", "header", "message", "half-close")
	m := r.log.entries[2].Message
	if !m.Truncated || m.Size != 1002 || m.WireSize != 1002 || len(m.Hash) != 32 || !strings.HasPrefix(string(m.Data.Bytes()), "abxx") {
		t.Errorf("message is %+v", m)
	}
}

func TestMessagePastTheBudget(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	msg := prefixed(strings.Repeat("0123456789", 300_000))
	for b := range slices.Chunk(msg, 16000) {
		r.client.framer.WriteData(1, false, b)
	}
	r.client.framer.WriteData(1, true, prefixed("small"))
	r.flush()
	r.wantKinds("open", "header", "message", "message", "half-close")
	big, small := r.log.entries[2], r.log.entries[3]
	if m := big.Message; !m.Truncated || m.Size != 3_000_000 || m.Data.Len() != keepPrefix || len(big.Problems) != 1 {
		t.Errorf("big message is %+v, %v", m, big.Problems)
	}
	if m := small.Message; m.Truncated || string(m.Data.Bytes()) != "small" {
		t.Errorf("small message is %+v", m)
	}
	if r.memory.Used() != 0 {
		t.Errorf("%d bytes of the budget are lost", r.memory.Used())
	}
}

func TestBrokenHPACKKeepsMessages(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.client.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, EndHeaders: true, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0x7f}})
	r.client.framer.WriteData(1, false, prefixed("on a known stream"))
	r.client.framer.WriteData(3, false, prefixed("on the broken stream"))
	r.client.writeHeaders(5, []session.Field{{Name: ":path", Value: "/x"}}, false, 0)
	r.client.framer.WriteData(5, true, prefixed("on a later stream"))
	r.server.framer.WriteData(1, false, prefixed("from the server"))
	r.flush()
	r.wantKinds("open", "header", "headers-lost", "open", "message", "message", "open", "message", "half-close", "message")
	for _, i := range []int{3, 6} {
		if len(r.log.entries[i].Problems) != 1 {
			t.Errorf("entry %d does not say that its headers are unknown", i)
		}
	}
}

func TestGarbageIsBlind(t *testing.T) {
	for name, c := range map[string]struct{ client, server, note string }{
		"noise":           {"\x00\x01\x02garbage", "\xfe\xfdgarbage", "neither"},
		"tls":             {"\x16\x03\x01\x02\x00\x01", "\x15\x03\x01", "TLS"},
		"no settings":     {preface + "\x00\x00\x00\x00\x00\x00\x00\x00\x01", "", "not SETTINGS"},
		"data on 0":       {preface + settings + "\x00\x00\x01\x00\x00\x00\x00\x00\x00x", "", "stream 0"},
		"padding too big": {preface + settings + "\x00\x00\x02\x00\x08\x00\x00\x00\x01\x09x", "", "padding"},
		"stray block":     {preface + settings + "\x00\x00\x00\x09\x04\x00\x00\x00\x01", "", "CONTINUATION"},
		"torn block":      {preface + settings + "\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01", "", "inside the header block"},
		"short rst":       {preface + settings + "\x00\x00\x02\x03\x00\x00\x00\x00\x01ab", "", "instead of 4"},
		"ssh":             {"SSH-2.0-OpenSSH_9.6\r\n\r\n", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1<<20)
			for i := range len(c.client) {
				r.tap.Feed(session.Client, time.Unix(1, 0), []byte(c.client[i:i+1]))
			}
			if n := r.tap.Feed(session.Client, time.Unix(1, 0), []byte("more")); n != 4 {
				t.Errorf("a blind direction may end anywhere, not at %d", n)
			}
			r.tap.Feed(session.Server, time.Unix(1, 0), []byte(c.server))
			first := r.log.entries[0]
			if first.Note == nil || first.Note.Code != session.NoteBlind || !strings.Contains(first.Note.Text, c.note) {
				t.Errorf("first entry is %+v", first.Note)
			}
		})
	}
}

const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// heapGrowth is how much more the heap holds after f, with what f returns
// still alive.
func heapGrowth(f func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	keep := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestContinuationFloodCostsNoMemory(t *testing.T) {
	growth := heapGrowth(func() any {
		r := newRig(t, 1<<20)
		r.client.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x00}})
		for range 20_000 {
			r.client.framer.WriteContinuation(1, false, nil)
		}
		// One literal whose name never ends, byte by byte, then fields without
		// number.
		r.client.framer.WriteContinuation(1, false, []byte{0x01, 'a', 0x01, 'b'})
		field := []byte("\x00\x01n\x7f\xff\x0f" + strings.Repeat("v", 2174))
		for range 4000 {
			r.client.framer.WriteContinuation(1, false, field)
			r.flush()
		}
		r.client.framer.WriteContinuation(1, true, nil)
		r.flush()
		if len(r.log.entries) != 1 || r.log.entries[0].Kind != session.KindOpen || len(r.log.entries[0].Problems) != 1 {
			t.Errorf("entries are %v", r.kinds())
		}
		r.client.out = bytes.Buffer{}
		return r
	})
	if growth > 4<<20 {
		t.Errorf("8.7 MB of header fields cost %d bytes", growth)
	}
}

func TestEndlessStringBreaksHeadersOnly(t *testing.T) {
	r := newRig(t, 1<<20)
	// A value of 2^28 bytes, of which a few MB arrive.
	r.client.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x00, 0x01, 'n', 0x7f, 0x81, 0xff, 0xff, 0x7f}})
	for range 300 {
		r.client.framer.WriteContinuation(1, false, make([]byte, 16000))
		r.flush()
	}
	r.client.framer.WriteContinuation(1, true, nil)
	r.client.framer.WriteData(1, true, prefixed("still seen"))
	r.flush()
	r.wantKinds("headers-lost", "open", "message", "half-close")
}

func TestStreamFloodIsBounded(t *testing.T) {
	r := newRig(t, 1<<20)
	for i := range uint32(maxStreams + 100) {
		r.client.writeHeaders(2*i+1, []session.Field{{Name: ":path", Value: "/x"}}, false, 0)
		r.flush()
	}
	if n := len(r.tap.streams.open); n > maxStreams {
		t.Errorf("%d streams are followed", n)
	}
	if e := r.last(); e.Note == nil || e.Note.Code != session.NoteStreamLimit {
		t.Errorf("last entry is %v", e)
	}
}

func TestResetFloodIsBounded(t *testing.T) {
	r := newRig(t, 1<<20)
	for i := range uint32(20_000) {
		r.client.writeHeaders(2*i+1, []session.Field{{Name: "content-type", Value: "application/grpc"}}, false, 0)
		r.client.framer.WriteData(2*i+1, false, []byte{0, 0, 0, 1, 0, 'x'})
		r.flush()
		r.server.writeHeaders(2*i+1, []session.Field{{Name: "content-type", Value: "application/grpc"}}, false, 0)
		r.server.framer.WriteData(2*i+1, false, []byte{0, 0, 0, 1, 0, 'x'})
		r.flush()
		r.client.framer.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
		r.flush()
	}
	if n := len(r.tap.streams.open); n > lingering {
		t.Errorf("%d streams are followed", n)
	}
	if n := len(r.tap.server.recv); n > lingering+1 {
		t.Errorf("%d half messages are held", n)
	}
	r.tap.End(session.Client, time.Unix(2, 0), "over")
	if r.memory.Used() != 0 {
		t.Errorf("%d bytes of the budget are lost", r.memory.Used())
	}
}

// A defect of the tap must not stop the traffic.
func TestPanicIsBlindness(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.tap.client.recv[1].stream = nil
	r.client.framer.WriteData(1, false, prefixed("boom"))
	n := r.client.out.Len()
	if got := r.tap.Feed(session.Client, time.Unix(1, 0), r.client.out.Next(n)); got != n {
		t.Errorf("boundary is %d of %d", got, n)
	}
	if e := r.last(); e.Note == nil || e.Note.Code != session.NoteBlind {
		t.Errorf("last entry is %+v", e)
	}
	r.server.framer.WriteData(1, false, prefixed("the other direction goes on"))
	r.flush()
	if e := r.last(); e.Kind != session.KindMessage || e.Side != session.Server {
		t.Errorf("last entry is %+v", e)
	}
}

func TestBoundary(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.grpc(3)
	feed := func(f func()) (boundary, size int) {
		f()
		size = r.client.out.Len()
		return r.tap.Feed(session.Client, time.Unix(1, 0), r.client.out.Next(size)), size
	}
	whole := prefixed("0123456789")
	if n, size := feed(func() { r.client.framer.WriteData(1, false, whole) }); n != size {
		t.Errorf("after a whole message: %d of %d", n, size)
	}
	if n, _ := feed(func() { r.client.framer.WriteData(1, false, whole[:7]) }); n != -1 {
		t.Errorf("inside a message: %d", n)
	}
	if n, _ := feed(func() { r.client.framer.WriteData(3, false, whole) }); n != -1 {
		t.Errorf("after another stream's message, inside one: %d", n)
	}
	n, size := feed(func() {
		r.client.framer.WriteData(1, false, whole[7:])
		r.client.framer.WriteData(1, false, whole[:3])
	})
	if want := 9 + len(whole) - 7; n != want {
		t.Errorf("after the message, before the next: %d of %d, want %d", n, size, want)
	}
}
