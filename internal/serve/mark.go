package serve

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// A mark goes over the wire as four varints. Who sends back another than it was
// given gets an error, or something that is no recording: nothing it could not
// have asked for.

var errResume = errors.New("resume is none that was given")

func appendMark(b []byte, m recorder.Mark) []byte {
	for _, n := range [...]uint64{m.Segment, uint64(m.At), m.Entries, uint64(m.Skip)} {
		b = protowire.AppendVarint(b, n)
	}
	return b
}

// parseMark reads a mark; none is the beginning.
func parseMark(b []byte) (m recorder.Mark, err error) {
	if len(b) == 0 {
		return m, nil
	}
	var ns [4]uint64
	for i := range ns {
		n, w := protowire.ConsumeVarint(b)
		if w < 0 {
			return m, errResume
		}
		ns[i], b = n, b[w:]
	}
	m = recorder.Mark{Segment: ns[0], At: int64(ns[1]), Entries: ns[2], Skip: int64(ns[3])}
	if len(b) > 0 || m.At < 0 || m.Skip < 0 {
		return recorder.Mark{}, errResume
	}
	return m, nil
}
