package check

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

func deltaWithoutVersion(x *event) {
	n, c := x.resp, contentOf(x.sub)
	if n.Message.Kind != decode.DeltaResponse || c.told > Warning || x.foreign() {
		return
	}
	p := proof{severity: Info, cause: "-"}
	for _, i := range n.Timed {
		if r := &n.Message.Resources[i]; r.Version == "" && !r.Empty {
			p.severity = Warning
			p.names = append(p.names, decode.NormalName(r.Name))
		}
	}
	if p.severity == Info {
		for it := range n.AddedOrChanged() {
			if it.Version == "" {
				p.names = append(p.names, it.Name)
			}
		}
	}
	if len(p.names) == 0 || c.told > p.severity {
		return
	}
	c.told = p.severity + 1
	ttl := ""
	if p.severity == Warning {
		ttl = "with a TTL and "
	}
	x.provef(p, "%s %swithout a version, such as %q", words.Counted(len(p.names), "resource", "resources"), ttl, words.Clip(p.names[0]))
}

func resourceNameMissing(x *event) {
	n := x.resp
	if x.foreign() {
		return
	}
	var found flaws
	loose := n.Nameless
	for _, i := range n.Misnamed {
		r := &n.Message.Resources[i]
		var facts *inspect.Facts // of a payload under no name at all
		if r.Name == "" && !r.Empty && len(loose) > 0 {
			facts, loose = loose[0].Facts, loose[1:]
		}
		switch {
		case r.BothNames:
			found.add("both", r.Name, "resource %d of %d, %q, has both name and resource_name", i+1, n.Count, words.Clip(r.Name))
		case collectionEntry(r.TypeURL), r.Empty && len(r.Aliases) > 0:
		case n.Message.Kind == decode.DeltaResponse && r.Name != "":
			found.add("-", r.Name, "the envelope of resource %d of %d has no name; its payload says %q", i+1, n.Count, words.Clip(r.Name))
		case n.Message.Kind == decode.DeltaResponse, r.Wrapped && r.Empty,
			facts != nil && facts.Known && facts.Undecodable == "" && (facts.Named || r.Wrapped):
			found.add("-", "", "resource %d of %d has no name", i+1, n.Count)
		}
	}
	for it := range n.AddedOrChanged() {
		if f := it.Content.Facts; f.Known && f.Named && f.Name == "" && f.Undecodable == "" {
			found.add("inside", it.Name, "the payload of %q has no name", words.Clip(it.Name))
		}
	}
	found.report(x, Error)
}

// collectionEntry says whether a type is the element of a list collection,
// which has its name elsewhere.
func collectionEntry(typeURL string) bool {
	return strings.HasSuffix(typeURL, "CollectionEntry") || strings.HasSuffix(typeURL, "Collection")
}

func resourceNameMismatch(x *event) {
	switch x.sub.Type {
	case "LDS", "CDS", "RDS", "SRDS", "EDS", "SDS", "RTDS", "ECDS":
	default:
		return
	}
	var wrong, short flaws
	for it := range x.resp.AddedOrChanged() {
		f := it.Content.Facts
		if !f.Named || f.Name == "" || f.Name == it.Name || decode.NormalName(f.Name) == it.Name {
			continue
		}
		found, cause := &wrong, "-"
		if (x.sub.Type == "CDS" || x.sub.Type == "EDS") && isXDSTP(it.Name) && !isXDSTP(f.Name) {
			found, cause = &short, "short"
		}
		found.add(cause, it.Name, "resource %q calls itself %q", words.Clip(it.Name), words.Clip(f.Name))
	}
	wrong.report(x, Error)
	short.report(x, Info)
}

func isXDSTP(name string) bool { return strings.HasPrefix(name, "xdstp://") }

func versionReused(x *event) {
	s, n, c := x.sub, x.resp, contentOf(x.sub)
	if len(n.Changed) == 0 && len(s.Dropped) == 0 || s.Variants || x.foreign() {
		return
	}
	delta := n.Message.Kind == decode.DeltaResponse
	p := proof{severity: Info, cause: "-"}
	if delta || s.Full() {
		p.severity = Warning
	}
	version := "" // of the first one
	sure := false // one of them was compared after decoding
	reused := func(it *engine.Resource, now string, decoded bool) {
		if len(p.names) == 0 {
			version = now
		}
		p.names = append(p.names, it.Name)
		sure = sure || decoded && it.Content.Facts.Undecodable == ""
	}
	for i, it := range n.Changed {
		was := n.Before[i]
		if was.Content == nil || was.Stamp == x.k.Stamp { // not known, or in this response, too
			continue
		}
		now, old := it.Version, was.Version
		if !delta && s.Full() {
			now, old = n.Version, previousVersion(s)
		}
		// What the client brought from another stream is not held against
		// this one: the server may be another, or have begun to count anew.
		brought := s.Seeded && s.Kept.Get(it.Name) == was && (delta || !s.Full() || n.Ordinal == 0)
		if !brought && old != "" {
			x.k.Remember(&c.seen, s, it.Name, old, was.Content)
		}
		if now != "" && x.k.Reused(c.seen, it.Name, now, it.Content) {
			reused(it, now, was.Content.Facts.Undecodable == "")
		}
	}
	for _, it := range n.Added { // what the client gave up and has asked for again
		now, was := it.Version, s.Dropped[it.Name]
		if !delta && s.Full() {
			now = n.Version
		}
		if was.Here && now != "" && now == was.Version && it.Content.Facts.Hash != was.Hash {
			reused(it, now, was.Decoded)
		}
	}
	if len(p.names) == 0 {
		return
	}
	if !sure {
		p.severity = Info
	}
	p.message = fmt.Sprintf("%s changed, and the version is again %q", words.List(p.names), words.Clip(version))
	x.prove(p)
}

// previousVersion is that of the response before the newest.
func previousVersion(s *engine.Subscription) string {
	if len(s.Sent) < 2 {
		return ""
	}
	return s.Sent[len(s.Sent)-2].Version
}

func versionInfoEmpty(x *event) {
	n := x.resp
	if n.Message.Kind == decode.SotwResponse && n.Version == "" && !x.sub.Exempt() {
		x.provef(proof{severity: Warning, cause: "-"}, "response %d of %s has no version_info", n.Ordinal+1, x.sub.Type)
	}
}
