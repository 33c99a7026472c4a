package agree

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// saysLess says whether a disagreement is that something is missing, and not that
// something else is said: of ended streams status, tree and what was accepted may
// be silent, and nobody may be wrong. Polls begin anew after each connection.
func saysLess(d disagreement) bool {
	return strings.Contains(d.kind, "lacks") || strings.HasPrefix(d.kind, "rest: ") ||
		strings.Contains(d.kind, "UNCERTAIN for") ||
		d.kind == "status: last rejection" || d.kind == "status: rejections in a row" || d.kind == "status: NOTSENT for NACKED" || d.kind == "status: SYNCED for NACKED" || // on the stream before
		d.kind == "check: nack-received" // it is silent
}

// One who remembers nothing of what is over says less, and nothing false.
func TestWithoutAPast(t *testing.T) {
	o := check.Options{Past: -1}
	eachConversation(t, fewer(), func(_ uint64, text string) (wrong []disagreement) {
		entries, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		for _, d := range tryWith(entries, o) {
			if !saysLess(d) {
				wrong = append(wrong, d)
			}
		}
		return wrong
	})
}
