package check

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// identity is what the rules of nodes remember of a stream.
type identity struct {
	judged bool           // it was seen whether it names its node
	twin   *engine.Stream // another stream of the node, until both have been used
	told   bool           // it was reported beside an older one
}

func firstRequestMissingNode(x *event) {
	t := x.stream
	if identityOf(t).judged || x.sub.Exempt() || t.Method.Variant == xds.VariantFile {
		return
	}
	identityOf(t).judged = true
	if t.Node != nil || t.Lost {
		return
	}
	p := proof{severity: Error, cause: t.Method.Path, message: "the first request names no node"}
	if x.req.Message.Node != nil {
		p.message = "the node of the first request has no id"
	}
	if t.Peer != "" {
		p.message += fmt.Sprintf("; it came from %s", t.Peer)
	}
	if !x.again(Error, p.cause) {
		x.prove(p)
	}
}

func nodeIdentityChanged(x *event) {
	is, was := x.req.Message.Node, x.stream.Node
	if is == nil || was == nil || is == was {
		return
	}
	for _, f := range [...]struct {
		what     string
		was, is  string
		severity Severity
	}{
		{"id", was.ID, is.ID, Error},
		{"cluster", was.Cluster, is.Cluster, Error},
		{"user agent", was.UserAgent, is.UserAgent, Info},
		{"user agent's version", was.UserAgentVersion, is.UserAgentVersion, Info},
		{"region", was.Region, is.Region, Info},
		{"zone", was.Zone, is.Zone, Info},
	} {
		if f.was != "" && f.is != "" && f.was != f.is && !x.again(f.severity, f.what) {
			x.provef(proof{severity: f.severity, cause: f.what, seqs: []session.Seq{x.stream.NodeAt, x.req.Seq}},
				"the node's %s is %q, and was %q in entry %d", f.what, words.Clip(f.is), words.Clip(f.was), x.stream.NodeAt)
		}
	}
	if len(was.ClientFeatures) > 0 && len(is.ClientFeatures) > 0 && !slices.Equal(was.ClientFeatures, is.ClientFeatures) && !x.again(Info, "features") {
		x.provef(proof{severity: Info, cause: "features", seqs: []session.Seq{x.stream.NodeAt, x.req.Seq}},
			"the node's client features are not those of entry %d", x.stream.NodeAt)
	}
}

const (
	// maxTwins is how many other streams of a node are looked at.
	maxTwins = 8
	// hotRestart is longer than an old Envoy lives on beside the new one:
	// parent-shutdown-time-s is 15 minutes unless told otherwise.
	hotRestart = 20 * time.Minute
)

// duplicateStream begins to watch a stream when its node becomes known.
func duplicateStream(x *event) {
	twinSpoke(x)
	t := x.stream
	if t.NodeAt != x.req.Seq || !t.ADS() || t.Lost || t.GRPCClient() {
		return
	}
	if of := x.k.Peers.ByKey[engine.KeyOf(t)]; of == nil || len(of.Live) < 2 {
		return
	}
	rejoin := x.k.timers.Rejoin
	x.after(max(0, t.Opened.Add(rejoin).Sub(x.now)), findTwin)
	if hotRestart > rejoin {
		x.after(max(0, t.Opened.Add(hotRestart).Sub(x.now)), findTwin)
	}
}

// findTwin looks for a stream that was there before and still is.
func findTwin(x *event) {
	t := x.stream
	of := x.k.Peers.ByKey[engine.KeyOf(t)]
	if of == nil || t.Ended || t.Lost || identityOf(t).told || identityOf(t).twin != nil {
		return
	}
	age := x.now.Sub(t.Opened)
	for i, looked := len(of.Live)-1, 0; i >= 0 && looked < maxTwins; i-- {
		o := of.Live[i]
		if o.OpenAt >= t.OpenAt || o.Ended || o.Lost {
			continue
		}
		looked++
		if age < hotRestart && mayRestart(t) && sameHost(t.Peer, o.Peer) {
			continue
		}
		if o.LastClient.After(t.Opened) || o.LastServer.After(t.Opened) {
			x.twins(o, t)
			return
		}
		identityOf(t).twin, identityOf(o).twin = o, t
		return
	}
}

// mayRestart says whether a client may be an Envoy, which has two processes
// for a while when it restarts hot.
func mayRestart(t *engine.Stream) bool { return t.Node.UserAgent == "" || t.EnvoyClient() }

// sameHost says whether two addresses are of one host, or may be.
func sameHost(a, b string) bool {
	host := func(s string) string {
		if h, _, err := net.SplitHostPort(s); err == nil {
			return h
		}
		return s
	}
	return a == "" || b == "" || host(a) == host(b)
}

// twinSpoke reports two streams once the older one was used beside the
// younger.
func twinSpoke(x *event) {
	t := x.stream
	o := identityOf(t).twin
	if o == nil {
		return
	}
	if o.Ended || o.Lost || t.Lost {
		identityOf(t).twin = nil
		return
	}
	if t.OpenAt < o.OpenAt {
		x.twins(t, o)
	}
}

func (x *event) twins(older, younger *engine.Stream) {
	identityOf(older).twin, identityOf(younger).twin, identityOf(younger).told = nil, nil, true
	from := cmp.Or(older.Peer, "somewhere")
	with := cmp.Or(younger.Peer, "somewhere")
	seqs := []session.Seq{older.NodeAt, younger.NodeAt}
	if x.entry != nil {
		seqs = append(seqs, x.entry.Seq)
	}
	stream := *x
	stream.sub = nil // it is about no type
	stream.provef(proof{severity: Info, cause: "-", seqs: seqs},
		"two aggregated streams, from %s and %s, side by side for %v", from, with, words.Round(x.now.Sub(younger.Opened)))
}
