package agree

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// end compares what is counted of the whole session: by metrics, and by check.
func (t *trial) end() {
	known := xds.ShortTypes()
	rejections := t.followers.rejections()
	counted := make(map[string]map[string]map[string]int)
	for _, key := range t.lanes {
		if t.unsure[key.client] || key.client == "" {
			continue
		}
		t.rest = slices.ContainsFunc(t.table.lanes[key], func(l *lane) bool { return l.rest })
		if counted[key.client] == nil {
			counted[key.client] = t.followers.counted(key.client)
		}
		if slices.Contains(known, key.typ) {
			for _, word := range []string{engine.ACK, engine.NACK} {
				if want, got := t.words[key][word], counted[key.client][key.typ][word]; want != got {
					t.differs("metrics: "+word, "%s of %s has %d of %s, and metrics count %d", key.typ, key.client, want, word, got)
				}
			}
		}
		seen, all := 0, true
		for _, l := range t.table.lanes[key] {
			seen += l.seenNACKs
			all = all && !l.rest && !l.exempt // polls have rules of their own
		}
		if got := rejections[key]; all && got != seen {
			t.differs("check: nack-received", "%s of %s was rejected %d times, and found are %d", key.typ, key.client, seen, got)
		}
	}
}
