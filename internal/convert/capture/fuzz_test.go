package capture_test

import (
	"bufio"
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/convert/capture"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// FuzzRead reads arbitrary files. Entries are numbered without holes, their times do
// not run backwards, and what was read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"grpc-go", "linear-delta", "rest-in-full"} {
		_, packets := packetsOf(f, name)
		packets = packets[:min(len(packets), 60)]
		f.Add(raw(f, packets))
		f.Add(raw(f, packets[12:]))
		var holes []packet // seconds apart, so that what is missing is given up
		for i, p := range packets {
			if p.at = p.at.Add(time.Duration(i) * 3 * time.Second); i < 12 || i%2 > 0 {
				holes = append(holes, p)
			}
		}
		f.Add(raw(f, holes))
		file, _ := written(f, recordertest.Entries(f, filepath.Join(sessionsDir, name+".xdsp"))[:20])
		f.Add(file)
	}
	pdu := "\x00\x0c\x00\x08http2\x00\x00\x00\x00\x14\x00\x04\x7f\x00\x00\x01\x00\x15\x00\x04\x7f\x00\x00\x01\x00\x19\x00\x04\x00\x00\xc1\x5e\x00\x1a\x00\x04\x00\x00\xa9\xf7\x00\x00\x00\x00"
	f.Add(pcapOf(f, 252, []byte(pdu), []packet{{data: []byte("GET /v3/discovery:clusters HTTP/1.1\r\n\r\n")}}))
	f.Add([]byte("\x0a\x0d\x0d\x0a\xff\xff\xff\xff\x4d\x3c\x2b\x1a"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var entries []session.Entry
		done, err := capture.Read(bufio.NewReader(bytes.NewReader(file)), func(e *session.Entry) error {
			if n := len(entries); e.Seq != session.Seq(n+1) || n > 0 && e.Time.Before(entries[n-1].Time) || e.Conn == 0 {
				t.Fatalf("%+v after %d entries", e, n)
			}
			entries = append(entries, *e)
			return nil
		})
		if _, damaged := errors.AsType[*capture.FormatError](err); err != nil && !damaged {
			t.Fatal(err)
		}
		if done.Entries != uint64(len(entries)) || done.Connections == 0 && len(entries) > 0 {
			t.Fatalf("%+v, of %d entries", done, len(entries))
		}
		again, _ := written(t, entries)
		read(t, again)
	})
}

// FuzzWrite writes arbitrary entries, three bytes each: what comes of them is a
// capture, whatever their order.
func FuzzWrite(f *testing.F) {
	f.Add([]byte{1, 0, 0, 2, 1, 0, 4, 1, 0, 3, 1, 1, 4, 1, 1, 6, 1, 1, 9, 0, 0})
	f.Add([]byte{2, 9, 0, 4, 9, 0, 5, 9, 0, 3, 9, 1, 4, 9, 1, 6, 9, 1, 7, 9, 1, 8, 9, 1})
	f.Fuzz(func(t *testing.T, program []byte) {
		var entries []session.Entry
		for len(program) >= 3 && len(entries) < 200 {
			kind, of, side := program[0], program[1], program[2]
			program = program[3:]
			e := session.Entry{
				Time: time.Unix(int64(len(entries)), 0), Kind: session.Kind(kind % 14), Conn: session.ConnID(1 + of>>6),
				Stream: session.StreamID(of & 15), Side: session.Side(side & 3), H2: uint32(of&7)*2 + 1,
				Message: &session.Message{Data: session.Chunks{bytes.Repeat([]byte{side}, int(kind))}, Compressed: side&4 > 0, Truncated: side&8 > 0},
				Status:  &session.Status{Code: int32(side) - 8, WasReset: side&16 > 0, Message: "50% \n"},
				GoAway:  &session.GoAway{Debug: "x"}, Gap: &session.Gap{}, Note: &session.Note{Text: string(program)}, Held: &session.Held{},
			}
			if side&32 > 0 {
				e.H2 = 0
			}
			if side&64 > 0 {
				e.Method = "/v3/discovery:clusters"
				e.Headers = []session.Field{{Name: ":method", Value: "HEAD\r\n"}, {Name: ":path", Value: e.Method}, {Name: "content-length", Value: "7"}, {Name: ":status", Value: "204"}}
			}
			if side&128 > 0 {
				e.Peer = &session.Peer{Client: "[::1]:1", Upstream: "[::2%x]:2"}
			}
			entries = append(entries, e)
		}
		file, _ := written(t, entries)
		read(t, file)
	})
}
