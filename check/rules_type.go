package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func adsTypeMissing(x *event) {
	if x.stream.ADS() && x.req.Message.TypeURL == "" && !x.again(Error, "-") {
		x.provef(proof{severity: Error, cause: "-"}, "no type_url in a request of %s", x.stream.Method.Name)
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
		x.provef(proof{severity: Error, cause: m.Name}, "a request for %s on %s", words.Clip(xds.TypeName(url)), m.Name)
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
		p.cause, p.message = "method", fmt.Sprintf("a response of %s on %s", words.Clip(xds.TypeName(url)), t.Method.Name)
	case t.Requests == 0:
		p.cause, p.message = "early", fmt.Sprintf("a response of %s before any request", words.Clip(xds.TypeName(url)))
	case s.Requests == 0:
		p.cause, p.message = "-", fmt.Sprintf("a response of %s, which was not asked for on this stream", words.Clip(xds.TypeName(url)))
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
	x.provef(proof{severity: Warning, cause: "requests", fault: ClientFault},
		"a request for %s, after one for version %d of it", xds.TypeName(x.req.Message.TypeURL), was)
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
				words.Clip(xds.TypeName(r.TypeURL)), words.Clip(xds.TypeName(cmp.Or(m.TypeURL, s.Type))))
			if r.TypeURL == "" {
				p.message = fmt.Sprintf("resource %d of %d does not say its type", i+1, n.Count)
			}
		}
		p.names = append(p.names, decode.NormalName(r.Name))
	}
	if p.message != "" {
		x.prove(p)
	}
}

func vhdsOverSotw(x *event) {
	sotw := x.req != nil && x.req.Message.Kind == decode.SotwRequest || x.resp != nil && x.resp.Message.Kind == decode.SotwResponse
	if sotw && x.sub.Type == "VHDS" && !x.again(Error, "-") {
		x.provef(proof{severity: Error, cause: "-"}, "virtual hosts over %s, which has none: they need delta", x.stream.Method.Name)
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
	for it := range x.resp.AddedOrChanged() {
		if strings.HasPrefix(it.Name, "xdstp:") {
			x.xdstp(&wrong, it.Name)
			// What is not escaped as it should be is so in the normal form.
			escaped = escaped || strings.Contains(it.Name, "%25")
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
		wrong.add("type", name, "the name %q is of another type than %s", words.Clip(name), words.Clip(xds.TypeName(url)))
	}
}
