package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldText says in a line what a client says that it holds.
func heldText(e *session.Entry) string {
	h := e.Held
	if h == nil {
		return "what the client holds"
	}
	at := cmp.Or(Safe(h.Source), "?")
	if h.Address != "" {
		at += " " + Safe(h.Address)
	}
	switch {
	case h.Failed != "":
		return at + ": cannot be read: " + Safe(h.Failed)
	case e.Message == nil:
		return at
	}
	what := "changed"
	if h.Whole {
		what = "all of it"
	}
	return fmt.Sprintf("%s: %s: %s, %s", at, what, heldCount(e), ShortSize(e.Message.Size))
}

// heldCount is how many resources a client speaks of.
func heldCount(e *session.Entry) string {
	n := 0
	for _, c := range decode.PeekClientStatus(e.Message.Data.Bytes()).Configs {
		for i := range c.Resources {
			if !strings.HasPrefix(c.Resources[i].TypeURL, xds.AdminPrefix) {
				n++
			}
		}
	}
	return Count(n, "resource", "resources")
}

// saysHeld tells who was asked what it holds.
func (x *explainer) saysHeld(h *session.Held) {
	x.add("node", h.Node, "whom it is about")
	x.add("source", h.Source, "what was asked")
	x.add("address", h.Address, "")
	switch {
	case h.Failed != "":
		x.add("failed", h.Failed, "so it is not known what the client holds now").Look = FactBad
	case h.Whole:
		x.add("whole", "true", "everything that the client holds")
	default:
		x.add("whole", "false", "what changed since it was asked before")
	}
	if x.e.Message != nil {
		x.add("message", "", heldCount(x.e)+"; yaml shows all of it")
	}
}
