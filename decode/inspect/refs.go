package inspect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Ref is a resource that another refers to.
type Ref struct {
	// Type is the short type: CDS, EDS, RDS, SDS, ECDS, SRDS, VHDS or LEDS.
	Type string
	// Name is the name to ask for. A listener whose scopes come as a collection
	// asks for SRDS with the locator of the collection, else without a name.
	// Of VHDS it is the name of the route configuration: those of its virtual
	// hosts begin with it and a slash.
	Name   string
	Source Source
	Use    Use
	// Default says that there is a configuration to go on without it, or that
	// it is fetched ahead only.
	Default bool
}

// Source is where a resource is to be had.
type Source uint8

const (
	// SourceNone is for what names a resource without saying where it is from:
	// clusters, the routes of a scope, and config sources that are left out.
	SourceNone Source = iota
	SourceADS
	SourceSelf
	// SourceOther is a stream of its own or REST.
	SourceOther
	// SourceFile is a path on the disk of the client.
	SourceFile
)

// Use is what a resource is for.
type Use uint8

const (
	// UseConfig is a part of the configuration that comes on its own: all but
	// clusters.
	UseConfig Use = iota
	// UseTraffic is a cluster that a route or a proxy filter sends requests or
	// connections to, copies of them included. The order of updates matters to
	// these.
	UseTraffic
	// UseService is a cluster that something is asked or told: authorization,
	// rate limits, access logs, traces, config sources.
	UseService
	// UseMember is a cluster within an aggregate cluster.
	UseMember
	// UseIdle is a cluster that a route sends nothing to: its weight is 0.
	UseIdle
)

// reference adds a resource to the facts, once.
func (in *Inspector) reference(r Ref) {
	const few = 16 // so many are compared one by one
	if in.muted > 0 {
		return
	}
	if len(in.refs) <= few {
		if slices.Contains(in.refs, r) {
			return
		}
	} else if _, there := in.refSet[r]; there {
		return
	}
	in.refs = append(in.refs, r)
	switch n := len(in.refs); {
	case n == few+1:
		for _, r := range in.refs {
			in.refSet[r] = struct{}{}
		}
	case n > few:
		in.refSet[r] = struct{}{}
	}
}

// cluster takes the value of a field that names a cluster.
func (in *Inspector) cluster(f *fieldFacts, name []byte) {
	use := f.use
	if len(name) == 0 || in.muted > 0 {
		return
	}
	if in.idle && use == UseTraffic {
		use = UseIdle
	}
	if place, sought := in.sought[string(name)]; sought && place == "" && use == UseTraffic {
		in.sought[string(name)] = strings.TrimPrefix(in.where()+"."+f.name, ".")
	}
	if p := &in.facts.Proven; in.proving && len(*p) < maxProven && !slices.Contains(*p, string(name)) {
		*p = append(*p, string(name))
	}
	for i := range min(len(in.refs), 8) { // without a copy of the name
		if r := &in.refs[i]; r.Use == use && r.Type == "CDS" && r.Name == string(name) {
			return
		}
	}
	in.reference(Ref{Type: "CDS", Name: string(name), Use: use})
}

// references notes what a message of type t refers to.
func (in *Inspector) references(t *typeFacts, b []byte) {
	r := t.refs
	switch r.kind {
	case refNamed:
		in.named(r, b)
	case refDiscovery:
		if source := protoscan.Last(b, r.source); source != nil {
			in.reference(Ref{
				Type: r.typ, Name: string(protoscan.Last(b, r.name)), Source: sourceOf(protoscan.Last(source, 1)),
				Default: protoscan.Last(source, 2) != nil,
			})
		}
	case refListener:
		if in.top == t {
			in.grpcListener(b)
		}
	case refCluster:
		in.ofCluster(b, in.top == t)
	case refOnDemand:
		in.facts.OnDemand = true
	case refWeight:
		weight := protoscan.Last(b, 2)
		value, _ := protoscan.Read(weight)
		in.idle = weight != nil && value.Uint == 0
	case refRoutes:
		in.proving = in.top != t // where it does not say
		if validate := protoscan.Last(b, 7); validate != nil {
			value, _ := protoscan.Read(validate)
			in.proving = value.Uint != 0
		}
		if vhds := protoscan.Last(b, r.source); vhds != nil {
			in.reference(Ref{Type: r.typ, Name: string(protoscan.Last(b, r.name)), Source: sourceOf(protoscan.Last(vhds, 1))})
		}
	case refScopes:
		in.scopes(b)
	case refScope:
		if in.top == t {
			in.scope(b)
		}
	}
}

func (in *Inspector) named(r *refType, b []byte) {
	source := protoscan.Last(b, r.source)
	from := sourceOf(source)
	if r.typ == "RDS" && xds.TypeKey(in.top.name) == "LDS" && !grpcTakes(source) {
		in.grpcProblem(in.where() + ": the config source is neither ads nor self")
	}
	if r.typ == "SRDS" {
		in.reference(Ref{Type: r.typ, Name: string(protoscan.Last(b, r.name)), Source: from})
		return
	}
	for s := protoscan.Of(b); s.Next(); {
		name, ok := s.Bytes()
		if !ok || s.Num != r.name {
			continue
		}
		// A secret without a config source is one of the bootstrap.
		if r.typ == "SDS" && source == nil && !strings.HasPrefix(string(name), "xdstp:") {
			continue
		}
		in.reference(Ref{Type: r.typ, Name: string(name), Source: from, Default: r.ahead})
	}
}

// The field numbers below are the same in versions 2 and 3.

// ofCluster takes a Cluster.
func (in *Inspector) ofCluster(b []byte, top bool) {
	const typeEDS, typeDNS = 3, 2
	var name, eds, custom, lrs []byte
	discovery := uint64(0)
	for s := protoscan.Of(b); s.Next(); {
		switch body, ok := s.Bytes(); {
		case s.Num == 2 && !ok: // type, or else cluster_type
			discovery, custom = s.Varint(), nil
		case s.Num == 38 && ok:
			discovery, custom = 0, body
		case s.Num == 1:
			name = body
		case s.Num == 3:
			eds = body
		case s.Num == 42 && ok:
			lrs = body
		}
	}
	isEDS := custom == nil && discovery == typeEDS
	source := protoscan.Last(eds, 1)
	if isEDS {
		if service := protoscan.Last(eds, 2); len(service) > 0 {
			name = service
		}
		in.reference(Ref{Type: "EDS", Name: string(name), Source: sourceOf(source)})
	}
	if !top {
		return
	}
	in.facts.EDS, in.facts.Patient = isEDS, isEDS && patient(protoscan.Last(source, 4))
	if isEDS && !grpcTakes(source) {
		in.grpcProblem("eds_cluster_config.eds_config: the config source is neither ads nor self")
	}
	if !isEDS && (custom != nil && !isAggregate(custom) || custom == nil && discovery != typeDNS) {
		in.grpcProblem("the cluster is neither EDS nor LOGICAL_DNS nor an aggregate")
	}
	if lrs != nil && !holds(lrs, 5) {
		in.grpcProblem("lrs_server: the config source is not self")
	}
}

// isAggregate takes a CustomClusterType.
func isAggregate(b []byte) bool {
	if string(protoscan.Last(b, 1)) == "envoy.clusters.aggregate" {
		return true
	}
	url := protoscan.Last(protoscan.Last(b, 2), 1)
	name := string(url[bytes.LastIndexByte(url, '/')+1:])
	return useOf[name+".clusters"] == UseMember
}

// grpcListener takes a Listener. A client of gRPC looks at its api_listener
// and at nothing else; a server has none.
func (in *Inspector) grpcListener(b []byte) {
	if protoscan.Last(b, 19) != nil {
		return
	}
	if protoscan.Last(b, 9) != nil {
		in.grpcProblem("listener_filters are set")
	}
	for s := protoscan.Of(protoscan.Last(b, 4)); s.Next(); {
		if s.Num == 1 && s.Varint() != 0 {
			in.grpcProblem("use_original_dst is set")
		}
	}
}

func (in *Inspector) grpcProblem(what string) {
	const most = 8
	if in.muted == 0 && len(in.facts.GRPCProblems) < most {
		in.facts.GRPCProblems = append(in.facts.GRPCProblems, what)
	}
}

// scopes takes the ScopedRoutes of a connection manager. Scopes that are listed
// in it name routes that come from its rds_config_source.
func (in *Inspector) scopes(b []byte) {
	source := sourceOf(protoscan.Last(b, 3))
	for s := protoscan.Of(protoscan.Last(b, 4)); s.Next(); {
		scope, ok := s.Bytes()
		if name := protoscan.Last(scope, 2); ok && s.Num == 1 && len(name) > 0 {
			in.reference(Ref{Type: "RDS", Name: string(name), Source: source})
		}
	}
}

// scope takes a ScopedRouteConfiguration.
func (in *Inspector) scope(b []byte) {
	if name := protoscan.Last(b, 2); len(name) > 0 {
		in.reference(Ref{Type: "RDS", Name: string(name)})
	}
	var key []byte
	for s := protoscan.Of(protoscan.Last(b, 3)); s.Next(); {
		if fragment, ok := s.Bytes(); ok && s.Num == 1 {
			if len(key) > 0 {
				key = append(key, ',')
			}
			key = strconv.AppendQuote(key, string(protoscan.Last(fragment, 1)))
		}
	}
	in.facts.ScopeKey = string(key)
}

// sourceOf reads a ConfigSource. An api_config_source of an aggregated type is
// ADS by another name.
func sourceOf(b []byte) (out Source) {
	for s := protoscan.Of(b); s.Next(); {
		switch s.Num {
		case 1, 8: // path, path_config_source
			out = SourceFile
		case 2: // api_config_source
			out = SourceOther
			for api := protoscan.Of(s.Body); api.Next(); {
				if api.Num == 1 && (api.Varint() == 5 || api.Varint() == 6) {
					out = SourceADS
				}
			}
		case 3:
			out = SourceADS
		case 5:
			out = SourceSelf
		}
	}
	return out
}

// patient says whether an initial_fetch_timeout is longer than usual. One of no
// time at all is none.
func patient(b []byte) bool {
	seconds, none := uint64(0), b != nil
	for s := protoscan.Of(b); s.Next(); {
		if s.Num == 1 {
			seconds = s.Varint()
		}
		none = none && s.Varint() == 0
	}
	return none || seconds > 15
}

// grpcTakes says whether a ConfigSource is ads or self in so many words.
func grpcTakes(b []byte) bool { return holds(b, 3) || holds(b, 5) }

// holds says whether a length-delimited field is there.
func holds(b []byte, num protowire.Number) bool { return protoscan.Last(b, num) != nil }
