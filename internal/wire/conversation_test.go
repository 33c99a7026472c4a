package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/session"
)

// event is what an endpoint knows that it sent, in the words of an entry.
type event struct {
	kind    session.Kind
	h2      uint32
	headers []session.Field
	payload string
	enc     string
	code    uint32
}

func (e event) String() string {
	return fmt.Sprintf("%s h2=%d %v len=%d enc=%q code=%d %.20q", e.kind, e.h2, e.headers, len(e.payload), e.enc, e.code, e.payload)
}

// endpoint writes legal frames and keeps its own account of them.
type endpoint struct {
	side    session.Side
	rng     *rand.Rand
	out     bytes.Buffer // written, not yet delivered
	framer  *http2.Framer
	block   bytes.Buffer
	enc     *hpack.Encoder
	streams map[uint32]*endStream
	account []event
	frames  int
}

// endStream is one side's state of a stream. DATA is sent from pending in
// pieces that respect no message boundary.
type endStream struct {
	id       uint32
	grpc     bool
	encoding string
	headers  bool // the final headers were sent
	ended    bool
	pending  []byte
	sizes    []int // where messages end, counted in bytes still to be sent
	bodies   []event
	body     []byte // all of a body that is not gRPC
}

func newEndpoint(side session.Side, rng *rand.Rand) *endpoint {
	e := &endpoint{side: side, rng: rng, streams: map[uint32]*endStream{}}
	e.framer = http2.NewFramer(&e.out, nil)
	e.framer.AllowIllegalWrites = true // PUSH_PROMISE padding and odd sizes are ours to choose
	e.enc = hpack.NewEncoder(&e.block)
	e.enc.SetMaxDynamicTableSizeLimit(1 << 16)
	if side == session.Client {
		e.out.WriteString(http2.ClientPreface)
	}
	e.framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(rng.IntN(1 << 16))})
	e.frames++
	return e
}

func (e *endpoint) log(ev event) { e.account = append(e.account, ev) }

// resize changes the encoder's table, sometimes twice before one block.
func (e *endpoint) resize() {
	for range 1 + e.rng.IntN(2) {
		e.enc.SetMaxDynamicTableSize(uint32(e.rng.IntN(1 << 13)))
	}
}

// writeHeaders sends a header block as HEADERS and CONTINUATION frames.
func (e *endpoint) writeHeaders(id uint32, fields []session.Field, endStream bool, promised uint32) {
	e.block.Reset()
	for _, f := range fields {
		e.enc.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: e.rng.IntN(8) == 0})
	}
	block := e.block.Bytes()
	first := len(block)
	if e.rng.IntN(3) == 0 {
		first = e.rng.IntN(len(block) + 1)
	}
	frag, rest := block[:first], block[first:]
	pad := uint8(0)
	if e.rng.IntN(3) == 0 {
		pad = uint8(e.rng.IntN(256))
	}
	if promised != 0 {
		e.framer.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: promised, BlockFragment: frag, EndHeaders: len(rest) == 0, PadLength: pad})
	} else {
		p := http2.HeadersFrameParam{StreamID: id, BlockFragment: frag, EndStream: endStream, EndHeaders: len(rest) == 0, PadLength: pad}
		if e.rng.IntN(4) == 0 {
			p.Priority = http2.PriorityParam{StreamDep: uint32(e.rng.IntN(9)), Weight: uint8(e.rng.IntN(255)) + 1}
		}
		e.framer.WriteHeaders(p)
	}
	e.frames++
	for first < len(block) {
		k := e.rng.IntN(len(rest) + 1)
		e.framer.WriteContinuation(id, k == len(rest), rest[:k])
		e.frames++
		first += k
		if rest = rest[k:]; len(rest) == 0 {
			break
		}
	}
}

func (e *endpoint) randomFields(n int) []session.Field {
	var out []session.Field
	for range e.rng.IntN(n) {
		out = append(out, session.Field{
			Name: fmt.Sprintf("x-%d", e.rng.IntN(20)), Value: e.randomText(e.rng.IntN(200)),
		})
	}
	return out
}

func (e *endpoint) randomText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + e.rng.IntN(26))
	}
	return string(b)
}

// openStream is a client's first HEADERS on a stream.
func (e *endpoint) openStream(id uint32) *endStream {
	s := &endStream{id: id, grpc: e.rng.IntN(5) > 0, headers: true}
	fields := []session.Field{{Name: ":method", Value: "POST"}, {Name: ":path", Value: fmt.Sprintf("/p.S%d/M", e.rng.IntN(5))}}
	if s.grpc {
		fields = append(fields, session.Field{Name: "content-type", Value: "application/grpc"})
		if e.rng.IntN(3) == 0 {
			s.encoding = "gzip"
			fields = append(fields, session.Field{Name: "grpc-encoding", Value: "gzip"})
		}
	}
	fields = append(fields, e.randomFields(6)...)
	s.ended = e.rng.IntN(20) == 0
	e.writeHeaders(id, fields, s.ended, 0)
	e.log(event{kind: session.KindOpen, h2: id, headers: fields})
	if s.ended {
		e.log(event{kind: session.KindHalfClose, h2: id})
	}
	e.streams[id] = s
	return s
}

// queue adds a message to a stream's pending bytes.
func (e *endpoint) queue(s *endStream) {
	size := e.rng.IntN(300)
	if e.rng.IntN(10) == 0 {
		size = e.rng.IntN(60000)
	}
	msg := []byte(e.randomText(size))
	if !s.grpc {
		s.body = append(s.body, msg...)
		s.pending = append(s.pending, msg...)
		return
	}
	ev := event{kind: session.KindMessage, h2: s.id, payload: string(msg)}
	flag := byte(0)
	if s.encoding != "" && e.rng.IntN(2) == 0 {
		flag, ev.enc = 1, s.encoding
	}
	s.pending = append(s.pending, flag)
	s.pending = binary.BigEndian.AppendUint32(s.pending, uint32(len(msg)))
	s.pending = append(s.pending, msg...)
	s.sizes = append(s.sizes, len(msg)+prefixLen)
	s.bodies = append(s.bodies, ev)
}

// sendData sends a piece of what is pending; end adds END_STREAM.
func (e *endpoint) sendData(s *endStream, end bool) {
	k := 0
	if len(s.pending) > 0 {
		k = min(e.rng.IntN(len(s.pending)+1), 16000)
	}
	if end {
		for len(s.pending) > 16000 {
			e.writeData(s, 16000, false)
		}
		k = len(s.pending)
	}
	e.writeData(s, k, end)
}

func (e *endpoint) writeData(s *endStream, k int, end bool) {
	if e.rng.IntN(3) == 0 {
		e.framer.WriteDataPadded(s.id, end, s.pending[:k], make([]byte, e.rng.IntN(255)))
	} else {
		e.framer.WriteData(s.id, end, s.pending[:k])
	}
	e.frames++
	s.pending = s.pending[k:]
	for len(s.sizes) > 0 && k > 0 {
		if s.sizes[0] > k {
			s.sizes[0] -= k
			break
		}
		k -= s.sizes[0]
		s.sizes = s.sizes[1:]
		e.log(s.bodies[0])
		s.bodies = s.bodies[1:]
	}
	if end {
		if !s.grpc && len(s.body) > 0 {
			e.log(event{kind: session.KindMessage, h2: s.id, payload: string(s.body)})
		}
		s.ended = true
		if e.side == session.Client {
			e.log(event{kind: session.KindHalfClose, h2: s.id})
		} else {
			e.log(event{kind: session.KindTrailer, h2: s.id})
		}
	}
}

// respond sends the next thing of a response.
func (e *endpoint) respond(s *endStream) {
	switch {
	case !s.headers && e.rng.IntN(6) == 0:
		fields := []session.Field{{Name: ":status", Value: "103"}, {Name: "link", Value: "x"}}
		e.writeHeaders(s.id, fields, false, 0)
		e.log(event{kind: session.KindHeader, h2: s.id, headers: fields})
	case !s.headers:
		fields := []session.Field{{Name: ":status", Value: "200"}}
		if s.grpc {
			fields = append(fields, session.Field{Name: "content-type", Value: "application/grpc"})
			if e.rng.IntN(3) == 0 {
				s.encoding = "zstd"
				fields = append(fields, session.Field{Name: "grpc-encoding", Value: "zstd"})
			}
		}
		if e.rng.IntN(10) == 0 { // trailers-only
			fields = append(fields, session.Field{Name: "grpc-status", Value: "7"}, session.Field{Name: "grpc-message", Value: "no%20way"})
			s.ended = true
		}
		fields = append(fields, e.randomFields(5)...)
		s.headers = true
		e.writeHeaders(s.id, fields, s.ended, 0)
		kind := session.KindHeader
		if s.ended {
			kind = session.KindTrailer
		}
		e.log(event{kind: kind, h2: s.id, headers: fields})
	case e.rng.IntN(30) == 0 && len(s.pending) == 0:
		fields := append([]session.Field{{Name: "grpc-status", Value: "0"}}, e.randomFields(3)...)
		if !s.grpc && len(s.body) > 0 {
			e.log(event{kind: session.KindMessage, h2: s.id, payload: string(s.body)})
		}
		s.ended = true
		e.writeHeaders(s.id, fields, true, 0)
		e.log(event{kind: session.KindTrailer, h2: s.id, headers: fields})
	default:
		e.stream(s)
	}
}

// stream sends or queues something on a stream whose headers are out.
func (e *endpoint) stream(s *endStream) {
	switch e.rng.IntN(8) {
	case 0, 1, 2:
		e.queue(s)
	case 3:
		if e.rng.IntN(6) == 0 {
			e.sendData(s, true)
		}
	default:
		e.sendData(s, false)
	}
}

func (e *endpoint) rst(s *endStream) {
	code := uint32(e.rng.IntN(14))
	e.framer.WriteRSTStream(s.id, http2.ErrCode(code))
	e.frames++
	e.log(event{kind: session.KindCancel, h2: s.id, code: code})
	s.ended = true
}

// noise sends what belongs to no stream's messages.
func (e *endpoint) noise() {
	e.frames++
	switch e.rng.IntN(8) {
	case 0:
		e.framer.WritePing(e.rng.IntN(2) == 0, [8]byte{1, 2, 3})
	case 1:
		e.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15})
	case 2:
		e.framer.WriteSettingsAck()
	case 3:
		e.framer.WriteWindowUpdate(uint32(e.rng.IntN(30)), 1+uint32(e.rng.IntN(9999)))
	case 4:
		e.framer.WritePriority(1+uint32(e.rng.IntN(30)), http2.PriorityParam{StreamDep: 0, Weight: 3})
	case 5:
		e.framer.WriteRawFrame(http2.FrameType(0x20+e.rng.IntN(100)), http2.Flags(e.rng.IntN(256)), uint32(e.rng.IntN(30)), make([]byte, e.rng.IntN(500)))
	case 6:
		debug := e.randomText(e.rng.IntN(50))
		code := uint32(e.rng.IntN(14))
		e.framer.WriteGoAway(uint32(e.rng.IntN(99)), http2.ErrCode(code), []byte(debug))
		e.log(event{kind: session.KindGoAway, payload: debug, code: code})
	case 7:
		e.resize()
		e.frames--
	}
}
