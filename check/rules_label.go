package check

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// labelRules look at the names and versions that responses and resources carry.
func labelRules() []*Rule {
	return []*Rule{
		{
			ID: "delta-resource-without-version", Title: "resources without versions", Group: groupContent,
			Fault: ServerFault, Severity: Info, Confidence: Decided, Scope: "Delta",
			Spec:   "Incremental xDS",
			Means:  "A delta client that reconnects lists the versions that it has, so that the server sends only what is new. Where resources have none, every reconnect transfers everything. With a TTL it is worse: a heartbeat finds its resource by the version.",
			Causes: "istiod gives versions to its workload types only. Other servers may have put the version into system_version_info, which clients do not read.",
			Next:   "Nothing, if reconnects are cheap enough. Otherwise a hash of the content makes a good version.",
			local:  true, response: deltaWithoutVersion,
		},
		{
			ID: "resource-name-missing", Title: "a resource without a name, or with two", Group: groupContent,
			Fault: ServerFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:   "Resource names",
			Means:  "Nobody can say which subscription the resource belongs to. Clients reject the response, or file the resource under the empty name.",
			Causes: "A delta server that leaves Resource.name empty because the payload has the name already, an object without a name among the server's sources, or one that fills name and resource_name both.",
			Next:   "In delta set Resource.name to the name that the client subscribes to, whatever the payload says. Fill one of name and resource_name.",
			local:  true, response: resourceNameMissing,
		},
		{
			ID: "resource-name-mismatch", Title: "a resource is called differently outside and inside", Group: groupContent,
			Fault: ServerFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:   "Resource names",
			Means:  "The envelope says one name and the payload another. The client files the resource under the first, and the configuration that it then checks or looks up has the second. Envoy rejects such a secret, for one.",
			Causes: "Payloads that are shared under several names, or names that are made differently in two places of the server.",
			Next:   "Use the payload's own name in the envelope. For clusters and endpoints under xdstp:// names a short name inside is customary, and only noted.",
			local:  true, response: resourceNameMismatch,
		},
		{
			ID: "version-reused-for-new-content", Title: "new content under an old version", Group: groupContent,
			Fault: ServerFault, Severity: Warning, Confidence: Guessed, Scope: "all",
			Spec:     "ACK/NACK and resource type instance version",
			Means:    "A resource changed and its version did not. A client that compares versions keeps the old content, and one that reconnects is told that it is up to date.",
			Causes:   "A version that is derived from something else than the content: the generation of one object of several that it is made from, or a counter that is not counted up.",
			Next:     "Compare both entries with show; the resource that differs is named. Derive the version from the bytes that are sent.",
			response: versionReused,
		},
		{
			ID: "version-info-empty", Title: "a response without a version", Group: groupContent,
			Fault: ServerFault, Severity: Warning, Confidence: Decided, Scope: "SotW",
			Spec:   "ACK/NACK and resource type instance version",
			Means:  "The client repeats the version of what it accepted. If that is empty, its ACK says the same as if it had nothing, and so does its first request after a reconnect.",
			Causes: "A server whose version for \"nothing yet\" is the empty string (go-control-plane's LinearCache without a prefix has none to start with), or one that was written for delta, where this field is for debugging only.",
			Next:   "Let the server give every state a version, the empty one too.",
			local:  true, response: versionInfoEmpty,
		},
	}
}

func deltaWithoutVersion(x *event) {
	n, c := x.resp, contentOf(x.sub)
	if n.Message.Kind != decode.DeltaResponse || c.told > Warning || x.foreign() {
		return
	}
	p := proof{severity: Info, cause: "-"}
	without := 0
	note := func(name string) {
		if without++; len(p.names) < maxFindingNames {
			p.names = append(p.names, name)
		}
	}
	for _, i := range n.Timed {
		if r := &n.Message.Resources[i]; r.Version == "" && !r.Empty {
			p.severity = Warning
			note(decode.NormalName(r.Name))
		}
	}
	if p.severity == Info {
		for _, list := range [][]*engine.Resource{n.Added, n.Changed} {
			for _, it := range list {
				if it.Version == "" {
					note(it.Name)
				}
			}
		}
	}
	if without == 0 || c.told > p.severity {
		return
	}
	c.told = p.severity + 1
	p.message = fmt.Sprintf("%s without a version, such as %q", counted(without, "resource", "resources"), clip(p.names[0]))
	if p.severity == Warning {
		p.message = fmt.Sprintf("%s with a TTL and without a version, such as %q", counted(without, "resource", "resources"), clip(p.names[0]))
	}
	x.prove(p)
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
			found.add("both", r.Name, "resource %d of %d, %q, has both name and resource_name", i+1, n.Count, clip(r.Name))
		case collectionEntry(r.TypeURL), r.Empty && len(r.Aliases) > 0:
		case n.Message.Kind == decode.DeltaResponse && r.Name != "":
			found.add("-", r.Name, "the envelope of resource %d of %d has no name; its payload says %q", i+1, n.Count, clip(r.Name))
		case n.Message.Kind == decode.DeltaResponse, r.Wrapped && r.Empty,
			facts != nil && facts.Known && facts.Undecodable == "" && (facts.Named || r.Wrapped):
			found.add("-", "", "resource %d of %d has no name", i+1, n.Count)
		}
	}
	for _, list := range [][]*engine.Resource{n.Added, n.Changed} {
		for _, it := range list {
			if f := it.Content.Facts; f.Known && f.Named && f.Name == "" && f.Undecodable == "" {
				found.add("inside", it.Name, "the payload of %q has no name", clip(it.Name))
			}
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
	for _, list := range [][]*engine.Resource{x.resp.Added, x.resp.Changed} {
		for _, it := range list {
			f := it.Content.Facts
			if !f.Named || f.Name == "" || f.Name == it.Name || decode.NormalName(f.Name) == it.Name {
				continue
			}
			found, cause := &wrong, "-"
			if (x.sub.Type == "CDS" || x.sub.Type == "EDS") && isXDSTP(it.Name) && !isXDSTP(f.Name) {
				found, cause = &short, "short"
			}
			found.add(cause, it.Name, "resource %q calls itself %q", clip(it.Name), clip(f.Name))
		}
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
		had := c.seen[it.Name]
		if !brought && old != "" {
			had = x.remember(c, had, it.Name, x.editionOf(old, was.Content))
		}
		if now != "" && had.other(x.editionOf(now, it.Content)) {
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
	p.message = fmt.Sprintf("%s changed, and the version is again %q", list(p.names), clip(version))
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
		x.prove(proof{
			severity: Warning, cause: "-",
			message: fmt.Sprintf("response %d of %s has no version_info", n.Ordinal+1, x.sub.Type),
		})
	}
}
