package format

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// EndSize is the length of an end mark as a frame. It is always the same, so
// that it can be found from the end of a file.
const EndSize = FrameHeadSize + 3*9 + CRCSize

// EndMark closes a recording that was closed regularly.
type EndMark struct {
	Entries uint64
	Last    session.Seq
	Index   int64 // where the last index frame is; 0 if there is none
}

func (m *EndMark) Append(b []byte) []byte {
	start := len(b)
	b = AppendSkippableHead(b, MagicEnd)
	for i, n := range []uint64{m.Entries, uint64(m.Last), uint64(m.Index)} {
		b = protowire.AppendTag(b, protowire.Number(i+1), protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, n)
	}
	return CloseSkippable(b, start)
}

func (m *EndMark) Parse(p []byte) error {
	if len(p) != EndSize-FrameHeadSize {
		return fmt.Errorf("an end mark cannot be %d bytes long", len(p))
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	return eachField(p, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			m.Entries = f.Uint
		case 2:
			m.Last = session.Seq(f.Uint)
		case 3:
			m.Index = int64(f.Uint)
		}
		return nil
	})
}
