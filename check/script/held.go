package script

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

// held reads "-- held": what a client says that it holds.
func (p *player) held(l *line) (action, error) {
	var items []synth.HeldItem
	words := l.words[:1:1]
	for _, w := range l.words[1:] {
		typ, state, is := strings.Cut(w.key, "/")
		if !is {
			words = append(words, w)
			continue
		}
		some, err := l.heldItems(w, typ, state)
		if err != nil {
			return nil, err
		}
		items = append(items, some...)
	}
	l.words = words
	f := l.fields("node", "source", "at", "changed", "failed")
	f.need("node")
	h := session.Held{
		Source: cmp.Or(f.text("source"), session.HeldAdmin), Address: cmp.Or(f.text("at"), "127.0.0.1:9901"),
		Failed: f.text("failed"), Whole: !f.boolean("changed") && !f.has("failed"),
	}
	r := &synth.HeldResponse{Node: f.node(), Items: items}
	if f.err != nil {
		return nil, f.err
	}
	h.Node = r.Node.ID
	e := session.Entry{Side: session.Client, Kind: session.KindHeld, Held: &h}
	return func() error {
		if h.Failed != "" {
			p.add(e, nil)
		} else {
			p.add(e, r.Marshal)
		}
		return nil
	}, f.done(1)
}

// heldItems reads the resources of a type that are in a state.
func (l *line) heldItems(w word, typ, state string) (out []synth.HeldItem, err error) {
	from := w.off
	url, err := l.typeURL(span{from, from + len(typ)})
	if err != nil {
		return nil, err
	}
	var states []string
	for _, s := range synth.HeldStates() {
		states = append(states, string(s))
	}
	if !slices.Contains(states, state) {
		return nil, l.fail(from+len(typ)+1, "%s is no state of a resource", quoteShort(state)).meant(state, states)
	}
	all, err := l.items(w.value, '[')
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		r, err := l.resource(s, url, false)
		if err != nil {
			return nil, err
		}
		out = append(out, synth.HeldItem{Resource: r, State: decode.HeldState(state)})
	}
	return out, nil
}
