package check

import (
	"sort"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// hints is what the rules of subscriptions know beyond one stream.
type hints struct {
	// widened are the nameless delta subscriptions that names were added to.
	widened []*engine.Subscription
	// clock tells when a response was sent by its stamp, oldest first.
	clock []tick
	// said is the cause under which a rule has reported a name of a client.
	said map[string]string
}

// tick is the first response since some time.
type tick struct {
	stamp uint64
	at    time.Time
}

const (
	tickLength = 20 * time.Millisecond
	maxTicks   = 1 << 13
	maxSaid    = 1 << 16
)

// tick notes when the response that is being looked at was sent; what is older
// than keep is forgotten.
func (h *hints) tick(stamp uint64, now time.Time, keep time.Duration) {
	if n := len(h.clock); n > 0 && now.Sub(h.clock[n-1].at) < tickLength {
		return
	}
	old := 0
	for old < len(h.clock) && (len(h.clock)-old >= maxTicks || now.Sub(h.clock[old].at) > keep) {
		old++
	}
	h.clock = append(h.clock[old:], tick{stamp, now})
}

// sent returns when about the response with a stamp was sent, never later than
// it was; zero if it was too long ago.
func (h *hints) sent(stamp uint64) time.Time {
	i := sort.Search(len(h.clock), func(i int) bool { return h.clock[i].stamp > stamp })
	if i == 0 {
		return time.Time{}
	}
	return h.clock[i-1].at
}

// proveOnce enters a finding for each name once for a client and type; when it
// is about the same name again, the finding that named it first is counted.
// The text is that of some of the names.
func (x *event) proveOnce(severity Severity, names []string, text func(names []string) string) {
	var fresh, causes []string
	known := make(map[string][]string)
	prefix := x.rule.ID + "\x00" + x.client() + "\x00" + x.sub.Type + "\x00"
	for _, n := range names {
		cause, ok := x.k.hints.said[engine.Short(prefix+n)]
		if !ok {
			fresh = append(fresh, n)
			continue
		}
		if known[cause] == nil {
			causes = append(causes, cause)
		}
		known[cause] = append(known[cause], n)
	}
	for _, c := range causes {
		x.prove(proof{severity: severity, names: known[c], cause: c, message: text(known[c])})
	}
	if len(fresh) == 0 {
		return
	}
	cause := strings.Join(fresh[:min(len(fresh), maxFindingNames)], "\x00")
	if x.k.hints.said == nil || len(x.k.hints.said)+len(fresh) > maxSaid {
		x.k.hints.said = make(map[string]string)
	}
	for _, n := range fresh[:min(len(fresh), maxSaid)] {
		x.k.hints.said[engine.Short(prefix+n)] = cause
	}
	x.prove(proof{severity: severity, names: fresh, cause: cause, message: text(fresh)})
}

// client is the node id of the stream, "" if it is not known.
func (x *event) client() string {
	if x.stream == nil || x.stream.Node == nil {
		return ""
	}
	return x.stream.Node.ID
}
