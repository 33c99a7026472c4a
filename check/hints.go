package check

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/check/timer"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// hints is what the rules of subscriptions know beyond one stream.
type hints struct {
	// widened are the nameless delta subscriptions that names were added to.
	widened []*engine.Subscription
	// clock tells when a response was sent by its stamp.
	clock timer.Ticks
	// said is the cause under which a rule has reported a name of a client.
	said map[string]string
}

const maxSaid = 1 << 16

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
