package agree

import (
	"maps"
	"slices"
	"strings"
)

// resources compares, after a message, the states of the resources that it is
// about: those of a response, or those of the response that a request answers.
func (t *trial) resources(key laneKey, m *meaning) {
	n := m.reply
	if n == nil {
		n = m.answers
	}
	if n == nil || !m.sure || m.murky || m.lane.exempt || t.table.crowded(key) {
		return
	}
	nodes := t.followers.nodes(key.client)
	names := slices.Sorted(maps.Keys(n.resources))
	for _, name := range append(names, n.removed...) {
		v := t.table.versions[key][name]
		if v == nil || v.unsure {
			continue
		}
		t.diff(key, name, v)
		if state, is := nodes[typedName{key.typ, name}]; m.lane.asked && !v.removed {
			t.tree(key, name, v, state, is)
		}
	}
	t.holding(key, m)
}

// diff compares the newest version of a resource.
func (t *trial) diff(key laneKey, name string, v *version) {
	got, is := t.followers.diffed(key, name)
	switch {
	case !is:
		t.differs("diff: lacks a resource", "%s %s of %s came with entry %d", key.typ, name, key.client, v.seq)
	case got.Seq != v.seq || got.Removed != v.removed || got.Hash != v.content.hash:
		t.differs("diff: version", "%s %s of %s came with entry %d (removed: %v), not %d (%v)", key.typ, name, key.client, v.seq, v.removed, got.Seq, got.Removed)
	case string(got.State) != v.state:
		t.differs("diff: "+string(got.State)+" for "+v.state, "%s %s of %s, of entry %d, is %s, not %s", key.typ, name, key.client, v.seq, v.state, got.State)
	case got.Pushes != v.pushes:
		t.differs("diff: pushes", "%s %s of %s was sent %d times in a row, not %d", key.typ, name, key.client, v.pushes, got.Pushes)
	}
}

// tree compares the state of a resource in the tree. Of what a client gave up, or
// has from another stream, the tree may know less than the list of versions.
func (t *trial) tree(key laneKey, name string, v *version, state string, is bool) {
	kind := "tree"
	if strings.HasPrefix(name, "xdstp:") {
		kind += " of xdstp names"
	}
	if v.passed {
		kind += " behind a later verdict"
	}
	switch {
	case v.loose || strings.HasSuffix(name, "/*"):
	case !is:
		t.differs(kind+": lacks a resource", "%s %s of %s is %s", key.typ, name, key.client, v.state)
	case state != v.state:
		t.differs(kind+": "+state+" for "+v.state, "%s %s of %s is %s, not %s", key.typ, name, key.client, v.state, state)
	}
}

// holding compares what a client has accepted of a type.
func (t *trial) holding(key laneKey, m *meaning) {
	h := t.table.held[key]
	if m.word == "" || h == nil || h.unsure {
		return
	}
	got := t.followers.accepted(key)
	for name, c := range h.resources {
		hash, is := got[name]
		if !is && !h.dropped[name] || is && hash != c.hash {
			t.differs("accepted: lacks", "%s %s of %s was accepted, and is not held (another content: %v)", key.typ, name, key.client, is)
		}
	}
	for name := range got {
		if _, is := h.resources[name]; !is && !h.dropped[name] {
			t.differs("accepted: too much", "%s %s of %s is held, and is not accepted", key.typ, name, key.client)
		}
	}
}
