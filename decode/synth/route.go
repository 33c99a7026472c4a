package synth

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
)

func (m *maker) routes() proto.Message {
	c := m.routeConfig(m.name, m.label)
	if m.r.Refs.VHDS {
		c.Vhds = &routev3.Vhds{ConfigSource: m.source()}
	}
	return c
}

func (m *maker) routeConfig(name, label string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name: name, VirtualHosts: []*routev3.VirtualHost{m.host("all")}, ResponseHeadersToAdd: header(label),
	}
}

func (m *maker) virtualHost() proto.Message {
	h := m.host(m.name)
	h.ResponseHeadersToAdd = header(m.label)
	return h
}

// host sends a path to each cluster, the rest to the last one. Without clusters
// it answers itself.
func (m *maker) host(name string) *routev3.VirtualHost {
	h := &routev3.VirtualHost{Name: name, Domains: []string{"*"}}
	for i, cluster := range m.r.Refs.Clusters {
		prefix := "/"
		if i < len(m.r.Refs.Clusters)-1 {
			prefix += numbered("part", i)
		}
		h.Routes = append(h.Routes, &routev3.Route{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			}},
		})
	}
	if len(h.Routes) == 0 {
		h.Routes = append(h.Routes, &routev3.Route{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}},
		})
	}
	h.Routes[0].Metadata = m.metadata()
	if m.r.Invalid {
		h.Domains = nil // at least one
	}
	return h
}

// header carries the content of what has no better place for it.
func header(label string) []*corev3.HeaderValueOption {
	if label == "" {
		return nil
	}
	return []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-content", Value: label}}}
}

// scope takes its content from the name of the route configuration, because
// nothing else in it may differ.
func (m *maker) scope() proto.Message {
	key := m.r.ScopeKey
	if key == "" {
		key = m.name
	}
	s := &routev3.ScopedRouteConfiguration{
		Name:                   m.name,
		RouteConfigurationName: "routes/" + m.label + m.pad(),
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: key},
		}}},
	}
	if len(m.r.Refs.Routes) > 0 {
		s.RouteConfigurationName = m.r.Refs.Routes[0]
	}
	if m.r.Invalid {
		s.Key.Fragments = nil // at least one
	}
	return s
}
