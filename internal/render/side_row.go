package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// SideType stands where the type of a message stands, for the services beside
// discovery; "" for others.
func SideType(m xds.Method) string {
	if m.Variant == xds.VariantLRS || m.Variant == xds.VariantCSDS {
		return strings.ToUpper(string(m.Variant))
	}
	return ""
}

// sideRow fills in what a message of load reports or of client status carries, and
// returns what else is to be said of it.
func sideRow(r *row, e *session.Entry, m xds.Method) (notes []string) {
	switch {
	case e.Message.Unread() != "":
	case m.Variant == xds.VariantLRS:
		said := decode.PeekLoadStats(e.Side, e.Message.Data.Bytes())
		r.names = said.Clusters
		for _, l := range said.Loads {
			r.names = append(r.names, l.Name)
		}
		r.res = strconv.Itoa(len(r.names))
		if e.Side == session.Client {
			slices.Sort(r.names)
			return nil
		}
		if said.SendAll {
			r.res = "*"
		}
		notes = append(notes, "every "+Duration(said.Interval))
	case m.Variant == xds.VariantCSDS && e.Side == session.Server:
		said := decode.PeekClientStatus(e.Message.Data.Bytes())
		n := 0
		for _, c := range said.Configs {
			n += len(c.Resources)
			states := map[string]int{}
			for _, of := range c.Resources {
				states[of.Client]++
			}
			text := Safe(c.NodeID) + ":"
			for i, state := range slices.Sorted(maps.Keys(states)) {
				text += fmt.Sprintf("%s %d %s", []string{"", ","}[min(i, 1)], states[state], Safe(state))
			}
			notes = append(notes, text)
		}
		r.res = strconv.Itoa(n)
	}
	return notes
}

// errorsOf are the resources that a response names an error for.
func errorsOf(m *decode.Message) (notes []string) {
	for i := range m.ResourceErrors[:min(len(m.ResourceErrors), namesShown)] {
		e := &m.ResourceErrors[i]
		notes = append(notes, Safe(e.Name)+": "+GRPCCode(e.Code))
	}
	if n := len(m.ResourceErrors) - len(notes); n > 0 {
		notes = append(notes, Count(n, "more error", "more errors"))
	}
	return notes
}
