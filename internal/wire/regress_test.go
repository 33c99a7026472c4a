package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/xdsproxy/xdsproxy/session"
)

// What a truncated message keeps is its beginning, even if there is room again
// later.
func TestTruncatedKeepsTheBeginning(t *testing.T) {
	r := newRig(t, 30_000)
	r.grpc(1)
	r.grpc(3)
	r.client.framer.WriteData(3, false, append([]byte{0, 0, 0, 0x75, 0x31}, make([]byte, 15_000)...)) // half the budget
	msg := prefixed(strings.Repeat("A", 16_000) + strings.Repeat("B", 16_000))
	r.client.framer.WriteData(1, false, msg[:16_000])
	r.flush()
	r.client.framer.WriteData(3, true, make([]byte, 15_001)) // gives its half back
	r.flush()
	r.client.framer.WriteData(1, true, msg[16_000:])
	r.flush()
	for _, e := range r.log.entries {
		if m := e.Message; m != nil && m.Size == 32_000 {
			if kept := string(m.Data.Bytes()); !m.Truncated || !strings.HasPrefix(strings.Repeat("A", 16_000), kept) {
				t.Errorf("kept %d bytes that are not the beginning", len(kept))
			}
			return
		}
	}
	t.Fatalf("no such message among %v", r.kinds())
}

// A stream that the receiver resets in the middle of a message neither keeps
// its memory nor stands in the way of a boundary.
func TestResetByTheReceiverLetsGo(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.grpc(3)
	r.server.framer.WriteData(1, false, append([]byte{0, 0, 1, 0, 0}, make([]byte, 10_000)...))
	r.flush()
	r.client.framer.WriteRSTStream(1, http2.ErrCodeCancel)
	r.flush()
	whole := dataOf(3, prefixed("whole"))
	if n := r.tap.Feed(session.Server, time.Unix(1, 0), whole); n != len(whole) {
		t.Errorf("boundary is %d of %d", n, len(whole))
	}
	r.tap.Feed(session.Server, time.Unix(3, 0), whole)
	if used := r.memory.Used(); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
	if got := r.kinds(); !slices.Equal(got[len(got)-3:], []string{"message", "message", "message"}) || !r.log.entries[len(got)-2].Message.Truncated {
		t.Errorf("entries are %v", got)
	}
}

// What was on its way when the receiver reset the stream is recorded.
func TestMessageThatCrossesAReset(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	r.server.framer.WriteData(1, false, prefixed("crossing")[:7])
	r.flush()
	r.client.framer.WriteRSTStream(1, http2.ErrCodeCancel)
	r.flush()
	r.server.framer.WriteData(1, false, prefixed("crossing")[7:])
	r.flush()
	if m := r.last().Message; m == nil || m.Truncated || string(m.Data.Bytes()) != "crossing" {
		t.Errorf("last entry is %+v", r.last())
	}
}

func TestPromiseOfAStreamThatIsNotTheServers(t *testing.T) {
	r := newRig(t, 1<<20)
	r.grpc(1)
	for _, id := range []uint32{1, 2, 2} {
		r.server.writeHeaders(1, []session.Field{{Name: ":path", Value: "/pushed"}}, false, id)
	}
	r.flush()
	r.wantKinds("open", "header", "http2-problem", "open") // told once
	r.tap.End(session.Proxy, time.Unix(2, 0), "over")
	r.wantKinds("open", "header", "http2-problem", "open", "cancel", "cancel")
}

// A few bytes of HPACK can name a large value again and again.
func TestHeaderBombIsCut(t *testing.T) {
	r := newRig(t, 1<<20)
	block := append([]byte("\x40\x01n\x7f\xe1\xd3\x03"), bytes.Repeat([]byte("v"), 60_000)...)
	r.client.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: append([]byte{0x3f, 0xe1, 0xff, 0x03}, block...)})
	r.client.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, EndHeaders: true, BlockFragment: bytes.Repeat([]byte{0xbe}, 1000)})
	r.flush()
	r.wantKinds("open", "open")
	var kept int
	for _, f := range r.last().Headers {
		kept += len(f.Name) + len(f.Value)
	}
	if kept > 64<<10 || len(r.last().Problems) != 1 {
		t.Errorf("%d bytes of headers are kept; problems: %v", kept, r.last().Problems)
	}
}

// After an upgrade neither side is understood, and nothing that was said is
// quoted.
func TestUpgradeSilencesBothSides(t *testing.T) {
	r := newRig(t, 1<<20)
	feed := func(side session.Side, s string) { r.tap.Feed(side, time.Unix(1, 0), []byte(s)) }
	feed(session.Client, "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n")
	feed(session.Server, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
	feed(session.Client, "secret=hunter2\r\n\r\n")
	feed(session.Server, "secret=hunter2\r\n\r\n")
	r.wantKinds("open", "half-close", "header", "trailer", "blind")
}

func TestWhatAPeerSaysIsNotQuoted(t *testing.T) {
	for _, c := range [][2]string{
		{"AUTH user sk-live-1\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\ncontent-length: sk-live-1\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\n\r\n", "HTTP sk-live-1\r\n\r\n"},
		{"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nsk-live-1\r\n", ""},
	} {
		r := newRig(t, 1<<20)
		r.tap.Feed(session.Client, time.Unix(1, 0), []byte(c[0]))
		r.tap.Feed(session.Server, time.Unix(1, 0), []byte(c[1]))
		e := r.last()
		if e.Note == nil || strings.Contains(e.Note.Text, "sk-live") {
			t.Errorf("%q gives %+v", c, e.Note)
		}
	}
}

// Lines that are no end of the head must not be looked at again with each line
// that follows; and a head without end is given up.
func TestHeadWithoutEnd(t *testing.T) {
	r := newRig(t, 1<<20)
	r.tap.Feed(session.Client, time.Unix(1, 0), append([]byte("GET / HTTP/1.1"), bytes.Repeat([]byte("\r\r\n"), 1<<20)...))
	if e := r.last(); e.Note == nil || !strings.Contains(e.Note.Text, "longer than") {
		t.Errorf("last entry is %+v", e)
	}
}

func TestHTTP2ClientAtAnHTTP1Server(t *testing.T) {
	r := newRig(t, 1<<20)
	r.tap.Feed(session.Client, time.Unix(1, 0), []byte(preface+settings))
	r.tap.Feed(session.Server, time.Unix(1, 0), []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	if e := r.last(); e.Note == nil || !strings.Contains(e.Note.Text, "to a client that speaks HTTP/2") {
		t.Errorf("last entry is %+v", e.Note)
	}
}

func dataOf(stream uint32, payload []byte) []byte {
	var b bytes.Buffer
	http2.NewFramer(&b, nil).WriteData(stream, false, payload)
	return b.Bytes()
}
