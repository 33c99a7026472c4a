package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// The states of a resource at its client, as it says itself.
const (
	heldInUse    = "in use"
	heldWarming  = "warming"
	heldRejected = "rejected"
	heldAwaited  = "awaited"
	heldTimeout  = "timed out"
	heldDraining = "draining"
	heldGone     = "gone"
	heldUnknown  = "unknown"
)

// heldStates are in the order in which they are told.
func heldStates() []string {
	return []string{heldInUse, heldWarming, heldRejected, heldAwaited, heldTimeout, heldDraining, heldGone, heldUnknown}
}

// holding is what a held entry says, resource by resource.
type holding struct {
	items    []HeldItem
	inUse    map[string]int // by type, without what is static
	static   int
	unready  []string // what it says beside them that it waits for
	problems []string
}

// HeldItem is what a client says of one resource. State is one of the words "in use",
// "warming", "rejected", "awaited", "timed out", "draining", "gone" and "unknown".
type HeldItem struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Static  bool   `json:"static,omitempty"`
	Error   string `json:"error,omitempty"`
}

// holdingOf reads the message of a held entry.
func holdingOf(e *session.Entry) *holding {
	h := &holding{inUse: make(map[string]int)}
	said := decode.PeekClientStatus(e.Message.Data.Bytes())
	h.problems = said.Problems
	for _, c := range said.Configs {
		for i := range c.Resources {
			r := &c.Resources[i]
			if strings.HasPrefix(r.TypeURL, xds.AdminPrefix) {
				if r.BodyURL == xds.AdminPrefix+"UnreadyTargetsDumps" {
					h.unready = append(h.unready, unready(r.Body)...)
				}
				continue
			}
			it := HeldItem{Type: xds.ShortType(r.TypeURL), Name: r.Name, State: heldState(r), Version: r.Version, Static: r.Static, Error: r.Error}
			switch {
			case it.State != heldInUse:
			case r.Static:
				h.static++
			default:
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

// unready reads an envoy.admin.v3.UnreadyTargetsDumps: what waits for what.
func unready(body []byte) (out []string) {
	for s := protoscan.Of(body); s.Next(); {
		dump, ok := s.Bytes()
		if !ok || s.Num != 1 {
			continue
		}
		who, targets := string(protoscan.Last(dump, 1)), []string(nil)
		for s := protoscan.Of(dump); s.Next(); {
			if target, ok := s.Bytes(); ok && s.Num == 2 {
				targets = append(targets, string(target))
			}
		}
		out = append(out, who+": "+strings.Join(targets, ", "))
	}
	return out
}

func byRank(a, b string) int {
	return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b))
}

func (h *holding) types() []string { return slices.SortedFunc(maps.Keys(h.inUse), byRank) }

func heldState(r *decode.ResourceStatus) string {
	switch r.Client {
	case "ACKED":
		return heldInUse
	case "REQUESTED":
		if r.Body != nil {
			return heldWarming
		}
		return heldAwaited
	case "NACKED", "RECEIVED_ERROR":
		return heldRejected
	case "TIMEOUT":
		return heldTimeout
	case "DOES_NOT_EXIST":
		if r.Body != nil {
			return heldDraining
		}
		return heldGone
	}
	return heldUnknown
}
