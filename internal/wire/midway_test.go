package wire

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// segmentsOf cuts bytes of a direction as a sender does: before frames.
func segmentsOf(data []byte) (out [][]byte) {
	if rest, is := bytes.CutPrefix(data, []byte(preface)); is {
		out, data = append(out, []byte(preface)), rest
	}
	for len(data) >= frameHeadLen {
		n := min(frameHeadLen+int(data[0])<<16+int(data[1])<<8+int(data[2]), len(data))
		out, data = append(out, data[:n]), data[n:]
	}
	return out
}

// Of a connection whose beginning was not seen, messages are read from the first
// that begins; so they are behind what is missing. None is made up.
func TestMidway(t *testing.T) {
	for _, c := range loadCaptures(t) {
		client, server := segmentsOf(c.bytes[session.Client]), segmentsOf(c.bytes[session.Server])
		all := feedSegments(t, client, server, -1, -1)
		for skip := 1; skip < min(len(client), len(server)); skip++ {
			for name, got := range map[string][]session.Entry{
				"begun before": feedSegments(t, client[skip:], server[skip:], 0, -1),
				"missing":      feedSegments(t, client, server, -1, skip),
			} {
				known := make(map[string]int)
				for _, m := range sent(all) {
					known[m]++
				}
				for _, m := range sent(got) {
					if known[m]--; known[m] < 0 {
						t.Fatalf("%s, %s at frame %d: %.60q was not sent", c.name, name, skip, m)
					}
				}
				if len(sent(got)) == 0 && skip < len(server)/2 && len(sent(all)) > 4 {
					t.Errorf("%s, %s at frame %d: no message of %d is read", c.name, name, skip, len(sent(all)))
				}
				for _, e := range got {
					if e.Kind == session.KindOpen && e.Method == "" && len(e.Problems) == 0 {
						t.Errorf("%s, %s at frame %d: %+v", c.name, name, skip, e)
					}
				}
			}
		}
	}
}

// sent are the whole messages in entries.
func sent(entries []session.Entry) (out []string) {
	for _, e := range entries {
		if m := e.Message; m != nil && !m.Truncated {
			out = append(out, e.Side.String()+string(m.Data.Bytes()))
		}
	}
	return out
}

// feedSegments feeds segments in turn, to a tap that is midway if midway is 0, and
// leaves out the one of each direction that is missing.
func feedSegments(t *testing.T, client, server [][]byte, midway, missing int) []session.Entry {
	log, memory := &collector{}, NewMemory(1<<20)
	var ids session.StreamID
	tap := NewTap(Config{Conn: 1, Sink: log, Memory: memory, Midway: midway == 0, NewStream: func() session.StreamID { ids++; return ids }})
	at := time.Unix(1, 0)
	for i := range max(len(client), len(server)) {
		for _, side := range []session.Side{session.Client, session.Server} { // no answer comes before its stream
			of := client
			if side == session.Server {
				of = server
			}
			switch {
			case i >= len(of):
			case i == missing:
				tap.Lose(side, at, "some bytes are missing")
			default:
				tap.Feed(side, at, of[i])
			}
			knowsFollowed(t, tap)
		}
	}
	tap.End(session.Proxy, at, "over")
	if memory.Used() != 0 {
		t.Fatalf("%d bytes of the budget were never given back", memory.Used())
	}
	return log.entries
}

// knowsFollowed fails unless a tap that is midway knows of each stream that it follows,
// once.
func knowsFollowed(t *testing.T, tap *Tap) {
	for _, h := range []*half{&tap.client, &tap.server} {
		known := make(map[*recv]int)
		for _, r := range h.found {
			known[r]++
		}
		for id, r := range h.recv {
			if n := known[r]; n > 1 || h.midway && n == 0 && r.framing != framingLost || !h.midway && n > 0 {
				t.Fatalf("stream %d of the %s, framing %d, is %d times among those that are followed (midway: %t)", id, h.side, r.framing, n, h.midway)
			}
		}
	}
}

// A loss costs what was followed since the one before, not what is open; and what was
// under assembly ends there.
func TestLossesCostWhatIsFollowed(t *testing.T) {
	log := &collector{}
	var ids session.StreamID
	tap := NewTap(Config{Conn: 1, Sink: log, Memory: NewMemory(1 << 20), NewStream: func() session.StreamID { ids++; return ids }})
	at := time.Unix(1, 0)
	tap.Feed(session.Client, at, []byte(preface+settings))
	const open = 20_000
	for i := range uint32(open) {
		b := frame(frameHeaders, flagEndHeaders, 2*i+1, 1)
		b[frameHeadLen] = 0x83 // :method POST
		tap.Feed(session.Client, at, b)
	}
	if n := len(tap.client.recv); n != open {
		t.Fatalf("%d streams are open", n)
	}
	tap.Lose(session.Client, at, "some bytes are missing")
	begun := frame(frameData, 0, 5, 6)
	copy(begun[frameHeadLen:], "\x00\x00\x00\x00\x09x")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const losses = 100
	for range losses {
		tap.Feed(session.Client, at, begun)
		tap.Lose(session.Client, at, "some bytes are missing")
	}
	runtime.ReadMemStats(&after)
	truncated := 0
	for _, e := range log.entries {
		if e.Message != nil && e.Message.Truncated && e.H2 == 5 {
			truncated++
		}
	}
	if n := (after.TotalAlloc - before.TotalAlloc) / losses; truncated != losses || n > 2*open {
		t.Errorf("%d messages ended, and a loss takes %d bytes", truncated, n)
	}
}

// FuzzMidway feeds arbitrary bytes with holes.
func FuzzMidway(f *testing.F) {
	for _, c := range loadCaptures(f) {
		f.Add(c.bytes[session.Client], c.bytes[session.Server], []byte{9, 200, 3, 80})
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"), []byte{1, 2})
	f.Fuzz(func(t *testing.T, client, server, cuts []byte) {
		log, memory := &collector{}, NewMemory(1<<20)
		var ids session.StreamID
		tap := NewTap(Config{Conn: 1, Sink: log, Memory: memory, Midway: len(cuts)%2 == 0, NewStream: func() session.StreamID { ids++; return ids }})
		at := time.Unix(1, 0)
		rest := map[session.Side][]byte{session.Client: client, session.Server: server}
		for i := 0; len(rest[session.Client])+len(rest[session.Server]) > 0; i++ {
			side, cut := session.Client, 64
			if len(cuts) > 0 {
				cut = int(cuts[i%len(cuts)])
			}
			if i%2 > 0 {
				side = session.Server
			}
			n := min(cut+1, len(rest[side]))
			if cut%7 == 0 {
				tap.Lose(side, at, "some bytes are missing")
			} else {
				tap.Feed(side, at, rest[side][:n])
			}
			knowsFollowed(t, tap)
			rest[side] = rest[side][n:]
		}
		tap.End(session.Proxy, at, "over")
		for _, e := range log.entries {
			if e.Note != nil && len(e.Note.Text) > 8 && e.Note.Text[:8] == "internal" {
				t.Fatal(e.Note.Text)
			}
		}
		if memory.Used() != 0 {
			t.Fatalf("%d bytes of the budget were never given back", memory.Used())
		}
	})
}
