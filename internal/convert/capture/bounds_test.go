package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/session"
)

// What Wireshark exported says between whom it was sent, in tags of any order; without
// both ends, or cut within a tag, it is nothing.
func TestExported(t *testing.T) {
	tag := func(of uint16, value string) string {
		return string(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, of), uint16(len(value)))) + value
	}
	v4 := func(last byte) string { return string([]byte{10, 0, 0, last}) }
	v6 := func(last byte) string { return "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + string(rune(last)) }
	port := func(n byte) string { return string([]byte{0, 0, 1, n}) }
	end := tag(tagEnd, "")
	for name, tc := range map[string]struct {
		data, from, to string
	}{
		"IPv4":                  {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagPortFrom, port(1)) + tag(tagPortTo, port(2)) + end + "x", "10.0.0.1:257", "10.0.0.2:258"},
		"IPv6, another order":   {tag(tagPortTo, port(2)) + tag(tagIPv6To, v6(2)) + tag(12, "http2") + tag(tagIPv6From, v6(1)) + tag(tagPortFrom, port(1)) + end + "x", "[2001:db8::1]:257", "[2001:db8::2]:258"},
		"ports of another size": {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagPortFrom, "\x01\x02") + tag(tagPortTo, "") + end + "x", "10.0.0.1:0", "10.0.0.2:0"},
		"no sender":             {tag(tagIPv4To, v4(2)) + end + "x", "", ""},
		"no receiver":           {tag(tagIPv6From, v6(2)) + end + "x", "", ""},
		"no bytes":              {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + end, "", ""},
		"no end":                {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)), "", ""},
		"an address is cut":     {tag(tagIPv4To, v4(2)) + tag(tagIPv4From, v4(1))[:7], "", ""},
		"nothing":               {"", "", ""},
	} {
		s, ok := exported([]byte(tc.data))
		if ok != (tc.from != "") || ok && (s.from != netip.MustParseAddrPort(tc.from) || s.to != netip.MustParseAddrPort(tc.to) || string(s.data) != "x" || !s.inOrder) {
			t.Errorf("%s: %+v, %t", name, s, ok)
		}
	}
	// A tag that ends with the data is whole.
	whole := tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagEnd, "") + "bytes"
	if s, ok := exported([]byte(whole)); !ok || string(s.data) != "bytes" {
		t.Errorf("%+v, %t", s, ok)
	}
}

// Time does not run backwards, and packets of times that no capture has change nothing.
func TestTick(t *testing.T) {
	var r reader
	for _, tc := range []struct {
		year, want int
	}{{1969, 1}, {1970, 1970}, {2026, 2026}, {2001, 2026}, {2201, 2026}, {2200, 2200}} {
		if r.tick(time.Date(tc.year, 6, 1, 0, 0, 0, 0, time.UTC)); r.now.Year() != tc.want {
			t.Errorf("after a packet of %d it is %d", tc.year, r.now.Year())
		}
	}
}

// following is a reader that follows one connection, of which nothing is known yet.
func following() (*reader, *conn) {
	r := &reader{
		emit: func(*session.Entry) error { return nil }, now: time.Unix(1_800_000_000, 0).UTC(),
		conns: make(map[ends]*conn), holes: make(map[*conn]struct{}), memory: wire.NewMemory(maxUnder),
	}
	return r, r.begin(portsOf(1))
}

// portsOf are the ends of a connection, others for each number.
func portsOf(n uint16) ends {
	return ends{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), n), netip.MustParseAddrPort("10.0.0.2:1")}
}

// A packet that goes on behind what a file may have until the next is refused.
func TestAPacketHasABound(t *testing.T) {
	r := ration{in: strings.NewReader("abc"), left: 2}
	p := make([]byte, 3)
	if n, err := r.Read(p); n != 2 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := r.Read(p); n != 0 || !errors.Is(err, errLong) {
		t.Errorf("%d bytes more, %v", n, err)
	}
}

// section is a file with a packet behind interfaces and names.
func section(interfaces, names int) []byte {
	block := func(of uint32, body ...byte) []byte {
		n := uint32(len(body) + 12)
		b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, of), n)
		return binary.LittleEndian.AppendUint32(append(b, body...), n)
	}
	file := block(magicNG, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255)
	file = append(file, bytes.Repeat(block(1, 101, 0, 0, 0, 0, 0, 0, 0), interfaces)...)
	list := bytes.Repeat([]byte{1, 0, 6, 0, 10, 0, 0, 1, 'a', 0, 0, 0}, names)
	return slices.Concat(file, block(4, append(list, 0, 0, 0, 0)...), block(6, make([]byte, 20)...))
}

// A section may name so many interfaces and hosts.
func TestInterfacesAndNamesHaveABound(t *testing.T) {
	const many = "at packet 1: it names more interfaces and hosts than are read"
	for _, tc := range []struct {
		interfaces, names int
		want              string
	}{{maxNamed, 1, ""}, {1, maxNamed, ""}, {maxNamed + 1, 1, many}, {1, maxNamed + 1, many}} {
		got := ""
		f, err := openFile(bufio.NewReader(bytes.NewReader(section(tc.interfaces, tc.names))))
		if err == nil {
			_, _, _, err = f.next()
		}
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%d interfaces, %d names: %q", tc.interfaces, tc.names, got)
		}
	}
}

// A direction lets so many bytes and pieces wait.
func TestWhatWaitsHasABound(t *testing.T) {
	for _, tc := range []struct {
		bytes, pieces int
		want          bool
	}{{maxAhead, 0, false}, {0, maxPieces, false}, {maxAhead + 1, 0, true}, {0, maxPieces + 1, true}} {
		f := flow{bytes: tc.bytes, ahead: make([]piece, tc.pieces)}
		if got := f.full(); got != tc.want {
			t.Errorf("%d bytes, %d pieces: %t", tc.bytes, tc.pieces, got)
		}
	}
}

// What all connections let wait has a bound: then bytes that are missing are given up.
func TestWhatWaitsInAllHasABound(t *testing.T) {
	for more, want := range map[int]int{0: 10, 1: 0} {
		r, c := following()
		f := &c.flows[0]
		f.begin(0)
		f.keep(piece{seq: 10, data: []byte("x"), at: r.now})
		r.waiting = maxWaiting + more
		if c.advance(); f.missing() != want {
			t.Errorf("%d bytes over the bound: %d are missing", more, f.missing())
		}
	}
}

// Missing bytes are waited for so long, and shorter where the other end has all of them.
func TestWaitingHasABound(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for acked, wait := range map[uint32]time.Duration{0: maxWait, 9: maxWait, 10: maxAcked} {
		var f flow
		f.begin(0)
		f.keep(piece{seq: 10, data: []byte("x")})
		f.acked = acked
		for _, after := range []time.Duration{0, wait, wait + 1} {
			if got := f.look(now.Add(after)); got != (after > wait) {
				t.Errorf("%d acknowledged: after %s late: %t", acked, after, got)
			}
		}
	}
}

// Connections with missing bytes are looked at from time to time, all of them.
func TestTimeBetweenLooksHasABound(t *testing.T) {
	r, c := following()
	r.holes[c], r.swept = struct{}{}, r.now
	if r.tick(r.now.Add(maxAcked)); len(r.holes) != 1 {
		t.Error("it was looked at too soon")
	}
	if r.tick(r.now.Add(1)); len(r.holes) != 0 { // nothing is missing any more
		t.Error("it was not looked at")
	}
}

// Bytes far from those of a connection that is over are of another one.
func TestFarBytesHaveABound(t *testing.T) {
	for far, want := range map[int]bool{maxAhead: false, maxAhead + 1: true, -maxAhead: false, -maxAhead - 1: true} {
		c := conn{over: true}
		c.flows[0].begin(1 << 30)
		if got := c.again(0, &segment{seq: uint32(1<<30 + far), data: []byte("x")}); got != want {
			t.Errorf("%d bytes away: %t", far, got)
		}
	}
}

// Of more than maxConns connections the one that was silent longest is given up.
func TestConnectionsHaveABound(t *testing.T) {
	r, c := following()
	for i := range uint16(maxConns - 2) {
		r.conns[portsOf(100+i)] = nil
	}
	if r.begin(portsOf(2)); c.over || len(r.conns) != maxConns {
		t.Errorf("%d are followed, the first is given up: %t", len(r.conns), c.over)
	}
	if r.begin(portsOf(3)); !c.over || len(r.conns) != maxConns {
		t.Errorf("one more, and %d are followed; the first is given up: %t", len(r.conns), c.over)
	}
	// Only one with xDS that goes on is lost by that.
	for _, tc := range []struct {
		kept, over bool
		want       uint64
	}{{true, false, 1}, {true, true, 0}, {false, false, 0}} {
		r, c := following()
		c.listen(0, []byte(preface))
		c.kept, c.over = tc.kept, tc.over
		for i := range uint16(maxConns - 1) {
			r.conns[portsOf(100+i)] = nil
		}
		if r.begin(portsOf(2)); r.done.GivenUp != tc.want {
			t.Errorf("kept %t, over %t: %d are given up", tc.kept, tc.over, r.done.GivenUp)
		}
	}
}

// A stream behind which more entries wait, or bytes of them, is taken for none of xDS.
func TestEntriesThatWaitHaveABound(t *testing.T) {
	for _, tc := range []struct {
		queued int
		held   int64
		left   uint64
	}{{maxQueued, 0, 0}, {maxQueued + 1, 0, 1}, {1, maxHeld, 0}, {1, maxHeld + 1, 1}} {
		r, c := following()
		st := new(stream)
		r.queue = slices.Repeat([]queued{{c: c, st: st}}, tc.queued-1)
		r.held = tc.held - cost(new(session.Entry))
		if r.push(queued{c: c, st: st}); r.done.UnknownStreams != tc.left {
			t.Errorf("%d entries, %d bytes: %d streams are left", tc.queued, tc.held, r.done.UnknownStreams)
		}
	}
}

// Of a connection that may still have xDS so many entries are kept, and come late.
func TestEarlyEntriesHaveABound(t *testing.T) {
	r, c := following()
	r.held = 2 * maxHeld
	for n := 1; n <= maxEarly+1; n++ {
		r.queue = nil
		if r.push(queued{c: c}); len(c.early) != min(n, maxEarly) {
			t.Fatalf("%d of %d are kept", len(c.early), n)
		}
	}
}

// A stream that has not told what it is by so many entries is left.
func TestUnsureStreamsHaveABound(t *testing.T) {
	r, c := following()
	for n := 1; n <= maxUnsure+1; n++ {
		if c.append(session.Entry{Stream: 1, Kind: session.KindHeader}); r.done.UnknownStreams > 0 != (n > maxUnsure) {
			t.Fatalf("after %d entries: %d are left", n, r.done.UnknownStreams)
		}
	}
}

// A gap names so many streams, the first that live, and costs no more than these and
// those that died since the last.
func TestStreamsOfAGapHaveABound(t *testing.T) {
	_, c := following()
	const many = 64 * maxLive
	c.all = make(map[session.StreamID]*stream)
	for id := range session.StreamID(many) {
		c.all[id+1] = &stream{verdict: discovery}
		c.enlist(c.all[id+1])
	}
	for id := session.StreamID(1); id <= many; id += 2 {
		c.retire(id, c.all[id])
	}
	c.all[2].verdict = other
	want := []*stream{c.all[4], c.all[6], c.all[8]}
	for range 2 {
		if got := c.living(); len(got) != maxLive || !slices.Equal(got[:3], want) || got[maxLive-1] != c.all[2*maxLive+2] {
			t.Fatalf("%d of %d streams are named", len(got), len(c.all))
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const gaps = 100
	for range gaps {
		c.missing(1)
		c.r.tellGap()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / gaps; n > 8*8*maxLive {
		t.Errorf("a gap takes %d bytes, with %d streams", n, len(c.all))
	}
}

// What died is forgotten where there is no gap, too.
func TestDeadStreamsHaveABound(t *testing.T) {
	_, c := following()
	for id := range session.StreamID(16 * maxEnded) {
		c.append(session.Entry{Stream: id + 1, Kind: session.KindTrailer})
	}
	if len(c.live) > 2*len(c.all)+1 {
		t.Errorf("%d streams are remembered, of %d", len(c.live), len(c.all))
	}
}

// Gaps that follow each other are one; after an entry there is another.
func TestGapsThatFollowEachOther(t *testing.T) {
	r, c := following()
	r.queue = nil
	other := r.begin(portsOf(2))
	for _, n := range []int{1, 2, 3} {
		c.missing(n)
	}
	other.missing(4)
	c.missing(5)
	c.append(session.Entry{Kind: session.KindNote})
	c.missing(6)
	r.tellGap()
	var got []int64
	for _, q := range r.queue[1:] {
		if q.Gap != nil {
			got = append(got, q.Gap.Bytes)
		}
	}
	if !slices.Equal(got, []int64{6, 4, 5, 6}) {
		t.Errorf("gaps of %d bytes", got)
	}
}

// Of the streams that ended so many are remembered, the last ones.
func TestEndedStreamsHaveABound(t *testing.T) {
	_, c := following()
	for id := range session.StreamID(maxEnded + 1) {
		if c.append(session.Entry{Stream: id + 1, Kind: session.KindTrailer}); c.all[1] != nil != (id < maxEnded) {
			t.Fatalf("after %d streams the first is remembered: %t", id+1, c.all[1] != nil)
		}
	}
}

// After so many entries, or bytes of them, that do not tell who the client is, ports do.
func TestEntriesThatTellNothingHaveABound(t *testing.T) {
	for _, tc := range []struct {
		seen int
		held int64
		want int
	}{{maxSeen - 1, 0, 2}, {maxSeen, 0, 1}, {0, maxHeld, 2}, {0, maxHeld + 1, 1}} {
		r, c := following()
		c.views = []*view{newView(c, 0), newView(c, 1)}
		c.views[0].seen = make([]session.Entry, tc.seen)
		r.held = tc.held
		if c.views[0].Append(session.Entry{Side: session.Client}); len(c.views) != tc.want {
			t.Errorf("after %d entries, %d bytes: %d views", tc.seen, tc.held, len(c.views))
		}
	}
}

// A packet has so many bytes; what is longer takes more than one.
func TestSegmentsHaveABound(t *testing.T) {
	for bytes, want := range map[int]uint64{maxSegment: 1, maxSegment + 1: 2} {
		w, err := NewWriter(io.Discard, "test")
		if err != nil {
			t.Fatal(err)
		}
		l := w.link(&session.Entry{Kind: session.KindConnect, Conn: 1})
		before := w.done.Packets
		if l.send(time.Time{}, clientEnd, make([]byte, bytes)); w.done.Packets-before != 2*want || w.err != nil { // each is acknowledged
			t.Errorf("%d bytes in %d packets, with what acknowledges them; %v", bytes, w.done.Packets-before, w.err)
		}
	}
}

// A capture is told from other files by its first four bytes, in both orders.
func TestBegins(t *testing.T) {
	for head, want := range map[string]bool{
		"\x0a\x0d\x0d\x0a": true, "\x0a\x0d\x0d\x0a\x1c": true, "\x0a\x0d\x0d": false, "": false,
		"\xa1\xb2\xc3\xd4": true, "\xd4\xc3\xb2\xa1": true, "\xa1\xb2\x3c\x4d": true, "\x4d\x3c\xb2\xa1": true,
		"\xa1\xb2\xc3\xd5": false, "{\"a\"": false, "xdsp": false,
	} {
		if got := Begins([]byte(head)); got != want {
			t.Errorf("%q: %t", head, got)
		}
	}
}

// Who the client is may be told by the first bytes of either end.
func TestFirstBytesTellTheClient(t *testing.T) {
	const settings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00"
	const same, other = 0, 1
	for name, tc := range map[string]struct {
		first string
		want  int
		tls   bool
	}{
		"the preface":              {preface, same, false},
		"a request":                {"GET /v3/discovery:clusters HTTP/1.1\r\nhost: x\r\n", same, false},
		"a response":               {"HTTP/1.1 200 OK\r\n\r\n", other, false},
		"settings":                 {settings + "\x00\x04\x00\x00\xff\xff", other, false},
		"settings of which is cut": {settings, other, false},
		"a piece of settings":      {settings[:8], nobody, false},
		"settings that are none":   {"\x00\x00\x07" + settings[3:], nobody, false},
		"long settings":            {"\x01" + settings[1:], nobody, false},
		"an acknowledgement":       {"\x00\x00\x00\x04\x01\x00\x00\x00\x00", nobody, false},
		"settings of a stream":     {settings[:8] + "\x01", nobody, false},
		"DATA":                     {"\x00\x00\x06\x00\x00\x00\x00\x00\x00", nobody, false},
		"the first record of TLS":  {"\x14\x03\x00", nobody, true},
		"the last":                 {"\x17\x03\x04\x00", nobody, true},
		"a record of no type":      {"\x13\x03\x01", nobody, false},
		"nor is this one":          {"\x18\x03\x01", nobody, false},
		"of another version":       {"\x16\x02\x01", nobody, false},
		"of a later one":           {"\x16\x03\x05", nobody, false},
		"two bytes of a record":    {"\x16\x03", nobody, false},
	} {
		for from := range 2 {
			r, c := following()
			c.listen(from, []byte(tc.first))
			want, views := nobody, 2
			switch {
			case tc.tls:
				views = 0
			case tc.want != nobody:
				want, views = (from+tc.want)%2, 1
			}
			if c.client != want || len(c.views) != views || c.tls != tc.tls || r.done.TLS > 0 != tc.tls {
				t.Errorf("%s from %d: the client is %d, of %d views; TLS: %t", name, from, c.client, len(c.views), c.tls)
			}
		}
	}
}

// writing is a capture that is written, with one connection.
func writing(t *testing.T, to io.Writer) (*Writer, *link) {
	t.Helper()
	w, err := NewWriter(to, "test")
	if err != nil {
		t.Fatal(err)
	}
	return w, w.link(&session.Entry{Kind: session.KindConnect, Conn: 1})
}

// Once one end has sent so much, the other one says that it takes more: on the
// connection, and on the stream.
func TestRoomIsGivenInTime(t *testing.T) {
	const update = 9 + 4 // a frame
	for end := range 2 {
		_, l := writing(t, io.Discard)
		l.begun2 = true
		s := &sent{h2: 1}
		before := l.next
		if l.room(time.Time{}, end, s, moreRoom); l.next != before {
			t.Fatalf("end %d has room left, and gets more", end)
		}
		s.credit[end] = 0 // it is another stream
		l.room(time.Time{}, end, s, 1)
		if l.next[1-end]-before[1-end] != update || l.next[end] != before[end] || l.credit[end] != 0 || s.credit[end] != 1 {
			t.Errorf("end %d: %v became %v, with credit %v and %v", end, before, l.next, l.credit, s.credit)
		}
	}
}

// Of the streams of a connection those that are over are forgotten, once there are many.
func TestStreamsThatAreOverAreForgotten(t *testing.T) {
	for _, tc := range []struct{ streams, live, left, many int }{
		{manyStreams - 1, 0, manyStreams - 1, manyStreams},
		{manyStreams, 0, 0, manyStreams},
		{manyStreams, manyStreams / 2, manyStreams / 2, manyStreams},
		{manyStreams, manyStreams/2 + 1, manyStreams/2 + 1, manyStreams + 2},
		{manyStreams, manyStreams, manyStreams, 2 * manyStreams},
	} {
		_, l := writing(t, io.Discard)
		for i := range tc.streams {
			l.streams[session.StreamID(i)] = &sent{reset: i >= tc.live && i%2 == 0, ended: [2]bool{true, i >= tc.live}}
		}
		if l.sweep(); len(l.streams) != tc.left || l.many != tc.many {
			t.Errorf("of %d, %d go on: %d are left, and it is looked again at %d", tc.streams, tc.live, len(l.streams), l.many)
		}
	}
}

// A comment has so many bytes, and a packet so many comments.
func TestCommentsHaveABound(t *testing.T) {
	const longest, most = 4096, 256
	var b bytes.Buffer
	w, _ := writing(t, &b)
	for _, text := range []string{strings.Repeat("a", longest), strings.Repeat("b", longest+1)} {
		w.comment(new(session.Entry), text)
	}
	if w.comments[0] != strings.Repeat("a", longest) || w.comments[1] != strings.Repeat("b", longest)+"..." {
		t.Errorf("of %d and %d bytes %d and %d are written", longest, longest+1, len(w.comments[0]), len(w.comments[1]))
	}
	for range most {
		w.comment(new(session.Entry), "more")
	}
	if done, err := w.Close(); err != nil || len(w.comments) != most || done.Comments != most+2 {
		t.Errorf("%d comments wait, of %d; %v", len(w.comments), done.Comments, err)
	}
}
