package index

import (
	"encoding/binary"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// arena keeps short texts that are never dropped, without a header for each. An
// offset into it is 1 or more; 0 is the empty text.
type arena struct {
	blocks [][]byte
	recent map[string]uint32 // where texts are that came lately
}

const (
	arenaBlock  = 1 << 20
	maxText     = 512  // longer texts are cut
	maxRecent   = 4096 // texts that are looked for before one is added
	arenaBlocks = 4095 // what an offset can tell
)

// add returns the offset of a text.
func (a *arena) add(s string) uint32 {
	if s == "" {
		return 0
	}
	s = clip.Text(s, maxText)
	if at, ok := a.recent[s]; ok {
		return at
	}
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(s)))
	if len(a.blocks) == 0 || len(a.blocks[len(a.blocks)-1])+n+len(s) > arenaBlock {
		if len(a.blocks) == arenaBlocks {
			return 0 // four gigabytes of versions: the rest is not shown
		}
		a.blocks = append(a.blocks, make([]byte, 1, arenaBlock))
	}
	last := len(a.blocks) - 1
	at := uint32(last)*arenaBlock + uint32(len(a.blocks[last]))
	a.blocks[last] = append(append(a.blocks[last], head[:n]...), s...)
	if a.recent == nil || len(a.recent) >= maxRecent {
		a.recent = make(map[string]uint32, maxRecent)
	}
	a.recent[s] = at
	return at
}

// text is the text at an offset.
func (a *arena) text(at uint32) string { return string(a.bytes(at)) }

// bytes are those of the text at an offset. They do not change.
func (a *arena) bytes(at uint32) []byte {
	if at == 0 {
		return nil
	}
	b := a.blocks[at/arenaBlock][at%arenaBlock:]
	n, size := binary.Uvarint(b)
	return b[size : size+int(n)]
}
