package wire

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// FuzzTap feeds arbitrary bytes in both directions. Besides not panicking, the
// tap must give its memory back, keep its numbers sane, and say the same
// whether the bytes come at once or one by one.
func FuzzTap(f *testing.F) {
	for seed := range uint64(4) {
		c := newConversation(seed)
		for range 300 {
			c.step()
		}
		f.Add(c.client.out.Bytes(), c.server.out.Bytes())
	}
	for _, c := range loadCaptures(f) {
		f.Add(c.bytes[session.Client], c.bytes[session.Server])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"))
	f.Add([]byte(preface+settings), []byte(settings))
	f.Fuzz(func(t *testing.T, client, server []byte) {
		whole, pieces := feedAll(t, client, server, 1<<20), feedAll(t, client, server, 1)
		if len(whole) != len(pieces) {
			t.Fatalf("%d entries at once, %d byte by byte", len(whole), len(pieces))
		}
		for i := range whole {
			if whole[i].Kind != pieces[i].Kind || whole[i].H2 != pieces[i].H2 {
				t.Fatalf("entry %d is %v at once, %v byte by byte", i, whole[i], pieces[i])
			}
		}
	})
}

func feedAll(t *testing.T, client, server []byte, piece int) []session.Entry {
	log, memory := &collector{}, NewMemory(1<<20)
	var ids session.StreamID
	tap := NewTap(Config{Conn: 1, Sink: log, Memory: memory, NewStream: func() session.StreamID { ids++; return ids }})
	at := time.Unix(1, 0)
	for _, d := range []struct {
		from session.Side
		data []byte
	}{{session.Client, client}, {session.Server, server}} {
		for rest := d.data; len(rest) > 0; {
			n := min(piece, len(rest))
			if b := tap.Feed(d.from, at, rest[:n]); b < -1 || b > n {
				t.Fatalf("boundary %d of %d bytes", b, n)
			}
			rest = rest[n:]
		}
	}
	for _, e := range log.entries {
		if m := e.Message; m != nil && e.Note == nil && (m.Data.Len() > m.Size || !m.Truncated && m.Data.Len() != m.Size) {
			t.Fatalf("message of %d bytes has %d: %+v", m.Size, m.Data.Len(), e)
		}
		if e.Note != nil && len(e.Note.Text) > 8 && e.Note.Text[:8] == "internal" {
			t.Fatal(e.Note.Text)
		}
	}
	tap.End(session.Proxy, at, "over")
	if memory.Used() != 0 {
		t.Fatalf("%d bytes of the budget were never given back", memory.Used())
	}
	return log.entries
}
