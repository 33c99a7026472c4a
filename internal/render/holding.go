package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldStates are in the order in which they are told.
func heldStates() []decode.HeldState {
	return []decode.HeldState{
		decode.HeldActive, decode.HeldStatic, decode.HeldWarming, decode.HeldFailed, decode.HeldAwaited, decode.HeldTimeout,
		decode.HeldDraining, decode.HeldGone, decode.HeldUnknown,
	}
}

// heldWord is a state in words that need no knowledge of Envoy's dumps.
func heldWord(s decode.HeldState) string {
	switch s {
	case decode.HeldActive:
		return "in use"
	case decode.HeldFailed:
		return "rejected"
	case decode.HeldTimeout:
		return "timed out"
	}
	return string(s)
}

// holding is what a held entry says, resource by resource.
type holding struct {
	items    []HeldItem
	inUse    map[string]int // by type, without what is static
	static   int
	unready  []string // what it says beside them that it waits for
	problems []string
}

// HeldItem is what a client says of one resource.
type HeldItem struct {
	Type    string           `json:"type"`
	Name    string           `json:"name"`
	State   decode.HeldState `json:"state"`
	Version string           `json:"version,omitempty"`
	Error   string           `json:"error,omitempty"`
}

// holdingOf reads the message of a held entry.
func holdingOf(e *session.Entry) *holding {
	said := decode.PeekClientStatus(e.Message.Data.Bytes())
	h := &holding{inUse: make(map[string]int), problems: said.Problems}
	if why := e.Message.Unread(); why != "" {
		h.problems = []string{why}
	}
	for _, c := range said.Configs {
		for i := range c.Resources {
			r := &c.Resources[i]
			if strings.HasPrefix(r.TypeURL, xds.AdminPrefix) {
				if r.BodyURL == xds.AdminPrefix+"UnreadyTargetsDumps" {
					for _, u := range decode.PeekUnready(r.Body) {
						h.unready = append(h.unready, u.Of+": "+strings.Join(u.Targets, ", "))
					}
				}
				continue
			}
			it := HeldItem{Type: xds.ShortType(r.TypeURL), Name: r.Name, State: r.Held(), Version: r.Version, Error: r.Error}
			switch it.State {
			case decode.HeldStatic:
				h.static++
			case decode.HeldActive:
				h.inUse[it.Type]++
			}
			h.items = append(h.items, it)
		}
	}
	slices.SortStableFunc(h.items, func(a, b HeldItem) int {
		return cmp.Or(byRank(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return h
}

func byRank(a, b string) int {
	return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b))
}

func (h *holding) types() []string { return slices.SortedFunc(maps.Keys(h.inUse), byRank) }
