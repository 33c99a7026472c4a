package decode

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func (p *peeker) node(b []byte) {
	n := &Node{}
	p.each("node", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			n.ID = p.str(s)
		case 2:
			n.Cluster = p.str(s)
		case 4:
			p.each("locality", p.bytes(s), func(s *protoscan.Scanner) {
				switch s.Num {
				case 1:
					n.Region = p.str(s)
				case 2:
					n.Zone = p.str(s)
				}
			})
		case 5: // build_version, of version 2
			if n.UserAgentVersion == "" {
				n.UserAgentVersion = p.str(s)
			}
		case 6:
			n.UserAgent = p.str(s)
		case 7:
			n.UserAgentVersion = p.str(s)
		case 8:
			p.each("user_agent_build_version", p.bytes(s), func(s *protoscan.Scanner) {
				if s.Num == 1 {
					n.UserAgentVersion = p.semver(p.bytes(s))
				}
			})
		case 10:
			p.add(&n.ClientFeatures, p.str(s))
		}
	})
	p.Node = n
}

func (p *peeker) semver(b []byte) string {
	var v [3]uint64
	p.each("version", b, func(s *protoscan.Scanner) {
		if s.Num >= 1 && s.Num <= 3 {
			v[s.Num-1] = uint64(uint32(s.Varint()))
		}
	})
	out := strconv.AppendUint(nil, v[0], 10)
	out = strconv.AppendUint(append(out, '.'), v[1], 10)
	return string(strconv.AppendUint(append(out, '.'), v[2], 10))
}

// other reads the node of the requests that name one: load reports, client
// status, health discovery.
func (p *peeker) other(m xds.Method, side session.Side, data []byte) {
	if side != session.Client {
		return
	}
	var path []protowire.Number
	switch xds.TypeName(m.Request) {
	case "envoy.service.load_stats.v3.LoadStatsRequest", "envoy.service.load_stats.v2.LoadStatsRequest":
		path = []protowire.Number{1}
	case "envoy.service.status.v3.ClientStatusRequest":
		path = []protowire.Number{2}
	case "envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse",
		"envoy.service.discovery.v2.HealthCheckRequestOrEndpointHealthResponse":
		path = []protowire.Number{1, 1}
	default:
		return
	}
	p.nodeAt(m.Request, path, data)
}

func (p *peeker) nodeAt(what string, path []protowire.Number, data []byte) {
	p.each(what, data, func(s *protoscan.Scanner) {
		switch {
		case s.Num != path[0]:
		case len(path) == 1:
			p.node(p.bytes(s))
		default:
			p.nodeAt(what, path[1:], p.bytes(s))
		}
	})
}
