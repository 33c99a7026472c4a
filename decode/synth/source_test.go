package synth

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// A config source says where it is asked for, and how: REST names clusters and
// when to ask again, gRPC a service.
func TestSources(t *testing.T) {
	for from, want := range map[string]corev3.ApiConfigSource_ApiType{"grpc": corev3.ApiConfigSource_GRPC, "delta-grpc": corev3.ApiConfigSource_DELTA_GRPC, "rest": corev3.ApiConfigSource_REST} {
		m := &maker{r: &Resource{Refs: Refs{Source: from}}}
		s := m.source()
		c := s.GetApiConfigSource()
		rest := from == "rest"
		if c.GetApiType() != want || (len(c.GetClusterNames()) == 1) != rest || (c.GetRefreshDelay().GetSeconds() == 1) != rest || (len(c.GetGrpcServices()) == 1) == rest {
			t.Errorf("%s: %v", from, s)
		}
		if s.GetResourceApiVersion() != corev3.ApiVersion_V3 || c.GetTransportApiVersion() != corev3.ApiVersion_V3 {
			t.Errorf("%s is not of version 3: %v", from, s)
		}
		m.v2 = true
		if s := m.source(); s.GetResourceApiVersion() != 0 || s.GetApiConfigSource().GetTransportApiVersion() != 0 {
			t.Errorf("%s of version 2 says %v", from, s)
		}
	}
	for from, is := range map[string]func(*corev3.ConfigSource) bool{
		"":     func(s *corev3.ConfigSource) bool { return s.GetAds() != nil },
		"ads":  func(s *corev3.ConfigSource) bool { return s.GetAds() != nil },
		"self": func(s *corev3.ConfigSource) bool { return s.GetSelf() != nil },
		"path": func(s *corev3.ConfigSource) bool { return s.GetPathConfigSource().GetPath() != "" },
	} {
		m := &maker{r: &Resource{Refs: Refs{Source: from}}}
		if s := m.source(); !is(s) {
			t.Errorf("%q: %v", from, s)
		}
	}
}
