package format

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// The field numbers of an entry; docs/format.md has the table.
const (
	fieldSeq      protowire.Number = 1
	fieldTime     protowire.Number = 2
	fieldStart    protowire.Number = 3
	fieldConn     protowire.Number = 4
	fieldStream   protowire.Number = 5
	fieldH2       protowire.Number = 6
	fieldSide     protowire.Number = 7
	fieldKind     protowire.Number = 8
	fieldPeer     protowire.Number = 9
	fieldMethod   protowire.Number = 10
	fieldHeaders  protowire.Number = 11
	fieldStatus   protowire.Number = 12
	fieldMessage  protowire.Number = 13
	fieldGoAway   protowire.Number = 14
	fieldGap      protowire.Number = 15
	fieldNote     protowire.Number = 16
	fieldProblems protowire.Number = 17
	FieldData     protowire.Number = 18
	FieldContent  protowire.Number = 19
	FieldRun      protowire.Number = 20
	fieldCarried  protowire.Number = 21
	fieldSent     protowire.Number = 22
	fieldHeld     protowire.Number = 23
)

// AppendEntry appends an entry without the data of its message, which follows
// it in the file as a plan has it.
func AppendEntry(b []byte, e *session.Entry) []byte {
	b = appendUint(b, fieldSeq, uint64(e.Seq))
	b = appendTime(b, fieldTime, e.Time)
	b = appendTime(b, fieldStart, e.Start)
	b = appendUint(b, fieldConn, uint64(e.Conn))
	b = appendUint(b, fieldStream, uint64(e.Stream))
	b = appendUint(b, fieldH2, uint64(e.H2))
	b = appendUint(b, fieldSide, uint64(e.Side))
	b = appendUint(b, fieldKind, uint64(e.Kind))
	b = encode(b, fieldPeer, e.Peer, (*codec).peer)
	b = appendString(b, fieldMethod, e.Method)
	b = appendFields(b, fieldHeaders, e.Headers)
	b = encode(b, fieldStatus, e.Status, (*codec).status)
	b = encode(b, fieldGoAway, e.GoAway, (*codec).goAway)
	b = encode(b, fieldGap, e.Gap, (*codec).gap)
	b = encode(b, fieldNote, e.Note, (*codec).note)
	for _, p := range e.Problems {
		b = protowire.AppendTag(b, fieldProblems, protowire.BytesType)
		b = protowire.AppendString(b, p)
	}
	b = appendBool(b, fieldCarried, e.Carried)
	b = appendFields(b, fieldSent, e.Sent)
	b = encode(b, fieldHeld, e.Held, (*codec).held)
	m := e.Message
	if m == nil {
		return b
	}
	return appendNested(b, fieldMessage, func(b []byte) []byte {
		b = appendUint(b, 1, uint64(m.Size))
		b = appendUint(b, 2, uint64(m.WireSize))
		b = appendString(b, 3, m.Encoding)
		b = appendBool(b, 4, m.Compressed)
		b = appendBool(b, 5, m.Masked)
		b = appendBool(b, 6, m.Truncated)
		return appendString(b, 7, string(m.Hash))
	})
}

func appendFields(b []byte, num protowire.Number, fields []session.Field) []byte {
	for i := range fields {
		b = appendNested(b, num, func(b []byte) []byte {
			b = appendString(b, 1, fields[i].Name)
			return appendString(b, 2, fields[i].Value)
		})
	}
	return b
}

func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return appendUint(b, num, 1)
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// appendTime leaves out the zero time only, so that the epoch itself survives.
func appendTime(b []byte, num protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, uint64(Nanos(t)))
}

// Nanos clamps what 64 bits cannot hold: years before 1678 and after 2262.
func Nanos(t time.Time) int64 {
	const second = int64(time.Second)
	switch s := t.Unix(); {
	case s <= math.MinInt64/second:
		return math.MinInt64
	case s >= math.MaxInt64/second:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// appendNested appends a message field, whose length is known only afterwards:
// it is moved if its length takes up more than a byte.
func appendNested(b []byte, num protowire.Number, fill func([]byte) []byte) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	start := len(b)
	b = fill(append(b, 0))
	n := uint64(len(b) - start - 1)
	more := protowire.SizeVarint(n) - 1
	if more == 0 {
		b[start] = byte(n)
		return b
	}
	var room [10]byte
	b = append(b, room[:more]...)
	copy(b[start+1+more:], b[start+1:len(b)-more])
	protowire.AppendVarint(b[:start], n)
	return b
}
