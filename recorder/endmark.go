package recorder

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// endSize is the length of an end mark as a frame. It is always the same, so
// that it can be found from the end of a file.
const endSize = frameHeadSize + 3*9 + crcSize

// endMark closes a recording that was closed regularly.
type endMark struct {
	entries uint64
	last    session.Seq
	index   int64 // where the last index frame is; 0 if there is none
}

func (m *endMark) append(b []byte) []byte {
	start := len(b)
	b = appendSkippableHead(b, magicEnd)
	for i, n := range []uint64{m.entries, uint64(m.last), uint64(m.index)} {
		b = protowire.AppendTag(b, protowire.Number(i+1), protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, n)
	}
	return closeSkippable(b, start)
}

func (m *endMark) parse(p []byte) error {
	if len(p) != endSize-frameHeadSize {
		return fmt.Errorf("an end mark cannot be %d bytes long", len(p))
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	return eachField(p, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			m.entries = f.Uint
		case 2:
			m.last = session.Seq(f.Uint)
		case 3:
			m.index = int64(f.Uint)
		}
		return nil
	})
}
