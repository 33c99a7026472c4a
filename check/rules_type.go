package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const groupTypes = "Types and methods"

// typeRules look at type URLs.
func typeRules() []*Rule {
	return []*Rule{
		{
			ID: "ads-type-url-missing", Title: "an aggregated request without a type", Group: groupTypes,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "ADS",
			Spec:   "Basic Protocol Overview; type_url of discovery.proto",
			Means:  "All types share an aggregated stream, so each request has to say which one it is about. go-control-plane and Consul end the stream with INVALID_ARGUMENT.",
			Causes: "A client made for the services of a single type, where the method says it, that was pointed to the aggregated one.",
			Next:   "Fill type_url, or use the service of the type.",
			local:  true, request: adsTypeMissing,
		},
		{
			ID: "per-type-type-url-mismatch", Title: "a request for another type than the stream's", Group: groupTypes,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "per-type",
			Spec:   "RPC Services and Methods for Each Variant",
			Means:  "The method of the stream stands for one type, and the request names another. Servers answer with the type of the method, with nothing, or end the stream.",
			Causes: "A client that sends all of its types to one method, or a wrong service in a configuration written by hand.",
			Next:   "Use the method of the type, or the aggregated one.",
			local:  true, request: perTypeMismatch,
		},
		{
			ID: "response-type-unsubscribed", Title: "a response of a type that nobody asked for", Group: groupTypes,
			Fault: ServerFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:     "Aggregated Discovery Service",
			Means:    "The client has not asked for this type on this stream, or the response does not say its type. Envoy and gRPC drop it without a word, so the server waits in vain for a verdict.",
			Causes:   "A server that pushes all it has to every stream, or that remembers what the client asked for on an earlier stream. An empty type_url comes from a server that was tried with REST only.",
			Next:     "Let the server send what this stream has asked for, and set type_url in each response.",
			response: responseUnsubscribed,
		},
		{
			ID: "api-version-mixed", Title: "versions 2 and 3 of one type", Group: groupTypes,
			Fault: ServerFault, Severity: Warning, Confidence: Decided, Scope: "all",
			Spec:    "Transport API version; Resource Types",
			Means:   "One side speaks of the type in version 2 of the API and the other in version 3. A response has to be of the type that was asked for; most clients drop or reject the other.",
			Causes:  "A migration where server and client were not changed together: resource_api_version at the client and the type of the snapshot at the server differ (go-control-plane#301).",
			Next:    "Set resource_api_version: V3 at the client, and serve version 3. Current clients know no other.",
			request: versionAsked, response: versionAnswered,
		},
		{
			ID: "resource-type-mismatch", Title: "a resource of another type than its response", Group: groupTypes,
			Fault: ServerFault, Severity: Error, Confidence: Decided, Scope: "all, REST",
			Spec:   "Resource Types",
			Means:  "The response says one type and carries a resource of another. Envoy rejects all of the response for it.",
			Causes: "Resources put into the wrong list of a snapshot, an Any that was packed twice, or a type URL written by hand that is not that of the message.",
			Next:   "Look at the entry with show: the resource that is named has its own type beside it.",
			polls:  true, local: true, response: resourceTypeMismatch,
		},
		{
			ID: "vhds-over-sotw", Title: "virtual hosts in the state of the world", Group: groupTypes,
			Fault: ConfigFault, Severity: Error, Confidence: Decided, Scope: "SotW",
			Spec:   "RPC Services and Methods for Each Variant",
			Means:  "Virtual hosts on demand exist in the delta variant only. Over this stream they are not served, so routes that rely on them match nothing.",
			Causes: "vhds in a route configuration, with a config source of api_type GRPC or AGGREGATED_GRPC.",
			Next:   "Use DELTA_GRPC or AGGREGATED_DELTA_GRPC, or put the virtual hosts into the route configuration.",
			local:  true, request: vhdsOverSotw, response: vhdsOverSotw,
		},
		{
			ID: "xdstp-type-mismatch", Title: "an xdstp name that does not fit", Group: groupTypes,
			Fault: SenderFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:   "Resource names; xRFC TP1; gRFC A47",
			Means:  "A name of the form xdstp://authority/type/id carries its type. This one is used for another type, or does not have the form. Clients do not find it, or reject it.",
			Causes: "A template for names in the bootstrap that was written for another type, or a character that has to be escaped (%20 for a space).",
			Next:   "Compare the part behind the authority with the type_url. Names that do not begin with xdstp: are free.",
			local:  true, request: xdstpAsked, response: xdstpSent,
		},
	}
}

func adsTypeMissing(x *event) {
	if x.stream.ADS() && x.req.Message.TypeURL == "" && !x.again(Error, "-") {
		x.prove(proof{severity: Error, cause: "-", message: fmt.Sprintf("no type_url in a request of %s", x.stream.Method.Name)})
	}
}

// ofMethod says whether a type URL may be used with the method of a stream.
// The element and the list collection of a type share its service.
func ofMethod(m xds.Method, typeURL string) bool {
	return m.Type == "" || xds.ShortType(strings.TrimSuffix(typeURL, "Collection")) == m.Type
}

func perTypeMismatch(x *event) {
	m := x.stream.Method
	if url := x.req.Message.TypeURL; url != "" && !ofMethod(m, url) && !x.again(Error, m.Name) {
		x.prove(proof{severity: Error, cause: m.Name, message: fmt.Sprintf("a request for %s on %s", clip(xds.TypeName(url)), m.Name)})
	}
}

func responseUnsubscribed(x *event) {
	t, s := x.stream, x.sub
	if s.Exempt() {
		return
	}
	p := proof{severity: Error}
	url := x.resp.Message.TypeURL
	switch {
	case url == "":
		p.cause, p.message = "empty", "a response without a type_url"
	case !ofMethod(t.Method, url):
		p.cause, p.message = "method", fmt.Sprintf("a response of %s on %s", clip(xds.TypeName(url)), t.Method.Name)
	case t.Requests == 0:
		p.cause, p.message = "early", fmt.Sprintf("a response of %s before any request", clip(xds.TypeName(url)))
	case s.Requests == 0:
		p.cause, p.message = "-", fmt.Sprintf("a response of %s, which was not asked for on this stream", clip(xds.TypeName(url)))
	default:
		return
	}
	if !x.again(Error, p.cause) {
		x.prove(p)
	}
}

// apiVersion is the version of the API that a type URL is of, 0 if it is of
// neither.
type apiVersion uint8

func versionOf(typeURL string) apiVersion {
	name := xds.TypeName(typeURL)
	switch {
	case strings.HasPrefix(name, "envoy.api.v2."), strings.HasPrefix(name, "envoy.service.discovery.v2."):
		return 2
	case strings.HasPrefix(name, "envoy.") && strings.Contains(name, ".v3."):
		return 3
	}
	return 0
}

func versionAsked(x *event) {
	s, v := x.sub, versionOf(x.req.Message.TypeURL)
	if v == 0 {
		return
	}
	was := *askedOf(s)
	if *askedOf(s) = v; was == 0 || was == v || x.again(Warning, "requests") {
		return
	}
	x.prove(proof{
		severity: Warning, cause: "requests", fault: ClientFault,
		message: fmt.Sprintf("a request for %s, after one for version %d of it", xds.TypeName(x.req.Message.TypeURL), was),
	})
}

func versionAnswered(x *event) {
	s, v := x.sub, versionOf(x.resp.Message.TypeURL)
	if v == 0 || *askedOf(s) == 0 || *askedOf(s) == v || v == 3 && x.stream.TakesBoth() || x.again(Warning, "-") {
		return
	}
	p := proof{
		severity: Warning, cause: "-",
		message: fmt.Sprintf("a response of %s to a request for version %d of it", xds.TypeName(x.resp.Message.TypeURL), *askedOf(s)),
	}
	if s.Last != nil {
		p.seqs = []session.Seq{s.Last.Seq, x.resp.Seq}
	}
	x.prove(p)
}

func resourceTypeMismatch(x *event) {
	s, n := x.sub, x.resp
	m := n.Message
	if n.Typed == 0 || s.Exempt() || !s.Facts.Envoy || x.stream.Method.Variant == xds.VariantFile {
		return
	}
	fits := func(url string) bool {
		if m.TypeURL == "" {
			return ofMethod(x.stream.Method, url)
		}
		return xds.TypeName(url) == xds.TypeName(m.TypeURL)
	}
	if len(n.Odd) == 0 && fits(m.Resources[n.Typed-1].TypeURL) || x.again(Error, "-") {
		return
	}
	p := proof{severity: Error, cause: "-"}
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Empty || fits(r.TypeURL) {
			continue
		}
		if p.message == "" {
			p.message = fmt.Sprintf("resource %d of %d is of type %s, in a response of %s", i+1, n.Count,
				clip(xds.TypeName(r.TypeURL)), clip(xds.TypeName(cmp.Or(m.TypeURL, s.Type))))
			if r.TypeURL == "" {
				p.message = fmt.Sprintf("resource %d of %d does not say its type", i+1, n.Count)
			}
		}
		if p.names = append(p.names, decode.NormalName(r.Name)); len(p.names) >= maxFindingNames {
			break
		}
	}
	if p.message != "" {
		x.prove(p)
	}
}

func vhdsOverSotw(x *event) {
	sotw := x.req != nil && x.req.Message.Kind == decode.SotwRequest || x.resp != nil && x.resp.Message.Kind == decode.SotwResponse
	if sotw && x.sub.Type == "VHDS" && !x.again(Error, "-") {
		x.prove(proof{severity: Error, cause: "-", message: fmt.Sprintf("virtual hosts over %s, which has none: they need delta", x.stream.Method.Name)})
	}
}

// xdstpAsked looks at the names that a request adds, as they were sent.
func xdstpAsked(x *event) {
	var wrong flaws
	for _, name := range x.change.Added {
		x.xdstp(&wrong, name)
	}
	x.blame(&wrong, ClientFault)
}

func xdstpSent(x *event) {
	var wrong flaws
	escaped := false
	for _, list := range [][]*engine.Resource{x.resp.Added, x.resp.Changed} {
		for _, it := range list {
			if strings.HasPrefix(it.Name, "xdstp:") {
				x.xdstp(&wrong, it.Name)
				// What is not escaped as it should be is so in the normal form.
				escaped = escaped || strings.Contains(it.Name, "%25")
			}
		}
	}
	if escaped {
		for i := range x.resp.Message.Resources {
			x.xdstp(&wrong, x.resp.Message.Resources[i].Name)
		}
	}
	x.blame(&wrong, ServerFault)
}

// blame reports what one side did wrong.
func (x *event) blame(found *flaws, fault Fault) {
	for _, cause := range found.causes {
		p := found.by[cause]
		p.severity, p.fault, p.cause = Error, fault, string(fault)+" "+cause
		x.prove(*p)
	}
}

// xdstp notes what is wrong with one name.
func (x *event) xdstp(wrong *flaws, name string) {
	if !strings.HasPrefix(name, "xdstp:") {
		return
	}
	typ, _, err := decode.NameType(name)
	if err != nil {
		wrong.add("form", name, "%v", err)
		return
	}
	url := x.sub.URL
	if url == "" {
		url = x.stream.Method.Type
	}
	if url == "" || typ == xds.TypeName(url) {
		return
	}
	of := xds.ShortType(strings.TrimSuffix(typ, "Collection"))
	if of != xds.ShortType(strings.TrimSuffix(url, "Collection")) {
		wrong.add("type", name, "the name %q is of another type than %s", clip(name), clip(xds.TypeName(url)))
	}
}
