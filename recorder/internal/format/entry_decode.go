package format

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// ParseEntry reads an entry into e, which is empty. Its data may refer to what is
// in the dictionary. Nothing of the result refers to b, unless alias says that the
// message's data does. What is not data is bounded by maxHead, because it takes up
// more room here than there. A message that is too large to be decoded has no data,
// unless the dictionary says so.
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
			e.Peer, err = decode(f.Body, new(session.Peer), (*codec).peer)
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
			e.Status, err = decode(f.Body, new(session.Status), (*codec).status)
		case fieldMessage:
			e.Message, err = parseMessage(f.Body)
		case fieldGoAway:
			e.GoAway, err = decode(f.Body, new(session.GoAway), (*codec).goAway)
		case fieldGap:
			e.Gap, err = decode(f.Body, new(session.Gap), (*codec).gap)
		case fieldNote:
			e.Note, err = decode(f.Body, new(session.Note), (*codec).note)
		case fieldHeld:
			e.Held, err = decode(f.Body, new(session.Held), (*codec).held)
		case fieldProblems:
			e.Problems = append(e.Problems, string(f.Body))
		case fieldCarried:
			e.Carried = f.Uint != 0
		case FieldData, FieldContent, FieldRun:
			err = data.add(&f.Field, dict)
		case fieldAside:
			data.aside(f.Uint, dict)
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
	var total int64
	if e.Message.Data, total, alias, err = data.join(dict); total > session.MostRead {
		e.Message.Size = max(e.Message.Size, total)
	}
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
