package tui

import (
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// selection is what a view is about, for the views that are opened from it.
type selection struct {
	client string
	seq    session.Seq // an entry
	typ    string      // a resource
	name   string
}
