package decode

import (
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// LoadStats is a message of a load reporting stream.
type LoadStats struct {
	// Node is that of a request which names one.
	Node *Node
	// Loads are the reports of a request.
	Loads []ClusterLoad
	// Clusters are those that a response asks for; SendAll asks for all.
	Clusters []string
	SendAll  bool
	// Interval is how often a response wants reports, or 0.
	Interval time.Duration

	Problems []string
}

// ClusterLoad is the report on one cluster.
type ClusterLoad struct {
	Name, Service string // cluster_name, cluster_service_name
	Dropped       uint64 // total_dropped_requests
}

// PeekLoadStats reads a message that side sent on a load reporting stream of
// version 2 or 3.
func PeekLoadStats(side session.Side, data []byte) LoadStats {
	var p peeker
	var out LoadStats
	if side == session.Client {
		p.each("LoadStatsRequest", data, func(s *protoscan.Scanner) {
			switch s.Num {
			case 1:
				p.node(p.bytes(s))
			case 2:
				if len(out.Loads) >= maxItems {
					p.cut()
					return
				}
				out.Loads = append(out.Loads, p.load(p.bytes(s)))
			}
		})
		out.Node = p.Node
	} else {
		p.each("LoadStatsResponse", data, func(s *protoscan.Scanner) {
			switch s.Num {
			case 1:
				p.add(&out.Clusters, p.str(s))
			case 2:
				out.Interval = p.duration(p.bytes(s))
			case 4:
				out.SendAll = s.Varint() != 0
			}
		})
	}
	out.Problems = p.Problems
	return out
}

func (p *peeker) load(b []byte) (l ClusterLoad) {
	p.each("cluster_stats", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			l.Name = p.str(s)
		case 3:
			l.Dropped = s.Varint()
		case 6:
			l.Service = p.str(s)
		}
	})
	return l
}

// ClientStatus is what a client status response says of its clients.
type ClientStatus struct {
	Configs  []ClientConfig
	Problems []string
}

// ClientConfig is the state of one client.
type ClientConfig struct {
	NodeID    string
	Scope     string // client_scope, such as the target of a gRPC channel
	Resources []ResourceStatus
}

// ResourceStatus is the state of one resource at its client. Older clients
// describe a type as a whole: then Name is empty.
type ResourceStatus struct {
	TypeURL, Name, Version string
	// Client is how far the client got with it: REQUESTED, DOES_NOT_EXIST, ACKED,
	// NACKED, RECEIVED_ERROR or TIMEOUT, and Config what a management server
	// thinks of it: SYNCED, NOT_SENT, STALE or ERROR. Each is UNKNOWN if it was
	// not said, and a number if it is a newer status.
	Client, Config string
	// Error is the detail of an update that failed.
	Error string
	// Static says that it came from no management server.
	Static bool
	// Body is the content, of type BodyURL, as it stands in the message; nil where
	// there is none, and in JSON.
	BodyURL string
	Body    []byte
}

// PeekClientStatus reads a client status response of version 2 or 3, protobuf
// or JSON.
func PeekClientStatus(data []byte) ClientStatus {
	var p statusPeeker
	if len(data) > 0 && data[0] == '{' { // in protobuf the start of a group
		p.json(data)
	} else {
		p.each("ClientStatusResponse", data, func(s *protoscan.Scanner) {
			if s.Num == 1 && p.room() {
				p.configs = append(p.configs, p.config(p.bytes(s)))
			}
		})
	}
	return ClientStatus{Configs: p.configs, Problems: p.Problems}
}

type statusPeeker struct {
	peeker
	configs []ClientConfig
	items   int // configs and resources, all together
}

// room says whether there may be one more item.
func (p *statusPeeker) room() bool {
	if p.items >= maxItems {
		p.cut()
		return false
	}
	p.items++
	return true
}

func (p *statusPeeker) config(b []byte) (c ClientConfig) {
	p.each("config", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			c.NodeID = p.first(p.bytes(s), 1)
		case 2:
			if p.room() {
				c.Resources = append(c.Resources, p.typeConfig(p.bytes(s)))
			}
		case 3:
			if p.room() {
				c.Resources = append(c.Resources, p.genericConfig(p.bytes(s)))
			}
		case 4:
			c.Scope = p.str(s)
		}
	})
	return c
}

var (
	resourceWords = [...]string{"UNKNOWN", "REQUESTED", "DOES_NOT_EXIST", "ACKED", "NACKED", "RECEIVED_ERROR", "TIMEOUT"}
	// Of a type as a whole, without the prefix CLIENT_.
	clientWords = [...]string{"UNKNOWN", "REQUESTED", "ACKED", "NACKED", "RECEIVED_ERROR"}
	configWords = [...]string{"UNKNOWN", "SYNCED", "NOT_SENT", "STALE", "ERROR"}
	// In the order of the fields of a PerXdsConfig, from 2 on.
	dumpedTypes = [...]string{"LDS", "CDS", "RDS", "SRDS", "EDS"}
)

func word(words []string, n uint64) string {
	if n < uint64(len(words)) {
		return words[n]
	}
	return strconv.FormatInt(int64(int32(n)), 10)
}

func (p *peeker) genericConfig(b []byte) ResourceStatus {
	r := ResourceStatus{Client: resourceWords[0], Config: configWords[0]}
	p.each("generic_xds_configs", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			r.TypeURL = p.str(s)
		case 2:
			r.Name = p.str(s)
		case 3:
			r.Version = p.str(s)
		case 4:
			any := p.bytes(s)
			r.BodyURL, r.Body = p.first(any, 1), protoscan.Last(any, 2)
			if r.Body == nil {
				r.Body = []byte{}
			}
		case 6:
			r.Config = word(configWords[:], s.Varint())
		case 7:
			r.Client = word(resourceWords[:], s.Varint())
		case 9:
			r.Static = s.Varint() != 0
		case 8:
			r.Error = p.first(p.bytes(s), 3)
		}
	})
	return r
}

// typeConfig reads a PerXdsConfig. Its type is told by the field that holds
// the dump, whose contents stay unread.
func (p *peeker) typeConfig(b []byte) ResourceStatus {
	r := ResourceStatus{Client: clientWords[0], Config: configWords[0]}
	p.each("xds_config", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			r.Config = word(configWords[:], s.Varint())
		case 2, 3, 4, 5, 6:
			r.TypeURL = xds.TypeURL(dumpedTypes[s.Num-2])
		case 7:
			r.Client = word(clientWords[:], s.Varint())
		}
	})
	return r
}

func (p *statusPeeker) json(data []byte) {
	o, err := object(data)
	if err != nil {
		p.problem("not a JSON object: %v", err)
	}
	for _, raw := range p.jsonList(o, "config") {
		if !p.room() {
			break
		}
		o := p.jsonObject(raw, "config")
		c := ClientConfig{NodeID: p.jsonString(p.jsonObject(field(o, "node"), "node"), "id"), Scope: p.jsonString(o, "client_scope")}
		for _, raw := range p.jsonList(o, "generic_xds_configs") {
			if !p.room() {
				break
			}
			o := p.jsonObject(raw, "generic_xds_configs")
			c.Resources = append(c.Resources, ResourceStatus{
				TypeURL: p.jsonString(o, "type_url"), Name: p.jsonString(o, "name"), Version: p.jsonString(o, "version_info"),
				Client: orUnknown(p.jsonString(o, "client_status")), Config: orUnknown(p.jsonString(o, "config_status")),
				Error: p.jsonString(p.jsonObject(field(o, "error_state"), "error_state"), "details"),
			})
		}
		p.configs = append(p.configs, c)
	}
}

func orUnknown(word string) string {
	if word == "" {
		return "UNKNOWN"
	}
	return word
}
