package render

import "testing"

// Who accepted, where, and what was held: also where a client has no name.
func TestHeldText(t *testing.T) {
	d := &HeldDiff{Client: "envoy", Session: "a.xdsp", Dump: "dump.json", Types: []HeldType{{Type: "CDS", Same: 2, Elsewhere: 1}, {Type: "EDS", Elsewhere: 3}}}
	holds(t, d.Text(Style{}, 3), "- accepted: by envoy in a.xdsp\n", "+ held: dump.json\n", "  CDS   2 the same, 1 that were not asked for in the session\n", "  EDS   3 that were not asked for in the session\n")
	if d.Empty() {
		t.Error("two that are the same are nothing")
	}
	d = &HeldDiff{Dump: "dump.json", Types: []HeldType{{Type: "CDS", Elsewhere: 1}}, Notes: []string{"a note"}}
	holds(t, d.Text(Style{}, 3), "- accepted: by a client without a node id\n", "i a note\n")
	if !d.Empty() {
		t.Error("what was not asked for is compared")
	}
}
