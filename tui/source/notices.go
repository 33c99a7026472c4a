package source

import (
	"sync"
)

// Notices are lines that others have for the message line. Any goroutine may
// add to them.
type Notices struct {
	mu    sync.Mutex
	lines []string
}

// maxNotices bounds what waits for the screen.
const maxNotices = 256

// Add adds a line. It never waits; the oldest goes if there are too many.
func (n *Notices) Add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) >= maxNotices {
		n.lines = n.lines[1:]
	}
	n.lines = append(n.lines, line)
}

func (n *Notices) Take() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}
