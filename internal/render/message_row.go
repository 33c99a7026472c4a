package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// messageRow fills the row of a message.
func (t *Table) messageRow(r *row, e *session.Entry, c *check.Change) {
	r.message = true
	r.what, r.size = c.What, ShortSize(e.Message.Size)
	r.version, r.res = "-", "-"
	var notes []string
	if m := c.Message; m != nil {
		if m.Version != "" {
			r.version = Safe(m.Version)
		}
		notes = append(describe(r, c), errorsOf(m)...)
		if len(m.Problems) > 0 {
			r.sign = "~"
			notes = append(notes, Safe(m.Problems[0]))
		}
	}
	notes = append(notes, sideRow(r, e, c.Method)...)
	if r.what == "" {
		r.what = "MSG"
	}
	for _, p := range e.Problems {
		notes = append(notes, Safe(p))
	}
	if e.Message.Masked {
		notes = append(notes, "[masked]")
	}
	if e.Message.Truncated {
		r.sign = "~"
		if kept := e.Message.Data.Len(); kept < e.Message.Size {
			notes = append(notes, fmt.Sprintf("[truncated: %s of %s kept]", Size(kept), Size(e.Message.Size)))
		} else {
			notes = append(notes, "[truncated]")
		}
	}
	switch c.What {
	case engine.NACK:
		r.role, r.sign = bad, "!"
	case engine.ACK:
		r.role = good
	case engine.RESP, engine.DELTA:
		r.role = accent
	}
	r.text = strings.Join(notes, "  ")
}

// describe fills in what a discovery message carries, and returns what else is
// to be said of it.
func describe(r *row, c *check.Change) (notes []string) {
	m := c.Message
	for _, w := range c.Also {
		notes = append(notes, "also "+w)
	}
	if m.Error != nil {
		notes = append(notes, errorText(m.Error))
	}
	if m.Node != nil {
		r.aside = nodeText(m.Node)
	}
	if n, is := c.Count(); is && n == engine.Everything {
		r.res = "*"
	} else if is {
		r.res = strconv.Itoa(n)
	}
	switch m.Kind {
	case decode.SotwRequest:
		r.names = signed(c.Added, c.Removed)
		if len(c.Added) == len(m.Names) && len(c.Removed) == 0 {
			r.names = m.Names // all are new: the first request
		}
	case decode.SotwResponse:
		r.names = m.ResourceNames()
		if changes, is := fileChanges(c); is {
			r.names = changes
		}
	case decode.DeltaRequest:
		r.names = signed(c.Added, c.Removed)
	case decode.DeltaResponse:
		r.version = fmt.Sprintf("+%d -%d", len(m.Resources), len(m.Removed))
		r.names = signed(m.ResourceNames(), m.Removed)
	}
	return notes
}

func signed(added, removed []string) []string {
	if len(added)+len(removed) == 0 {
		return nil
	}
	out := make([]string, 0, len(added)+len(removed))
	for _, n := range added {
		out = append(out, "+"+n)
	}
	for _, n := range removed {
		out = append(out, "-"+n)
	}
	return out
}

func errorText(e *decode.Error) string {
	if text := strings.TrimSpace(engine.CauseFirst(e.Message)); text != "" {
		return Safe(text)
	}
	return GRPCCode(e.Code)
}

// nodeText is who a client says it is, beside its id.
func nodeText(n *decode.Node) string {
	agent := strings.TrimSpace(n.UserAgent + " " + n.UserAgentVersion)
	switch {
	case agent == "":
		agent = "node " + n.ID
	case n.Cluster != "":
		agent += " of " + n.Cluster
	}
	return Safe(agent)
}
