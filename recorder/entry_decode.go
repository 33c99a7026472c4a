package recorder

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// parseEntry reads an entry, whose data may refer to what is in the dictionary.
// Nothing of the result refers to b, unless alias says that the message's data
// does; it is one chunk. What is not data is bounded by maxHead, because it
// takes up more room here than there.
func parseEntry(b []byte, dict *dictionary) (e session.Entry, alias bool, err error) {
	data, head := dataParts{parts: dict.parts[:0]}, 0
	defer func() {
		clear(data.parts)
		dict.parts = data.parts[:0]
	}()
	err = eachField(b, func(f field) (err error) {
		if f.num < fieldData || f.num > fieldRun {
			if head += 1 + len(f.bytes); head > maxHead {
				return errors.New("an entry is longer than any that is written")
			}
		}
		switch f.num {
		case fieldSeq:
			e.Seq = session.Seq(f.n)
		case fieldTime:
			e.Time = f.time()
		case fieldStart:
			e.Start = f.time()
		case fieldConn:
			e.Conn = session.ConnID(f.n)
		case fieldStream:
			e.Stream = session.StreamID(f.n)
		case fieldH2:
			e.H2 = uint32(f.n)
		case fieldSide:
			e.Side = session.Side(f.n)
		case fieldKind:
			e.Kind = session.Kind(f.n)
		case fieldPeer:
			e.Peer, err = parsePeer(f.bytes)
		case fieldMethod:
			e.Method = string(f.bytes)
		case fieldHeaders:
			var h session.Field
			h, err = parseHeader(f.bytes)
			e.Headers = append(e.Headers, h)
		case fieldSent:
			var h session.Field
			h, err = parseHeader(f.bytes)
			e.Sent = append(e.Sent, h)
		case fieldStatus:
			e.Status, err = parseStatus(f.bytes)
		case fieldMessage:
			e.Message, err = parseMessage(f.bytes)
		case fieldGoAway:
			e.GoAway, err = parseGoAway(f.bytes)
		case fieldGap:
			e.Gap, err = parseGap(f.bytes)
		case fieldNote:
			e.Note, err = parseNote(f.bytes)
		case fieldProblems:
			e.Problems = append(e.Problems, string(f.bytes))
		case fieldCarried:
			e.Carried = f.n != 0
		case fieldData, fieldContent, fieldRun:
			err = data.add(f, dict)
		}
		return err
	})
	if err == nil && len(data.parts) > 0 {
		if e.Message == nil {
			return e, false, errWire
		}
		e.Message.Data, alias, err = data.join(dict)
	}
	return e, alias, err
}

// parsePlace reads the number and the time of an entry.
func parsePlace(b []byte) (seq session.Seq, at int64, err error) {
	at = math.MinInt64
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, 0, errWire
		}
		if num > fieldTime {
			break // fields come in order
		}
		k := protowire.ConsumeFieldValue(num, typ, b[n:])
		if k < 0 {
			return 0, 0, errWire
		}
		switch {
		case num == fieldSeq && typ == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b[n:])
			seq = session.Seq(v)
		case num == fieldTime && typ == protowire.Fixed64Type:
			v, _ := protowire.ConsumeFixed64(b[n:])
			at = int64(v)
		}
		b = b[n+k:]
	}
	return seq, at, nil
}

func parsePeer(b []byte) (*session.Peer, error) {
	p := new(session.Peer)
	return p, eachField(b, func(f field) (err error) {
		switch f.num {
		case 1:
			p.Client = string(f.bytes)
		case 2:
			p.Listen = string(f.bytes)
		case 3:
			p.Upstream = string(f.bytes)
		case 4:
			p.Local = string(f.bytes)
		case 5:
			p.ClientTLS, err = parseTLS(f.bytes)
		case 6:
			p.ServerTLS, err = parseTLS(f.bytes)
		}
		return err
	})
}

// maxIdentities bounds the names of a certificate that are read. The proxy
// writes fewer.
const maxIdentities = 64

func parseTLS(b []byte) (*session.TLS, error) {
	t := new(session.TLS)
	return t, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			t.Version = string(f.bytes)
		case 2:
			t.Cipher = string(f.bytes)
		case 3:
			t.ALPN = string(f.bytes)
		case 4:
			t.ServerName = string(f.bytes)
		case 5:
			if len(t.Identities) < maxIdentities {
				t.Identities = append(t.Identities, string(f.bytes))
			}
		case 6:
			t.Issuer = string(f.bytes)
		case 7:
			t.NotAfter = f.time()
		case 8:
			t.Verified = f.n != 0
		case 9:
			t.Resumed = f.n != 0
		}
		return nil
	})
}

func parseHeader(b []byte) (h session.Field, err error) {
	err = eachField(b, func(f field) error {
		switch f.num {
		case 1:
			h.Name = string(f.bytes)
		case 2:
			h.Value = string(f.bytes)
		}
		return nil
	})
	return h, err
}

func parseStatus(b []byte) (*session.Status, error) {
	s := new(session.Status)
	return s, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			s.Code = int32(protowire.DecodeZigZag(f.n))
		case 2:
			s.Message = string(f.bytes)
		case 3:
			s.Reset = uint32(f.n)
		case 4:
			s.WasReset = f.n != 0
		case 5:
			s.HTTP = int(int64(f.n))
		}
		return nil
	})
}

func parseMessage(b []byte) (*session.Message, error) {
	m := new(session.Message)
	return m, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			m.Size = int64(f.n)
		case 2:
			m.WireSize = int64(f.n)
		case 3:
			m.Encoding = string(f.bytes)
		case 4:
			m.Compressed = f.n != 0
		case 5:
			m.Masked = f.n != 0
		case 6:
			m.Truncated = f.n != 0
		case 7:
			m.Hash = append([]byte(nil), f.bytes...)
		}
		return nil
	})
}

func parseGoAway(b []byte) (*session.GoAway, error) {
	g := new(session.GoAway)
	return g, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			g.LastStream = uint32(f.n)
		case 2:
			g.Code = uint32(f.n)
		case 3:
			g.Debug = string(f.bytes)
		}
		return nil
	})
}

func parseGap(b []byte) (*session.Gap, error) {
	g := new(session.Gap)
	return g, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			g.First = session.Seq(f.n)
		case 2:
			g.Last = session.Seq(f.n)
		case 3:
			g.Entries = f.n
		case 4:
			g.Bytes = int64(f.n)
		case 5:
			for p := f.bytes; len(p) > 0 && len(g.Streams) < maxGapStreams; {
				id, n := protowire.ConsumeVarint(p)
				if n < 0 {
					return errWire
				}
				g.Streams = append(g.Streams, session.StreamID(id))
				p = p[n:]
			}
		case 6:
			g.Cause = session.GapCause(min(f.n, math.MaxUint8))
		}
		return nil
	})
}

func parseNote(b []byte) (*session.Note, error) {
	n := new(session.Note)
	return n, eachField(b, func(f field) error {
		switch f.num {
		case 1:
			n.Code = session.NoteCode(f.bytes)
		case 2:
			n.Text = string(f.bytes)
		case 3:
			n.Hint = string(f.bytes)
		case 4:
			n.About = session.Seq(f.n)
		}
		return nil
	})
}
