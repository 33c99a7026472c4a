package wire

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// frame is a frame with so many bytes behind its head.
func frame(typ, flags byte, stream uint32, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size)<<8|uint32(typ))
	return append(binary.BigEndian.AppendUint32(append(b, flags), stream), make([]byte, size)...)
}

// What breaks the framing of HTTP/2 is said, and what does not is followed.
func TestFrameHeads(t *testing.T) {
	for _, c := range []struct {
		typ, flags byte
		stream     uint32
		size       int
		fixed      int
		err        string
	}{
		{frameData, 0, 1, 0, 0, ""},
		{frameData, flagPadded, 1, 1, 1, ""},
		{frameData, flagPadded, 1, 0, 1, "HTTP/2 frame of type 0x0 with 0 bytes is too short"},
		{frameData, 0, 0, 1, 0, "HTTP/2 frame of type 0x0 on stream 0"},
		{frameHeaders, flagPadded | flagPriority, 1, 6, 6, ""},
		{frameHeaders, flagPriority, 1, 5, 5, ""},
		{frameHeaders, flagPriority, 1, 4, 5, "HTTP/2 frame of type 0x1 with 4 bytes is too short"},
		{frameHeaders, 0, 0, 4, 0, "HTTP/2 frame of type 0x1 on stream 0"},
		{framePushPromise, 0, 1, 4, 4, ""},
		{framePushPromise, flagPadded, 1, 4, 5, "HTTP/2 frame of type 0x5 with 4 bytes is too short"},
		{frameContinuation, 0, 1, 4, 0, "HTTP/2 CONTINUATION on stream 1 without a header block"},
		{frameRSTStream, 0, 1, 4, 4, ""},
		{frameRSTStream, 0, 1, 5, 4, "HTTP/2 frame of type 0x3 with 5 bytes instead of 4"},
		{frameRSTStream, 0, 0, 4, 4, "HTTP/2 frame of type 0x3 on stream 0"},
		{frameGoAway, 0, 0, 8, 8, ""},
		{frameGoAway, 0, 0, 7, 8, "HTTP/2 frame of type 0x7 with 7 bytes is too short"},
		{frameGoAway, 0, 1, 8, 8, "HTTP/2 frame of type 0x7 on stream 1"},
		{frameSettings, 0, 0, 12, 0, ""},
		{frameSettings, 0, 0, 7, 0, "HTTP/2 SETTINGS frame of 7 bytes"},
		{frameSettings, flagAck, 0, 0, 0, ""},
		{frameSettings, flagAck, 0, 6, 0, "HTTP/2 SETTINGS frame of 6 bytes"},
		{frameSettings, 0, 3, 0, 0, "HTTP/2 frame of type 0x4 on stream 3"},
		{framePing, 0, 0, 8, 0, ""},
		{framePing, 0, 0, 9, 0, "HTTP/2 frame of type 0x6 with 9 bytes instead of 8"},
		{framePing, 0, 1, 8, 0, "HTTP/2 frame of type 0x6 on stream 1"},
		{frameWindowUpdate, 0, 0, 4, 0, ""},
		{frameWindowUpdate, 0, 1, 4, 0, ""},
		{frameWindowUpdate, 0, 1, 3, 0, "HTTP/2 WINDOW_UPDATE frame of 3 bytes"},
		{framePriority, 0, 0, 3, 0, ""},
		{0x2a, 0xff, 0, 3, 0, ""},
	} {
		f := framer{seen: true}
		copy(f.head[:], frame(c.typ, c.flags, c.stream, c.size))
		got := ""
		if err := f.begin(); err != nil {
			got = err.Error()
		}
		if got != c.err || f.wantFixed != c.fixed || f.left != c.size || f.stream != c.stream || f.typ != c.typ || f.flags != c.flags {
			t.Errorf("%+v: %q, %+v", c, got, f)
		}
		for _, block := range []uint32{c.stream | 1, c.stream + 2} {
			in := framer{seen: true, block: block}
			copy(in.head[:], frame(c.typ, c.flags, c.stream, c.size))
			if err := in.begin(); (err == nil) != (c.typ == frameContinuation && block == c.stream) {
				t.Errorf("%+v inside the header block of %d: %v", c, block, err)
			}
		}
		first := framer{}
		copy(first.head[:], frame(c.typ, c.flags, c.stream, c.size))
		if err := first.begin(); c.typ != frameSettings && (err == nil || !strings.HasPrefix(err.Error(), "the first HTTP/2 frame is of type ")) || c.typ == frameSettings && (err == nil) != (c.err == "") {
			t.Errorf("%+v as the first one: %v", c, err)
		}
	}
}

// What a piece in the middle of a connection begins with, to the last byte.
func TestWhatPiecesBeginWith(t *testing.T) {
	ping, window := frame(framePing, 0, 0, 8), frame(frameWindowUpdate, 0, 1, 4)
	reserved := frame(framePing, 0, 0, 8)
	reserved[5] |= 0x80
	cat := func(all ...[]byte) []byte { return bytes.Join(all, nil) }
	for name, c := range map[string]struct {
		p    []byte
		want bool
	}{
		"nothing":             {nil, false},
		"less than a head":    {ping[:8], false},
		"a head":              {ping[:9], true},
		"a frame":             {ping, true},
		"two":                 {cat(ping, window), true},
		"one and a part":      {cat(ping, window[:5]), true},
		"one and no frame":    {cat(ping, []byte("not a frame, but long enough")), false},
		"two and no frame":    {cat(ping, window, frame(0x2a, 0, 0, 0)), false},
		"an unknown type":     {frame(0x0a, 0, 0, 3), false},
		"the last that is":    {frame(frameContinuation, 0, 1, 3), false},
		"a flag that is none": {frame(framePing, 2, 0, 8), false},
		"reserved":            {reserved, false},
		"the longest":         {frame(frameData, 0, 1, 1<<20), true},
		"too long":            {frame(frameData, 0, 1, 1<<20+1), false},
		"data":                {frame(frameData, flagEndStream|flagPadded, 1, 1), true},
	} {
		if got := framesBegin(c.p); got != c.want {
			t.Errorf("frames, %s: %v", name, got)
		}
	}
	large := binary.BigEndian.AppendUint32([]byte{0}, maxMessage)
	larger := binary.BigEndian.AppendUint32([]byte{0}, maxMessage+1)
	for name, c := range map[string]struct {
		p    []byte
		want bool
	}{
		"nothing":         {nil, false},
		"half a prefix":   {prefixed("ab")[:4], false},
		"a prefix":        {prefixed("ab")[:5], true},
		"a message":       {prefixed("ab"), true},
		"two":             {cat(prefixed("ab"), prefixed("")), true},
		"one and a part":  {cat(prefixed("ab"), []byte{0, 0}), true},
		"compressed":      {cat([]byte{1}, prefixed("ab")[1:]), true},
		"no flag":         {cat([]byte{2}, prefixed("ab")[1:]), false},
		"two, one wrong":  {cat(prefixed("ab"), []byte("text that is none")), false},
		"the largest":     {large, true},
		"one byte larger": {larger, false},
		"empty ones":      {cat(prefixed(""), prefixed(""), prefixed("x")), true},
	} {
		if got := messagesBegin(c.p); got != c.want {
			t.Errorf("messages, %s: %v", name, got)
		}
	}
	for p, want := range map[string]bool{
		"\x16\x03\x01": true, "\x14\x03\x04": true, "\x17\x03\x00": true, "\x13\x03\x01": false, "\x18\x03\x01": false,
		"\x16\x02\x01": false, "\x16\x03\x05": false, "\x16\x03": false, "": false,
	} {
		if tlsRecord([]byte(p)) != want {
			t.Errorf("%q is TLS: %v", p, !want)
		}
	}
	for p, want := range map[string]bool{
		"GET / HTTP/1.1\r\n": true, "AZ x HTTP/1.0\r\n": true, "GET / HTTP/1.1": false, "get / HTTP/1.1\r\n": false, "@ / HTTP/1.1\r\n": false, "[ / HTTP/1.1\r\n": false,
		" / HTTP/1.1\r\n": false, "GET / HTTP/2\r\n": false, "GET /\r\nx HTTP/1.1\r\n": false, "": false, "PRI * HTTP/2.0\r\n": false,
	} {
		if requestBegins([]byte(p)) != want {
			t.Errorf("%q is a request: %v", p, !want)
		}
	}
}

// Which streams were never opened is known though others were passed over, of the
// even and of the odd.
func TestStreamsThatWereNeverOpened(t *testing.T) {
	var tab table
	for _, id := range []uint32{1, 3, 9, 9, 5, 4, 11} { // 5 is not news: it is below 9
		tab.opens(id)
	}
	for id, want := range map[uint32]bool{
		1: false, 3: false, 5: true, 7: true, 9: false, 11: false, 13: true, 2: true, 4: false, 6: true,
	} {
		if got := tab.never(id); got != want {
			t.Errorf("stream %d was never opened: %v", id, got)
		}
	}
	tab = table{}
	for i := range uint32(maxSkipped + 2) {
		tab.opens(4*i + 3)
	}
	last := uint32(4*(maxSkipped+1) + 3)
	if len(tab.skipped) != maxSkipped || tab.never(last-2) || !tab.never(last+2) || !tab.never(1) {
		t.Errorf("%d runs are known; before the last %v, behind it %v", len(tab.skipped), tab.never(last-2), tab.never(last+2))
	}
}

// A table that is full is emptied of what is over, once that is worth it.
func TestFullTable(t *testing.T) {
	for dispensable, room := range map[int]bool{purgeAt - 1: false, purgeAt: true} {
		r := newRig(t, 1<<20)
		tap := r.tap
		var open []*stream
		for i := range uint32(maxStreams) {
			s := &stream{id: session.StreamID(i + 1), h2: 2*i + 1, grpc: framingGRPC}
			tap.streams.open[s.h2] = s
			open = append(open, s)
		}
		for i, s := range open[:dispensable] {
			if i%2 == 0 {
				tap.sideDone(s, session.Server)
				tap.sideDone(s, session.Server) // twice
			} else {
				tap.resetStream(s.h2)
				tap.resetStream(s.h2)
			}
		}
		over := min(dispensable/2, lingering)
		want := dispensable - (dispensable/2 - over) // the oldest that were reset are forgotten
		if tap.streams.dispensable != want || len(tap.streams.linger) != over || len(tap.streams.open) != maxStreams-(dispensable/2-over) {
			t.Fatalf("%d of %d are dispensable, %d linger", tap.streams.dispensable, len(tap.streams.open), len(tap.streams.linger))
		}
		// Up to the brim again.
		for i := uint32(0); len(tap.streams.open) < maxStreams; i++ {
			s := &stream{h2: 1<<20 + i, serverDone: true}
			tap.streams.open[s.h2] = s
			tap.streams.dispensable++
		}
		tap.streams.dispensable = dispensable
		s, first := tap.openStream(1<<24+1, framingGRPC)
		if (s != nil) != room || first == room {
			t.Errorf("%d of them are dispensable: %v, the first that is refused %v", dispensable, s, first)
		}
		if again, first := tap.openStream(1<<24+3, framingGRPC); (again != nil) != room || first {
			t.Errorf("%d of them are dispensable: %v, the first that is refused %v", dispensable, again, first)
		}
		if room && (len(tap.streams.open) != maxStreams-dispensable+2 || len(tap.streams.linger) != 0) {
			t.Errorf("%d are left, %d linger", len(tap.streams.open), len(tap.streams.linger))
		}
	}
	// Who has not ended is told in order of opening.
	var tab table
	tab.init()
	for _, s := range []*stream{{id: 3, h2: 5}, {id: 1, h2: 1}, {id: 2, h2: 3, over: true}, {id: 4, h2: 7, serverDone: true}, {id: 5, h2: 9, clientDone: true}} {
		tab.open[s.h2] = s
	}
	var ids []session.StreamID
	for _, s := range tab.drain() {
		ids = append(ids, s.id)
	}
	if len(ids) != 3 || ids[0] != 1 || ids[1] != 3 || ids[2] != 5 || len(tab.open) != 0 {
		t.Errorf("%v", ids)
	}
}

// What the other side has reset is followed for a second, for what was on its way.
func TestLingering(t *testing.T) {
	for after, gone := range map[time.Duration]bool{lingerTime: false, lingerTime + 1: true} {
		r := newRig(t, 1<<20)
		r.grpc(1)
		at := time.Unix(1, 0)
		r.tap.Feed(session.Client, at, frame(frameRSTStream, 0, 1, 4))
		r.tap.Feed(session.Server, at, frame(framePing, 0, 0, 8)) // hears of it
		r.tap.Feed(session.Server, at.Add(after), frame(framePing, 0, 0, 8))
		r.tap.Feed(session.Server, at.Add(after), dataOf(1, prefixed("late")))
		late := 0
		for _, e := range r.log.entries {
			if e.Kind == session.KindMessage && string(e.Message.Data.Bytes()) == "late" {
				late++
			}
		}
		if (late == 0) != gone {
			t.Errorf("%s after the reset: %d messages, %v", after, late, r.kinds())
		}
	}
}
