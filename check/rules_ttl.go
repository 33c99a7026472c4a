package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/timer"
	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	featureTTL       = "xds.config.supports-resource-ttl"
	featureInSotw    = "xds.config.supports-resource-in-sotw"
	featureInSotwOld = "xds.config.resource-in-sotw" // gRPC's spelling
)

// heartbeatFlaw says what is wrong with the heartbeat at a position of the
// response that is looked at, or "".
func (x *event) heartbeatFlaw(i int) string {
	s, n := x.sub, x.resp
	r := &n.Message.Resources[i]
	delta := n.Message.Kind == decode.DeltaResponse
	if delta && len(r.Aliases) > 0 || s.Variants {
		return "" // an alias that does not resolve
	}
	name := decode.NormalName(r.Name)
	it := s.Have.Get(name)
	if it == nil {
		// Without a version it is the old way to say that there is none. What
		// the client gave up was delivered once.
		if _, dropped := s.Dropped[name]; r.Version == "" || dropped {
			return ""
		}
		return fmt.Sprintf("a heartbeat for %q, which was never sent", words.Clip(name))
	}
	if delta {
		switch {
		case s.MayHaveAt(name, r.Version):
			return ""
		case r.Version == it.Version:
			return fmt.Sprintf("the heartbeat of %q has version %q, which the client rejected", words.Clip(name), words.Clip(r.Version))
		}
		return fmt.Sprintf("the heartbeat of %q has version %q, the version sent last was %q", words.Clip(name), words.Clip(r.Version), words.Clip(it.Version))
	}
	// The client takes the version of the response, whatever the heartbeat says,
	// and compares it with what it has of the type.
	last, known := s.VersionBefore(n)
	if !known || n.Version == last {
		return ""
	}
	return fmt.Sprintf("the heartbeat of %q came in a response of version %q, and the client has version %q", words.Clip(name), words.Clip(n.Version), words.Clip(last))
}

func heartbeatVersionMismatch(x *event) {
	if x.sub.Exempt() {
		return
	}
	var found flaws
	for _, i := range x.resp.Heartbeats {
		if flaw := x.heartbeatFlaw(i); flaw != "" {
			found.add("-", decode.NormalName(x.resp.Message.Resources[i].Name), "%s", flaw)
		}
	}
	found.report(x, Error)
}

func ttlUnsupported(x *event) {
	s, n, node := x.sub, x.resp, x.stream.Node
	if node == nil || s.Exempt() {
		return
	}
	var found flaws
	if (len(n.Timed) > 0 || len(n.Heartbeats) > 0) && !slices.Contains(node.ClientFeatures, featureTTL) {
		for _, i := range n.Timed {
			r := &n.Message.Resources[i]
			found.add("ttl", r.Name, "%q has a TTL of %v, and the client does not say that it supports that", words.Clip(r.Name), words.Round(r.TTL))
		}
		for _, i := range n.Heartbeats {
			// Without a version, and of a resource that was never sent, it
			// says that there is none; with aliases, that one does not resolve.
			r := &n.Message.Resources[i]
			if !r.HasTTL && len(r.Aliases) == 0 && s.Have.Get(decode.NormalName(r.Name)) != nil {
				found.add("ttl", r.Name, "a heartbeat for %q, and the client does not say that it supports them", words.Clip(r.Name))
			}
		}
	}
	if n.Wrapped > 0 && n.Message.Kind == decode.SotwResponse && (n.Wanted == nil || n.Wanted.Message.Locators == (decode.Locators{})) &&
		!slices.Contains(node.ClientFeatures, featureInSotw) && !slices.Contains(node.ClientFeatures, featureInSotwOld) {
		found.add("envelope", "", "%s in an envelope, and the client does not say that it supports that",
			words.Counted(n.Wrapped, "resource is", "resources are"))
	}
	found.report(x, Warning)
}

func ttlExpired(x *event) {
	s, n, l := x.sub, x.resp, leasesOf(x.sub)
	if s.Exempt() {
		return
	}
	// What was sent without a TTL has none any more.
	if len(l.ByName) < len(n.Resolved) {
		for name := range l.ByName {
			if x.here(s.Have.Get(name)) {
				delete(l.ByName, name)
			}
		}
	} else {
		for _, it := range n.Resolved {
			delete(l.ByName, it.Name)
		}
	}
	if len(n.Timed) == 0 {
		return
	}
	if f := x.stream.Node; f != nil && !slices.Contains(f.ClientFeatures, featureTTL) {
		return // it has no timers
	}
	var spent flaws
	var first time.Time // the end of what is entered now
	for _, i := range n.Timed {
		r := &n.Message.Resources[i]
		name := decode.NormalName(r.Name)
		switch {
		case r.TTL <= 0:
			spent.add("-", name, "%q has a TTL of %v", words.Clip(name), words.Round(r.TTL))
		case s.Have.Get(name) == nil, r.Empty && x.heartbeatFlaw(i) != "":
		case r.TTL <= timer.MaxTTL:
			until := x.now.Add(r.TTL + x.flight())
			l.Set(timer.Lease{Name: name, TTL: r.TTL, Until: until, From: n})
			if first.IsZero() || until.Before(first) {
				first = until
			}
		}
	}
	spent.report(x, Warning)
	x.watchLeases(first)
}

// watchLeases sets the timer of the lease that ends first, if there is none
// that is earlier. Those that were just entered end at first, or later.
func (x *event) watchLeases(first time.Time) {
	l := leasesOf(x.sub)
	if len(l.ByName) == 0 || l.Watched.After(x.now) && (first.IsZero() || !first.Before(l.Watched)) {
		return
	}
	l.Watched = l.First()
	later := *x
	later.resp = nil
	later.after(l.Watched.Sub(x.now), func(x *event) {
		if l := leasesOf(x.sub); x.now.Before(l.Watched) {
			return // what it was for is over, and a later timer is set
		}
		leasesEnded(x)
	})
}

// leasesEnded reports the leases that are over.
func leasesEnded(x *event) {
	s, l := x.sub, leasesOf(x.sub)
	l.Watched = time.Time{}
	if x.stream.Ended || s.Lost {
		return
	}
	var names []string
	var first timer.Lease
	for _, e := range l.Ended(x.now) {
		if s.Have.Get(e.Name) == nil || !s.Wants(e.Name) || e.From.Verdict == engine.NACKed {
			continue
		}
		if len(names) == 0 {
			first = e
		}
		names = append(names, e.Name)
	}
	if len(names) > 0 {
		x.provef(proof{severity: Warning, names: names, seqs: []session.Seq{first.From.Seq}},
			"%s was not prolonged within its TTL of %v", words.List(names), words.Round(first.TTL))
	}
	x.watchLeases(time.Time{})
}
