package engine

import (
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldEntry says whom what a client says that it holds is about.
func (k *Engine) heldEntry(e *session.Entry) (c Change) {
	if e.Held == nil {
		return c
	}
	c.Method, c.Client = xds.Held(), e.Held.Node
	return c
}
