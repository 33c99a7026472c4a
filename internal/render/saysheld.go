package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
)

// mostHeldNames is how many names of a state a line has, and heldNameWidth how wide
// they are.
const mostHeldNames, heldNameWidth = 3, 60

// heldText says in a line what a client says that it holds. In a whole one no name is
// shortened.
func heldText(e *session.Entry, whole bool) string {
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
		return at + " cannot be read: " + Safe(h.Failed)
	case e.Message == nil:
		return at + " said nothing"
	}
	own := holdingOf(e)
	var parts []string
	if h.Whole {
		parts = append(parts, "holds "+own.counts())
	} else if text := own.names(decode.HeldActive, whole); text != "" {
		parts = append(parts, "changed: "+text)
	}
	for _, state := range heldStates()[1:] {
		if h.Whole && state == decode.HeldStatic {
			continue
		}
		if text := own.names(state, whole); text != "" {
			parts = append(parts, heldWord(state)+": "+text)
		}
	}
	if len(parts) == 0 {
		return "what it says of itself changed, and none of its resources"
	}
	return strings.Join(parts, "; ")
}

// newHeld makes the machine-readable form.
func newHeld(e *session.Entry) *Held {
	h := e.Held
	out := &Held{Node: h.Node, Source: h.Source, Address: h.Address, Whole: h.Whole, Failed: h.Failed}
	if e.Message == nil {
		return out
	}
	own := holdingOf(e)
	out.InUse = own.inUse
	for i := range own.items {
		if it := &own.items[i]; !h.Whole || !settled(it.State) {
			out.Resources = append(out.Resources, *it)
		}
	}
	return out
}

// settled says that nothing more needs to be told of a resource than that it is there.
func settled(s decode.HeldState) bool { return s == decode.HeldActive || s == decode.HeldStatic }

// counts is how many resources of each type are in use.
func (h *holding) counts() string {
	var parts []string
	for _, typ := range h.types() {
		if n := h.inUse[typ]; n > 0 {
			parts = append(parts, Number(n)+" "+Safe(typ))
		}
	}
	if h.static > 0 {
		parts = append(parts, Number(h.static)+" static")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// names are the first resources in a state.
func (h *holding) names(state decode.HeldState, whole bool) string {
	var types, names, parts []string
	n := 0
	for i := range h.items {
		it := &h.items[i]
		if it.State != state {
			continue
		}
		if n++; n <= mostHeldNames {
			types, names = append(types, it.Type), append(names, Safe(OrDash(it.Name)))
		}
	}
	apart := shortname.New(names)
	for i, name := range names {
		text := name
		if !whole {
			text = apart.Fit(name, heldNameWidth)
		}
		if i == 0 || types[i] != types[i-1] {
			text = Safe(types[i]) + " " + text
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if n > mostHeldNames {
		text += fmt.Sprintf(" and %s more", Number(n-mostHeldNames))
	}
	return text
}

// mostHeldFacts bounds what is told of single resources.
const mostHeldFacts = 500

// saysHeld tells who was asked what it holds, and what it said.
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
	if x.e.Message == nil {
		return
	}
	own := holdingOf(x.e)
	if h.Whole {
		x.add("in use", own.counts(), "")
	}
	told := 0
	for _, state := range heldStates() {
		name := heldWord(state)
		for i := range own.items {
			it := &own.items[i]
			if it.State != state || h.Whole && settled(state) {
				continue
			}
			if told++; told > mostHeldFacts {
				continue
			}
			x.heldItem(name, it)
			name = ""
		}
	}
	if told > mostHeldFacts {
		x.add("", "", fmt.Sprintf("and %s more; yaml shows all of it", Number(told-mostHeldFacts)))
	}
	for i, text := range own.unready[:min(len(own.unready), mostHeldFacts)] {
		label := ""
		if i == 0 {
			label = "init_dump"
		}
		x.add(label, text, "what it waits for, as it says itself")
	}
	for _, p := range own.problems {
		x.add("", p, "").Look = FactBad
	}
}

func (x *explainer) heldItem(label string, it *HeldItem) {
	means := map[decode.HeldState]string{
		decode.HeldWarming:  "it has come, and is not in use yet",
		decode.HeldDraining: "it is going, and still serves what it serves",
		decode.HeldAwaited:  "asked for, and not received",
		decode.HeldTimeout:  "asked for, and given up",
		decode.HeldGone:     "it is not there any more",
	}[it.State]
	if it.Version != "" {
		means = strings.TrimPrefix(means+"; version "+it.Version, "; ")
	}
	f := x.add(label, it.Type+" "+it.Name, means)
	switch it.State {
	case decode.HeldActive, decode.HeldStatic:
		f.Look = FactGood
	case decode.HeldFailed, decode.HeldTimeout:
		f.Look = FactBad
	}
	for line := range strings.SplitSeq(strings.TrimSpace(it.Error), "\n") {
		if line != "" {
			x.add("", line, "").Look = FactBad
		}
	}
}
