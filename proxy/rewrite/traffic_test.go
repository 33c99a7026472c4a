package rewrite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frame is what a server makes of a frame, or of a whole header block.
type frame struct {
	typ      http2.FrameType
	flags    http2.Flags
	stream   uint32
	payload  string
	fields   []hpack.HeaderField
	priority http2.PriorityParam
}

// traffic is what a legal client sends, and its own account of it.
type traffic struct {
	rng    *rand.Rand
	out    bytes.Buffer
	framer *http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	sent   []frame
	next   uint32
	open   []uint32
}

func newTraffic(seed uint64) *traffic {
	c := &traffic{rng: rand.New(rand.NewPCG(seed, 7)), next: 1}
	c.out.WriteString(http2.ClientPreface)
	c.framer = http2.NewFramer(&c.out, nil)
	c.framer.AllowIllegalWrites = true
	c.enc = hpack.NewEncoder(&c.block)
	c.enc.SetMaxDynamicTableSizeLimit(1 << 20)
	c.framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: c.rng.Uint32N(1 << 16)})
	c.sent = append(c.sent, frame{typ: http2.FrameSettings})
	return c
}

func (c *traffic) text(n int) string {
	b := make([]byte, c.rng.IntN(n+1))
	for i := range b {
		b[i] = "abcxyz0189-=/ +~"[c.rng.IntN(16)]
	}
	return string(bytes.Trim(b, " "))
}

// step sends something.
func (c *traffic) step() {
	pick := func() uint32 { return c.open[c.rng.IntN(len(c.open))] }
	switch k := c.rng.IntN(12); {
	case len(c.open) == 0 || k < 3:
		fields := []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}}
		if c.rng.IntN(4) > 0 {
			fields = append(fields, hpack.HeaderField{Name: ":authority", Value: c.text(20) + "a"})
		}
		fields = append(fields, hpack.HeaderField{Name: ":path", Value: fmt.Sprintf("/s%d/M", c.rng.IntN(5))})
		c.headers(c.next, append(fields, c.fields()...), c.rng.IntN(8) == 0)
		c.open = append(c.open, c.next)
		c.next += 2
	case k == 3: // trailers
		i := c.rng.IntN(len(c.open))
		c.headers(c.open[i], c.fields(), true)
		c.open = append(c.open[:i], c.open[i+1:]...)
	case k == 4:
		var data [8]byte
		c.framer.WritePing(false, data)
		c.sent = append(c.sent, frame{typ: http2.FramePing, payload: string(data[:])})
	case k == 5:
		f := frame{typ: http2.FrameType(0x20 + c.rng.IntN(200)), flags: http2.Flags(c.rng.IntN(256)), stream: pick(), payload: c.text(300)}
		c.framer.WriteRawFrame(f.typ, f.flags, f.stream, []byte(f.payload))
		c.sent = append(c.sent, f)
	case k == 6:
		c.framer.WriteWindowUpdate(0, 77)
		c.sent = append(c.sent, frame{typ: http2.FrameWindowUpdate, payload: "\x00\x00\x00\x4d"})
	case k == 7:
		i := c.rng.IntN(len(c.open))
		c.framer.WriteRSTStream(c.open[i], http2.ErrCodeCancel)
		c.sent = append(c.sent, frame{typ: http2.FrameRSTStream, stream: c.open[i], payload: "\x00\x00\x00\x08"})
		c.open = append(c.open[:i], c.open[i+1:]...)
	default:
		id, data, pad := pick(), c.text(1<<c.rng.IntN(14)), []byte(nil)
		f := frame{typ: http2.FrameData, stream: id}
		if c.rng.IntN(4) == 0 {
			pad = make([]byte, c.rng.IntN(256))
			f.payload, f.flags = string(rune(0)), http2.FlagDataPadded
		}
		c.framer.WriteDataPadded(id, false, []byte(data), pad)
		f.payload = data
		c.sent = append(c.sent, f)
	}
}

func (c *traffic) fields() []hpack.HeaderField {
	names := []string{"user-agent", "content-type", "authorization", "cookie", "x-set", "x-file", "host", "x-a", "x-b-bin", "x-c"}
	var out []hpack.HeaderField
	for range 1 + c.rng.IntN(8) {
		size := 40
		if c.rng.IntN(20) == 0 {
			size = 20_000
		}
		out = append(out, hpack.HeaderField{Name: names[c.rng.IntN(len(names))], Value: c.text(size), Sensitive: c.rng.IntN(8) == 0})
	}
	return out
}

// headers sends a block, with the liberties that a client may take.
func (c *traffic) headers(id uint32, fields []hpack.HeaderField, end bool) {
	if c.rng.IntN(5) == 0 {
		for range 1 + c.rng.IntN(2) {
			c.enc.SetMaxDynamicTableSize(c.rng.Uint32N(1 << (1 + c.rng.IntN(20))))
		}
	}
	c.block.Reset()
	for _, f := range fields {
		c.enc.WriteField(f)
	}
	rest := bytes.Clone(c.block.Bytes())
	cut := func() []byte {
		k := len(rest)
		if c.rng.IntN(2) == 0 {
			k = c.rng.IntN(len(rest) + 1)
		}
		piece := rest[:min(k, 16384)]
		rest = rest[len(piece):]
		return piece
	}
	p := http2.HeadersFrameParam{StreamID: id, BlockFragment: cut(), EndStream: end}
	p.EndHeaders = len(rest) == 0
	if c.rng.IntN(3) == 0 {
		p.PadLength = uint8(c.rng.IntN(256))
	}
	f := frame{typ: http2.FrameHeaders, stream: id, fields: fields}
	if end {
		f.flags = http2.FlagHeadersEndStream
	}
	if c.rng.IntN(3) == 0 {
		p.Priority = http2.PriorityParam{StreamDep: c.rng.Uint32N(100), Weight: uint8(c.rng.IntN(256)), Exclusive: c.rng.IntN(2) == 0}
		if !p.Priority.IsZero() {
			f.priority = p.Priority
		}
	}
	c.framer.WriteHeaders(p)
	for !p.EndHeaders {
		piece := cut()
		p.EndHeaders = len(rest) == 0
		c.framer.WriteContinuation(id, p.EndHeaders, piece)
	}
	c.sent = append(c.sent, f)
}

// receive reads bytes as a server of default settings does.
func receive(t testing.TB, b []byte) []frame {
	t.Helper()
	rest, ok := bytes.CutPrefix(b, []byte(http2.ClientPreface))
	if !ok {
		t.Fatalf("no preface in %.40q", b)
	}
	fr := http2.NewFramer(nil, bytes.NewReader(rest))
	fr.SetMaxReadFrameSize(16384)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var out []frame
	for {
		got, err := fr.ReadFrame()
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			return out
		}
		h := got.Header()
		f := frame{typ: h.Type, stream: h.StreamID}
		switch got := got.(type) {
		case *http2.MetaHeadersFrame:
			f.fields, f.priority = got.Fields, got.Priority
			f.flags = h.Flags & http2.FlagHeadersEndStream
		case *http2.DataFrame:
			f.payload, f.flags = string(got.Data()), h.Flags
		case *http2.SettingsFrame:
		case *http2.PingFrame:
			f.payload = string(got.Data[:])
		case *http2.WindowUpdateFrame:
			f.payload = fmt.Sprintf("\x00\x00\x00%c", got.Increment)
		case *http2.RSTStreamFrame:
			f.payload = fmt.Sprintf("\x00\x00\x00%c", got.ErrCode)
		case *http2.UnknownFrame:
			f.payload, f.flags = string(got.Payload()), h.Flags
		default:
			t.Fatalf("a %T", got)
		}
		out = append(out, f)
	}
}
