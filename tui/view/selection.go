package view

import (
	"github.com/xdsproxy/xdsproxy/session"
)

// Selection is what a view is about, for the views that are opened from it.
type Selection struct {
	Client string
	Seq    session.Seq // an entry
	Type   string      // a resource
	Name   string
	// Within is the resource of the entry that is selected in it, "" if none is.
	Within string
	// Rule and Proof are those of a finding: what it broke, and the entries that
	// prove it. Of a push, Proof is the response that is meant.
	Rule  string
	Proof []session.Seq
}
