package diff

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// listRule says what is special about the lists of one field.
type listRule struct {
	// set says that order means nothing.
	set bool
	// alike are paths of members by which an item is found again that no name
	// tells from others.
	alike []keyPart
	// key are paths of members by which an item is found again in the other
	// version, all of them together. Without any, items have one of nameKeys.
	key []keyPart
}

// keyPart is one member of a key, and how a person calls it.
type keyPart struct {
	path  []string
	label string
}

// nameKeys are the members by which items of any list are found again, if no
// two in a list have the same: the first of them that an item has.
var nameKeys = keyParts("name cluster_name cluster_header resource_name filter_name key id header.key @type")

// A list is ordered unless it stands here. Filter chains, filters, routes and
// virtual clusters have an order that Envoy follows, and so have lists of
// preference, such as ALPN protocols, cipher suites and hash policies.
//
// The columns: the messages without "envoy." (of version 3, then of version 2),
// the field, the key if it is none of nameKeys, and why order means nothing.
var lists = listTable([][4]string{
	// service/discovery/v3/discovery.proto: names and resources are sets, see
	// "The xDS transport protocol", "Resource types" and "How the client
	// specifies what resources to return".
	{"service.discovery.v3.DiscoveryResponse api.v2.DiscoveryResponse", "resources", "", "found by name"},
	{"service.discovery.v3.DiscoveryResponse", "resource_errors", "resource_name.name", "found by name"},
	{"service.discovery.v3.DiscoveryRequest api.v2.DiscoveryRequest", "resource_names", "", "a set of names"},
	{"service.discovery.v3.DiscoveryRequest", "resource_locators", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryRequest api.v2.DeltaDiscoveryRequest", "resource_names_subscribe", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryRequest api.v2.DeltaDiscoveryRequest", "resource_names_unsubscribe", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryRequest", "resource_locators_subscribe", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryRequest", "resource_locators_unsubscribe", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryResponse api.v2.DeltaDiscoveryResponse", "resources", "", "found by name"},
	{"service.discovery.v3.DeltaDiscoveryResponse api.v2.DeltaDiscoveryResponse", "removed_resources", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryResponse", "removed_resource_names", "", "a set of names"},
	{"service.discovery.v3.DeltaDiscoveryResponse", "resource_errors", "resource_name.name", "found by name"},
	{"service.discovery.v3.Resource api.v2.Resource", "aliases", "", "a set of names"},
	{"config.core.v3.Node api.v2.core.Node", "extensions", "", "what the node supports"},
	{"config.core.v3.Node api.v2.core.Node", "client_features", "", "what the node supports"},
	{"config.core.v3.Node api.v2.core.Node", "listening_addresses", "", "what the node has"},

	// config/endpoint/v3: "One can have multiple LocalityLbEndpoints for a
	// locality, but only if they have different priorities"; hosts are picked
	// by priority, locality and weight.
	{"config.endpoint.v3.ClusterLoadAssignment api.v2.ClusterLoadAssignment", "endpoints", "locality priority", "picked by priority, locality and weight"},
	{"config.endpoint.v3.LocalityLbEndpoints api.v2.endpoint.LocalityLbEndpoints", "lb_endpoints", "endpoint.address", "picked by weight"},
	{"config.endpoint.v3.LocalityLbEndpoints.LbEndpointList", "lb_endpoints", "endpoint.address", "picked by weight"},

	// config/route/v3: a virtual host is chosen by its most specific domain,
	// "a domain must be unique across all virtual hosts"; of matchers all must
	// match, of what allows a retry or an origin any.
	{"config.route.v3.RouteConfiguration api.v2.RouteConfiguration", "virtual_hosts", "", "chosen by domain"},
	{"config.route.v3.RouteConfiguration api.v2.RouteConfiguration", "internal_only_headers", "", "each is removed"},
	{"config.route.v3.RouteConfiguration api.v2.RouteConfiguration", "request_headers_to_remove", "", "each is removed"},
	{"config.route.v3.RouteConfiguration api.v2.RouteConfiguration", "response_headers_to_remove", "", "each is removed"},
	{"config.route.v3.RouteConfiguration", "cluster_specifier_plugins", "extension.name", "found by name"},
	{"config.route.v3.VirtualHost api.v2.route.VirtualHost", "domains", "", "the longest match wins"},
	{"config.route.v3.VirtualHost api.v2.route.VirtualHost", "request_headers_to_remove", "", "each is removed"},
	{"config.route.v3.VirtualHost api.v2.route.VirtualHost", "response_headers_to_remove", "", "each is removed"},
	{"config.route.v3.Route api.v2.route.Route", "request_headers_to_remove", "", "each is removed"},
	{"config.route.v3.Route api.v2.route.Route", "response_headers_to_remove", "", "each is removed"},
	{"config.route.v3.RouteMatch api.v2.route.RouteMatch", "headers", "", "all must match"},
	{"config.route.v3.RouteMatch api.v2.route.RouteMatch", "query_parameters", "", "all must match"},
	{"config.route.v3.RouteMatch", "cookies", "", "all must match"},
	{"config.route.v3.RouteMatch", "dynamic_metadata", "", "all must match"},
	{"config.route.v3.RouteMatch", "filter_state", "", "all must match"},
	{"config.route.v3.WeightedCluster api.v2.route.WeightedCluster", "clusters", "", "picked by weight"},
	{"config.route.v3.WeightedCluster.ClusterWeight api.v2.route.WeightedCluster.ClusterWeight", "request_headers_to_remove", "", "each is removed"},
	{"config.route.v3.WeightedCluster.ClusterWeight api.v2.route.WeightedCluster.ClusterWeight", "response_headers_to_remove", "", "each is removed"},
	{"config.route.v3.RouteAction api.v2.route.RouteAction", "upgrade_configs", "upgrade_type", "found by type"},
	{"config.route.v3.CorsPolicy api.v2.route.CorsPolicy", "allow_origin_string_match", "", "any may match"},
	{"config.route.v3.RetryPolicy api.v2.route.RetryPolicy", "retriable_status_codes", "", "any may match"},
	{"config.route.v3.RetryPolicy api.v2.route.RetryPolicy", "retriable_headers", "", "any may match"},
	{"config.route.v3.RetryPolicy api.v2.route.RetryPolicy", "retriable_request_headers", "", "any may match"},
	{"config.route.v3.InternalRedirectPolicy", "redirect_response_codes", "", "any may match"},
	{"config.route.v3.VirtualCluster api.v2.route.VirtualCluster", "headers", "", "all must match"},
	{"extensions.filters.http.cors.v3.CorsPolicy", "allow_origin_string_match", "", "any may match"},
	{"extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "upgrade_configs", "upgrade_type", "found by type"},

	// config/listener/v3: each criterion is satisfied by one of its values.
	{"config.listener.v3.FilterChainMatch api.v2.listener.FilterChainMatch", "prefix_ranges", "", "any may match"},
	{"config.listener.v3.FilterChainMatch", "direct_source_prefix_ranges", "", "any may match"},
	{"config.listener.v3.FilterChainMatch api.v2.listener.FilterChainMatch", "source_prefix_ranges", "", "any may match"},
	{"config.listener.v3.FilterChainMatch api.v2.listener.FilterChainMatch", "source_ports", "", "any may match"},
	{"config.listener.v3.FilterChainMatch api.v2.listener.FilterChainMatch", "server_names", "", "any may match"},
	{"config.listener.v3.FilterChainMatch api.v2.listener.FilterChainMatch", "application_protocols", "", "any may match"},

	// config/cluster/v3: the keys of a subset are looked up, all of them.
	{"config.cluster.v3.Cluster.LbSubsetConfig.LbSubsetSelector api.v2.Cluster.LbSubsetConfig.LbSubsetSelector", "keys", "", "a set of keys"},
	{"config.cluster.v3.Cluster.LbSubsetConfig.LbSubsetSelector", "fallback_keys_subset", "", "a set of keys"},
	{"config.core.v3.HealthCheck.HttpHealthCheck api.v2.core.HealthCheck.HttpHealthCheck", "expected_statuses", "", "any may match"},
	{"config.core.v3.HealthCheck.HttpHealthCheck", "retriable_statuses", "", "any may match"},
	{"config.core.v3.HealthCheck.HttpHealthCheck api.v2.core.HealthCheck.HttpHealthCheck", "request_headers_to_remove", "", "each is removed"},
	{"config.core.v3.HealthStatusSet", "statuses", "", "\"an order-independent set\""},

	// extensions/transport_sockets/tls/v3/common.proto: a certificate needs one
	// of the names, and one of the hashes.
	{"extensions.transport_sockets.tls.v3.CertificateValidationContext api.v2.auth.CertificateValidationContext", "verify_certificate_spki", "", "any may match"},
	{"extensions.transport_sockets.tls.v3.CertificateValidationContext api.v2.auth.CertificateValidationContext", "verify_certificate_hash", "", "any may match"},
	{"extensions.transport_sockets.tls.v3.CertificateValidationContext", "match_typed_subject_alt_names", "", "any may match"},
	{"extensions.transport_sockets.tls.v3.CertificateValidationContext api.v2.auth.CertificateValidationContext", "match_subject_alt_names", "", "any may match"},

	// config/rbac/v3: "matched with OR semantics"; sets are AND or OR.
	{"config.rbac.v3.Policy config.rbac.v2.Policy", "permissions", "", "any may match"},
	{"config.rbac.v3.Policy config.rbac.v2.Policy", "principals", "", "any may match"},
	{"config.rbac.v3.Permission.Set config.rbac.v2.Permission.Set", "rules", "", "all or any must match"},
	{"config.rbac.v3.Principal.Set config.rbac.v2.Principal.Set", "ids", "", "all or any must match"},

	{"extensions.filters.http.jwt_authn.v3.JwtProvider config.filter.http.jwt_authn.v2alpha.JwtProvider", "audiences", "", "any may match"},
})

// matchers are the fields, without "envoy.", whose items say first when they
// count, and then what to do: one of which only that has changed is the same.
// Their order counts.
var matchers = map[string]string{
	"config.route.v3.VirtualHost.routes":        "match",
	"api.v2.route.VirtualHost.routes":           "match",
	"config.listener.v3.Listener.filter_chains": "filter_chain_match",
	"api.v2.Listener.filter_chains":             "filter_chain_match",
}

func listTable(rows [][4]string) map[protoreflect.FullName]*listRule {
	out := make(map[protoreflect.FullName]*listRule)
	for _, row := range rows {
		rule := &listRule{set: true, key: keyParts(row[2])}
		for message := range strings.FieldsSeq(row[0]) {
			out[protoreflect.FullName("envoy."+message+"."+row[1])] = rule
		}
	}
	for field, by := range matchers {
		out[protoreflect.FullName("envoy."+field)] = &listRule{alike: keyParts(by)}
	}
	return out
}

func keyParts(paths string) []keyPart {
	var out []keyPart
	for p := range strings.FieldsSeq(paths) {
		names := strings.Split(p, ".")
		out = append(out, keyPart{names, names[len(names)-1]})
	}
	return out
}
