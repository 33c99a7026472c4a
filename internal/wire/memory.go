package wire

import "sync/atomic"

const (
	// maxMessage is the longest message that is kept whole, in bytes.
	maxMessage = 1 << 30
	// keepPrefix is how much is kept of a message that is not kept whole.
	keepPrefix = 64 << 10
)

// Memory is a budget, in bytes, that the messages under assembly of many
// connections share. A message that would exceed it is truncated.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// NewMemory returns a budget of limit bytes.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Used is the number of bytes taken at present.
func (m *Memory) Used() int64 { return m.used.Load() }

func (m *Memory) take(n int64) bool {
	if m.used.Add(n) > m.limit {
		m.used.Add(-n)
		return false
	}
	return true
}

func (m *Memory) give(n int64) { m.used.Add(-n) }
