package index

import (
	"github.com/xdsproxy/xdsproxy/internal/pushes"
)

// Pushes are the changes of the control plane that are remembered, oldest first,
// and how many came before them.
func (f *Feed) Pushes() (heads []pushes.Head, forgotten int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pushes.Heads(f.checker.Engine, 0), f.pushes.Forgotten()
}

// Push is one of them in full, false if it is not known any more.
func (f *Feed) Push(n int) (pushes.Push, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pushes.Push(f.checker.Engine, n)
}
