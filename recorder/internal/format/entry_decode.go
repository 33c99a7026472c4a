package format

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// ParseEntry reads an entry into e, which is empty. Its data may refer to what is
// in the dictionary. Nothing of the result refers to b, unless alias says that the
// message's data does; it is one chunk. What is not data is bounded by maxHead,
// because it takes up more room here than there.
func ParseEntry(e *session.Entry, b []byte, dict *Dictionary) (alias bool, err error) {
	data, head := dataParts{parts: dict.parts[:0]}, 0
	defer func() {
		clear(data.parts)
		dict.parts = data.parts[:0]
	}()
	f := protoscan.Of(b)
	for err == nil && f.Next() {
		if f.Num < FieldData || f.Num > FieldRun {
			if head += 1 + len(f.Body); head > MaxHead {
				return false, errors.New("an entry is longer than any that is written")
			}
		}
		switch f.Num {
		case fieldSeq:
			e.Seq = session.Seq(f.Uint)
		case fieldTime:
			e.Time = timeOf(f.Uint)
		case fieldStart:
			e.Start = timeOf(f.Uint)
		case fieldConn:
			e.Conn = session.ConnID(f.Uint)
		case fieldStream:
			e.Stream = session.StreamID(f.Uint)
		case fieldH2:
			e.H2 = uint32(f.Uint)
		case fieldSide:
			e.Side = session.Side(f.Uint)
		case fieldKind:
			e.Kind = session.Kind(f.Uint)
		case fieldPeer:
			e.Peer, err = parsePeer(f.Body)
		case fieldMethod:
			e.Method = string(f.Body)
		case fieldHeaders:
			var h session.Field
			h, err = parseHeader(f.Body)
			e.Headers = append(e.Headers, h)
		case fieldSent:
			var h session.Field
			h, err = parseHeader(f.Body)
			e.Sent = append(e.Sent, h)
		case fieldStatus:
			e.Status, err = parseStatus(f.Body)
		case fieldMessage:
			e.Message, err = parseMessage(f.Body)
		case fieldGoAway:
			e.GoAway, err = parseGoAway(f.Body)
		case fieldGap:
			e.Gap, err = parseGap(f.Body)
		case fieldNote:
			e.Note, err = parseNote(f.Body)
		case fieldProblems:
			e.Problems = append(e.Problems, string(f.Body))
		case fieldCarried:
			e.Carried = f.Uint != 0
		case FieldData, FieldContent, FieldRun:
			err = data.add(&f.Field, dict)
		}
	}
	switch {
	case err != nil:
		return false, err
	case f.Err != "":
		return false, errWire
	case len(data.parts) == 0:
		return false, nil
	case e.Message == nil:
		return false, errWire
	}
	e.Message.Data, alias, err = data.join(dict)
	return alias, err
}

// ParsePlace reads the number and the time of an entry.
func ParsePlace(b []byte) (seq session.Seq, at int64, err error) {
	at = math.MinInt64
	s := protoscan.Of(b)
	for s.Next() && s.Num <= fieldTime { // fields come in order
		switch {
		case s.Num == fieldSeq:
			seq = session.Seq(s.Varint())
		case s.Num == fieldTime && s.Type == protowire.Fixed64Type:
			at = int64(s.Uint)
		}
	}
	if s.Err != "" {
		return 0, 0, errWire
	}
	return seq, at, nil
}

func parsePeer(b []byte) (*session.Peer, error) {
	p := new(session.Peer)
	return p, eachField(b, func(f protoscan.Field) (err error) {
		switch f.Num {
		case 1:
			p.Client = string(f.Body)
		case 2:
			p.Listen = string(f.Body)
		case 3:
			p.Upstream = string(f.Body)
		case 4:
			p.Local = string(f.Body)
		case 5:
			p.ClientTLS, err = parseTLS(f.Body)
		case 6:
			p.ServerTLS, err = parseTLS(f.Body)
		}
		return err
	})
}

// maxIdentities bounds the names of a certificate that are read. The proxy
// writes fewer.
const maxIdentities = 64

func parseTLS(b []byte) (*session.TLS, error) {
	t := new(session.TLS)
	return t, eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			t.Version = string(f.Body)
		case 2:
			t.Cipher = string(f.Body)
		case 3:
			t.ALPN = string(f.Body)
		case 4:
			t.ServerName = string(f.Body)
		case 5:
			if len(t.Identities) < maxIdentities {
				t.Identities = append(t.Identities, string(f.Body))
			}
		case 6:
			t.Issuer = string(f.Body)
		case 7:
			t.NotAfter = timeOf(f.Uint)
		case 8:
			t.Verified = f.Uint != 0
		case 9:
			t.Resumed = f.Uint != 0
		}
		return nil
	})
}

func parseHeader(b []byte) (h session.Field, err error) {
	err = eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			h.Name = string(f.Body)
		case 2:
			h.Value = string(f.Body)
		}
		return nil
	})
	return h, err
}

func parseStatus(b []byte) (*session.Status, error) {
	s := new(session.Status)
	return s, eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			s.Code = int32(protowire.DecodeZigZag(f.Uint))
		case 2:
			s.Message = string(f.Body)
		case 3:
			s.Reset = uint32(f.Uint)
		case 4:
			s.WasReset = f.Uint != 0
		case 5:
			s.HTTP = int(int64(f.Uint))
		}
		return nil
	})
}

func parseMessage(b []byte) (*session.Message, error) {
	m, f := new(session.Message), protoscan.Of(b)
	for f.Next() {
		switch f.Num {
		case 1:
			m.Size = int64(f.Uint)
		case 2:
			m.WireSize = int64(f.Uint)
		case 3:
			m.Encoding = string(f.Body)
		case 4:
			m.Compressed = f.Uint != 0
		case 5:
			m.Masked = f.Uint != 0
		case 6:
			m.Truncated = f.Uint != 0
		case 7:
			m.Hash = append([]byte(nil), f.Body...)
		}
	}
	if f.Err != "" {
		return m, errWire
	}
	return m, nil
}

func parseGoAway(b []byte) (*session.GoAway, error) {
	g := new(session.GoAway)
	return g, eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			g.LastStream = uint32(f.Uint)
		case 2:
			g.Code = uint32(f.Uint)
		case 3:
			g.Debug = string(f.Body)
		}
		return nil
	})
}

func parseGap(b []byte) (*session.Gap, error) {
	g := new(session.Gap)
	return g, eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			g.First = session.Seq(f.Uint)
		case 2:
			g.Last = session.Seq(f.Uint)
		case 3:
			g.Entries = f.Uint
		case 4:
			g.Bytes = int64(f.Uint)
		case 5:
			for p := f.Body; len(p) > 0 && len(g.Streams) < MaxGapStreams; {
				id, n := protowire.ConsumeVarint(p)
				if n < 0 {
					return errWire
				}
				g.Streams = append(g.Streams, session.StreamID(id))
				p = p[n:]
			}
		case 6:
			g.Cause = session.GapCause(min(f.Uint, math.MaxUint8))
		}
		return nil
	})
}

func parseNote(b []byte) (*session.Note, error) {
	n := new(session.Note)
	return n, eachField(b, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			n.Code = session.NoteCode(f.Body)
		case 2:
			n.Text = string(f.Body)
		case 3:
			n.Hint = string(f.Body)
		case 4:
			n.About = session.Seq(f.Uint)
		}
		return nil
	})
}
