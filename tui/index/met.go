package index

import (
	"sync"
	"sync/atomic"

	"github.com/xdsproxy/xdsproxy/check"
)

const (
	// maxMet bounds the bytes of the names that a Fetcher remembers to have read,
	// perMet is what one costs beside its bytes.
	maxMet = 32 << 20
	perMet = 64
)

// met are names in messages that were read, for those who hide them.
type met struct {
	mu   sync.Mutex // never held while something is read
	seen map[string]bool
	list []metName
	n    atomic.Uint64 // of list
	size int           // of list, in bytes
	lost atomic.Bool   // some are not in list
}

type metName struct{ typ, name string }

func (t *met) add(typ, name string) {
	if name == "" || t.seen[name] {
		return
	}
	if t.size+len(name)+perMet > maxMet {
		t.lost.Store(true)
		return
	}
	t.size += len(name) + perMet
	if t.seen == nil {
		t.seen = make(map[string]bool)
	}
	t.seen[name] = true
	t.list = append(t.list, metName{typ, name})
}

func (t *met) meet(c *check.Change) {
	if c.Message == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.n.Store(uint64(len(t.list))) }()
	for _, names := range [][]string{c.Added, c.Removed, c.Message.Names, c.Message.Removed} {
		for _, n := range names {
			t.add(c.Type, n)
		}
	}
	m := c.Message
	for i := range m.Resources {
		t.add(c.Type, m.Resources[i].Name)
	}
	for i := range m.ResourceErrors {
		t.add(c.Type, m.ResourceErrors[i].Name)
	}
	for i := range m.InitialVersions {
		t.add(c.Type, m.InitialVersions[i].Name)
	}
}

// Names are those of resources in messages that were read again, by type, from
// the one with number from on; how many there are, and whether none was left out.
func (f *Fetcher) Names(from uint64) (names map[string][]string, n uint64, all bool) {
	n, all = f.met.n.Load(), !f.met.lost.Load()
	if n == from {
		return nil, n, all
	}
	f.met.mu.Lock()
	defer f.met.mu.Unlock()
	out := make(map[string][]string)
	for _, m := range f.met.list[from:n] {
		out[m.typ] = append(out[m.typ], m.name)
	}
	return out, n, all
}
