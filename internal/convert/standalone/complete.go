package standalone

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// place is where in a resource something stands.
type place struct {
	of    string // the resource, as "TYPE name"
	field string // whose value it is, or of whose list an element
	depth int
}

func (p place) in(field string) place { return place{p.of, field, p.depth + 1} }

// maxDepth bounds how resources are put into each other.
const maxDepth = 200

// complete puts what was accepted in the place of every question in a tree. It
// returns false if the element has to be left out.
func (m *maker) complete(t *document.Tree, at place) bool {
	if at.depth > maxDepth {
		return true
	}
	switch {
	case strings.HasSuffix(word(t, "@type"), ".HttpConnectionManager"):
		m.routes(t, at)
	case has(t, "vhds"):
		m.virtualHosts(t)
	case has(t, "leds_cluster_locality_config"):
		m.locality(t, at)
	case has(t, "config_discovery"):
		if !m.extension(t, at) {
			return false
		}
	case has(t, "sds_config"):
		t.Members = without(t.Members, "sds_config")
		m.needs[word(t, "name")] = at.field
	case has(t, "odcds"):
		t.Members = without(t.Members, "odcds")
		m.note("%s looks clusters up on demand: those that were accepted are there, and no others", at.of)
	case has(t, "internal_listener"):
		m.internal = true
	case has(t, "lrs_server"):
		t.Members = without(t.Members, "lrs_server")
		m.note("%s reports its load: the bootstrap does not", at.of)
	case has(t, "google_re2"), has(t, "safe_regex"):
		m.regexes = true
	}
	for i := range t.Members {
		if n := &t.Members[i]; n.Value.Kind == document.Object || n.Value.Kind == document.Array {
			m.question(&n.Value, at.in(n.Name))
			m.complete(&n.Value, at.in(n.Name))
		}
	}
	kept := t.Items[:0]
	for i := range t.Items {
		m.question(&t.Items[i], at)
		if m.complete(&t.Items[i], at) {
			kept = append(kept, t.Items[i])
		}
	}
	t.Items = kept
	return true
}

// question says where a source of configuration is left.
func (m *maker) question(t *document.Tree, at place) {
	if t.Kind != document.Object || at.field == "eds_config" {
		return
	}
	for _, by := range []string{"ads", "self", "api_config_source", "path_config_source"} {
		if v, is := t.Get(by); is && v.Kind == document.Object {
			m.note("%s still asks somebody, by its %s: nothing that was accepted answers that", at.of, at.field)
		}
	}
}

// routes puts route tables into a connection manager.
func (m *maker) routes(t *document.Tree, at place) {
	if rds, is := t.Get("rds"); is {
		set(t, "rds", "route_config", m.table(word(rds, "route_config_name"), at))
	}
	scoped, is := t.Get("scoped_routes")
	if !is || !has(scoped, "scoped_rds") {
		return
	}
	all := document.Tree{Kind: document.Array}
	for _, name := range m.names("SRDS") {
		scope := m.copyOf("SRDS", name)
		if table := word(scope, "route_configuration_name"); table != "" {
			set(scope, "route_configuration_name", "route_configuration", m.table(table, at))
		}
		scope.Members = without(scope.Members, "on_demand")
		all.Items = append(all.Items, *scope)
	}
	set(scoped, "scoped_rds", "scoped_route_configurations_list", object(member{Name: "scoped_route_configurations", Value: all}))
	scoped.Members = without(scoped.Members, "rds_config_source")
}

// table is a route table. Where a client got it by RDS, a route may lead to a cluster
// that is not there.
func (m *maker) table(name string, at place) document.Tree {
	r := m.copyOf("RDS", name)
	if r == nil {
		m.note("%s needs RDS %q, which was not accepted: there are no routes", at.of, name)
		return object(member{Name: "name", Value: text(name)})
	}
	if !has(r, "validate_clusters") {
		r.Members = append(r.Members, member{Name: "validate_clusters", Value: document.Tree{Kind: document.Word, Text: "false"}})
	}
	return *r
}

// virtualHosts puts those that came on their own into their table.
func (m *maker) virtualHosts(t *document.Tree) {
	hosts := clone(*down(t, "virtual_hosts"))
	hosts.Kind = document.Array
	hosts.Items = append(hosts.Items, m.among("VHDS", word(t, "name"))...)
	t.Members = without(t.Members, "vhds", "virtual_hosts")
	if len(hosts.Items) > 0 {
		t.Members = append(t.Members, member{Name: "virtual_hosts", Value: hosts})
	}
}

// among are the resources of a collection, as the account has it.
func (m *maker) among(typ, collection string) (items []document.Tree) {
	in := engine.Collection(inspect.Ref{Type: typ, Name: collection})
	for _, name := range m.names(typ) {
		if in != nil && in(decode.NormalName(name)) {
			items = append(items, *m.copyOf(typ, name))
		}
	}
	return items
}

// locality puts the endpoints of a collection into their locality.
func (m *maker) locality(t *document.Tree, at place) {
	collection := decode.NormalName(word(down(t, "leds_cluster_locality_config"), "leds_collection_name"))
	all := document.Tree{Kind: document.Array, Items: m.among("LEDS", collection)}
	if len(all.Items) == 0 {
		m.note("%s needs LEDS %q, of which nothing was accepted: there are no endpoints", at.of, collection)
	}
	set(t, "leds_cluster_locality_config", "lb_endpoints", all)
}

// extension puts the configuration of a filter into it, or else its default.
func (m *maker) extension(t *document.Tree, at place) bool {
	name := word(t, "name")
	config := *down(t, "config_discovery", "default_config")
	if r := m.copyOf("ECDS", name); r != nil {
		config = *down(r, "typed_config")
	} else if len(config.Members) > 0 {
		m.note("%s needs ECDS %q, which was not accepted: its default is there", at.of, name)
	}
	switch {
	case at.field == "dynamic_config":
		m.note("%s has %q in a place where it cannot be but asked for", at.of, name)
		return true
	case len(config.Members) == 0:
		m.note("%s needs ECDS %q, which was not accepted: the filter is left out", at.of, name)
		return false
	}
	set(t, "config_discovery", "typed_config", config)
	return true
}

// cluster gives a cluster of EDS its endpoints.
func (m *maker) cluster(t *document.Tree, name string) {
	if word(t, "type") != "EDS" {
		return
	}
	if service := word(down(t, "eds_cluster_config"), "service_name"); service != "" {
		name = service
	}
	t.Members = without(t.Members, "eds_cluster_config", "load_assignment")
	at := m.copyOf("EDS", name)
	if at == nil {
		empty := object(member{Name: "cluster_name", Value: text(name)})
		at = &empty
		m.note("no endpoints %q were accepted: their cluster has none", name)
	}
	m.complete(at, place{of: "EDS " + name})
	kind := "STATIC"
	if named(at) {
		kind = "STRICT_DNS"
	}
	set(t, "type", "type", text(kind))
	t.Members = append(t.Members, member{Name: "load_assignment", Value: *at})
}

// named says whether an address is no IP.
func named(t *document.Tree) bool {
	if at, is := t.Get("socket_address"); is {
		if _, err := netip.ParseAddr(word(at, "address")); err != nil {
			return true
		}
	}
	for i := range t.Members {
		if named(&t.Members[i].Value) {
			return true
		}
	}
	return slices.ContainsFunc(t.Items, func(it document.Tree) bool { return named(&it) })
}
