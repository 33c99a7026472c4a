package origin

import (
	"bytes"
	"strings"
)

// system is what one control plane writes into the filter_metadata of what it
// makes: under a key, or under every key with a prefix, a Struct.
type system struct {
	name        string
	key, prefix string
	// read tells the sources that stand in the Struct.
	read func(at *place, key string, s fields, yield func(Source))
}

// place is where metadata was found.
type place struct {
	name []byte // of the cluster, route, … that has it
}

// systems are those that are known, by their own code.
//
// Others say nothing on the wire: Consul's agent/xds and Cilium's
// operator/pkg/model/translation write no metadata about their objects.
var systems = [...]system{
	// envoyproxy/gateway, internal/xds/translator/metadata.go: resources and
	// policies, each with kind, name and namespace, and sectionName.
	{name: envoyGateway, key: "envoy-gateway", read: readEnvoyGateway},
	// istio/istio, pilot/pkg/networking/util/util.go, AddConfigInfoMetadata:
	// config is /apis/GROUP/VERSION/namespaces/NAMESPACE/KIND/NAME, and
	// pilot/pkg/networking/core/cluster.go, buildServiceMetadata: services.
	{name: istio, key: "istio", read: readIstio},
	// projectcontour/contour, internal/envoy/v3/route.go, getRouteMetadata: for
	// access logs, of each route.
	{name: contour, key: "envoy.access_loggers.file", read: readContour},
	// kgateway-dev/kgateway, pkg/pluginsdk/ir, MergeOrigins in merge.go and
	// AttachedPolicyRef.ID: the policies of which each field of a merged one
	// comes, under merge.KIND.GROUP, each as GROUP/KIND/NAMESPACE/NAME.
	{name: kgateway, prefix: "merge.", read: readKgateway},
}

// anySystem says whether the key of a system stands anywhere in a body.
func anySystem(body []byte) bool {
	for i := range systems {
		if bytes.Contains(body, []byte(systems[i].key+systems[i].prefix)) {
			return true
		}
	}
	return false
}

// The names of the systems.
const (
	envoyGateway = "Envoy Gateway"
	istio        = "Istio"
	contour      = "Contour"
	kgateway     = "kgateway"
	consul       = "Consul"
	cilium       = "Cilium"
)

func readEnvoyGateway(at *place, _ string, s fields, yield func(Source)) {
	var by Source
	if len(at.name) <= 4*maxText {
		by, _ = envoyGatewayRule(string(at.name))
	}
	for _, list := range [...]string{"resources", "policies"} {
		s.list(list, func(v val) {
			o, is := v.object()
			if !is {
				return
			}
			found := Source{Kind: o.text("kind"), Namespace: o.text("namespace"), Name: o.text("name"), Section: o.text("sectionName")}
			// The name of what is made of a rule has its number, and is fact where
			// both tell of the same object.
			if by.Kind == found.Kind && by.Namespace == found.Namespace && by.Name == found.Name {
				found.Rule = by.Rule
			}
			yield(found)
		})
	}
}

func readIstio(_ *place, _ string, s fields, yield func(Source)) {
	// "/apis/networking.istio.io/v1/namespaces/default/virtual-service/web"
	if p := strings.Split(s.text("config"), "/"); len(p) == 8 && p[0] == "" && p[1] == "apis" && p[4] == "namespaces" {
		yield(Source{Kind: fromKebab(p[6]), Namespace: p[5], Name: p[7]})
	}
	s.list("services", func(v val) {
		o, is := v.object()
		if !is {
			return
		}
		found := Source{Kind: "Service", Namespace: o.text("namespace"), Name: o.text("name")}
		if found.Name == o.text("host") {
			found.Kind = "" // of a ServiceEntry, or of another registry
		}
		yield(found)
	})
}

func readContour(_ *place, _ string, s fields, yield func(Source)) {
	yield(Source{
		Kind: s.text("io.projectcontour.kind"), Namespace: s.text("io.projectcontour.namespace"), Name: s.text("io.projectcontour.name"),
	})
}

func readKgateway(_ *place, key string, s fields, yield func(Source)) {
	kind, group, is := strings.Cut(strings.TrimPrefix(key, "merge."), ".")
	if !is {
		return
	}
	s.each(func(_ []byte, v val) {
		v.items(func(v val) {
			if p := strings.Split(v.text(), "/"); len(p) == 4 && p[0] == group && p[1] == kind {
				yield(Source{Kind: kind, Namespace: p[2], Name: p[3]})
			}
		})
	})
}

// fromKebab is the kind that Istio wrote in small letters with dashes:
// pkg/config/schema/gvk, KebabKind.
func fromKebab(kind string) string {
	words := strings.Split(kind, "-")
	for i, w := range words {
		switch w {
		case "http", "grpc", "tcp", "tls", "udp":
			words[i] = strings.ToUpper(w)
		case "":
		default:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
