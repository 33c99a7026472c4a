package decode

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	// maxItems bounds each list of a Message: an empty name costs two bytes on
	// the wire and much more here.
	maxItems = 1 << 20
	// maxProblems bounds the list of problems of one message.
	maxProblems = 16
)

// Peek reads the envelope of a message that side sent on a stream of method m.
// The content type is that of the sender's headers, "" if unknown. Resources
// are found but not unmarshalled: Resource.Body refers to data, all else is
// copied. If the method is the zero Method, the kind is guessed from the bytes
// and Problems says so.
func Peek(m Method, side session.Side, contentType string, data []byte) Message {
	if FormOf(m, contentType) == FormJSON || m.Path == "" && looksLikeJSON(data) {
		return peekJSON(m, side, data)
	}
	kind, sure := kindOf(m, side)
	if !sure {
		kind = sniff(side, data)
	}
	p := peeker{Message: Message{Kind: kind}}
	if !sure {
		p.problem("the method is not known: read as %s by the look of its bytes", kind)
	}
	switch kind {
	case SotwRequest:
		p.sotwRequest(data)
	case SotwResponse:
		p.sotwResponse(data)
	case DeltaRequest:
		p.deltaRequest(data)
	case DeltaResponse:
		p.deltaResponse(data)
	case Other:
		p.other(m, side, data)
	}
	return p.Message
}

// kindOf derives the kind from the method; false if the method is not known.
func kindOf(m Method, side session.Side) (Kind, bool) {
	client := side == session.Client
	if !client && side != session.Server {
		return Other, true
	}
	switch m.Variant {
	case "":
		return Other, false
	case VariantSotw, VariantSotwADS, VariantREST, VariantFile:
		if client {
			return SotwRequest, true
		}
		return SotwResponse, true
	case VariantDelta, VariantDeltaADS:
		if client {
			return DeltaRequest, true
		}
		return DeltaResponse, true
	}
	return Other, true
}

// peeker fills one Message.
type peeker struct {
	Message
	dropped bool // a list was cut
}

func (p *peeker) problem(format string, args ...any) {
	if len(p.Problems) < maxProblems {
		p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
	}
}

// each calls field for every field of b, and reports what is wrong with b.
func (p *peeker) each(what string, b []byte, field func(*scanner)) {
	s := scan(b)
	for s.next() {
		field(&s)
	}
	if s.err != "" {
		p.problem("%s: %s", what, s.err)
	}
}

// bytes returns the body of a field that must be length-delimited.
func (p *peeker) bytes(s *scanner) []byte {
	b, ok := s.bytes()
	if !ok {
		p.problem("field %d has wire type %d, not a length", s.num, s.typ)
	}
	return b
}

func (p *peeker) str(s *scanner) string { return string(p.bytes(s)) }

func (p *peeker) add(list *[]string, v string) {
	if len(*list) >= maxItems {
		p.cut()
		return
	}
	*list = append(*list, v)
}

func (p *peeker) cut() {
	if !p.dropped {
		p.dropped = true
		p.problem("a list has more than %d entries: the rest is left out", maxItems)
	}
}

// The field numbers below are those of envoy.service.discovery.v3; version 2
// has the same for the fields that it has.

func (p *peeker) sotwRequest(data []byte) {
	p.each("DiscoveryRequest", data, func(s *scanner) {
		switch s.num {
		case 1:
			p.Version = p.str(s)
		case 2:
			p.node(p.bytes(s))
		case 3:
			p.add(&p.Names, p.str(s))
		case 4:
			p.TypeURL = p.str(s)
		case 5:
			p.Nonce = p.str(s)
		case 6:
			p.status(p.bytes(s))
		case 7:
			p.add(&p.Names, p.first(p.bytes(s), 1))
		}
	})
}

func (p *peeker) deltaRequest(data []byte) {
	p.each("DeltaDiscoveryRequest", data, func(s *scanner) {
		switch s.num {
		case 1:
			p.node(p.bytes(s))
		case 2:
			p.TypeURL = p.str(s)
		case 3:
			p.add(&p.Subscribe, p.str(s))
		case 4:
			p.add(&p.Unsubscribe, p.str(s))
		case 5:
			p.initialVersion(p.bytes(s))
		case 6:
			p.Nonce = p.str(s)
		case 7:
			p.status(p.bytes(s))
		case 8:
			p.add(&p.Subscribe, p.first(p.bytes(s), 1))
		case 9:
			p.add(&p.Unsubscribe, p.first(p.bytes(s), 1))
		}
	})
}

func (p *peeker) initialVersion(entry []byte) {
	if len(p.InitialVersions) >= maxItems {
		p.cut()
		return
	}
	p.InitialVersions = append(p.InitialVersions, NameVersion{Name: p.first(entry, 1), Version: p.first(entry, 2)})
}

func (p *peeker) sotwResponse(data []byte) {
	p.makeRoom(data)
	p.each("DiscoveryResponse", data, func(s *scanner) {
		switch s.num {
		case 1:
			p.Version = p.str(s)
		case 2:
			if r := p.resource(); r != nil {
				p.any(r, p.bytes(s))
				if r.TypeURL != "" && isWrapper(r.TypeURL) {
					body := r.Body
					*r = Resource{}
					p.wrapper(r, body)
				} else if r.Name == "" {
					r.Name = payloadName(r.Body)
				}
			}
		case 4:
			p.TypeURL = p.str(s)
		case 5:
			p.Nonce = p.str(s)
		case 6:
			p.ControlPlane = p.first(p.bytes(s), 1)
		case 7:
			p.resourceError(p.bytes(s))
		}
	})
}

func (p *peeker) deltaResponse(data []byte) {
	p.makeRoom(data)
	p.each("DeltaDiscoveryResponse", data, func(s *scanner) {
		switch s.num {
		case 1:
			p.Version = p.str(s)
		case 2:
			if r := p.resource(); r != nil {
				p.wrapper(r, p.bytes(s))
			}
		case 4:
			p.TypeURL = p.str(s)
		case 5:
			p.Nonce = p.str(s)
		case 6:
			p.add(&p.Removed, p.str(s))
		case 7:
			p.ControlPlane = p.first(p.bytes(s), 1)
		case 8:
			p.add(&p.Removed, p.first(p.bytes(s), 1))
		case 9:
			p.resourceError(p.bytes(s))
		}
	})
}

// makeRoom counts the resources first, so that their list is one allocation.
func (p *peeker) makeRoom(data []byte) {
	n := 0
	for s := scan(data); s.next(); {
		if s.num == 2 {
			n++
		}
	}
	if n > 0 {
		p.Resources = make([]Resource, 0, min(n, maxItems))
	}
}

func (p *peeker) resource() *Resource {
	if len(p.Resources) == cap(p.Resources) {
		p.cut()
		return nil
	}
	p.Resources = append(p.Resources, Resource{})
	return &p.Resources[len(p.Resources)-1]
}

// any reads type URL and value of an Any. Resources of one response share one
// copy of their type URL.
func (p *peeker) any(r *Resource, b []byte) {
	s := scan(b)
	for s.next() {
		switch s.num {
		case 1:
			r.TypeURL = p.sharedType(p.bytes(&s))
		case 2:
			r.Body = p.bytes(&s)
		}
	}
	if s.err != "" {
		p.problem("resource %d: %s", len(p.Resources)-1, s.err)
	}
}

func (p *peeker) sharedType(b []byte) string {
	if n := len(p.Resources); n > 1 && string(b) == p.Resources[n-2].TypeURL {
		return p.Resources[n-2].TypeURL
	}
	return string(b)
}

// wrapper reads a Resource envelope.
func (p *peeker) wrapper(r *Resource, b []byte) {
	r.Wrapped, r.Empty = true, true
	locator := ""
	s := scan(b)
	for s.next() {
		switch s.num {
		case 1:
			r.Version = p.str(&s)
		case 2:
			r.Empty = false
			p.any(r, p.bytes(&s))
		case 3:
			r.Name = p.str(&s)
		case 4:
			p.add(&r.Aliases, p.str(&s))
		case 6:
			r.TTL = p.duration(p.bytes(&s))
		case 8:
			locator = p.first(p.bytes(&s), 1)
		}
	}
	if s.err != "" {
		p.problem("resource %d: %s", len(p.Resources)-1, s.err)
	}
	if r.Name == "" {
		r.Name = locator
	}
	if r.Name == "" && !r.Empty {
		r.Name = payloadName(r.Body)
	}
}

// payloadName is the name that a resource gives itself. In every resource type
// of xDS that has one it is field 1, a string. What does not look like text is
// no name.
func payloadName(b []byte) string {
	for s := scan(b); s.next(); {
		if s.num != 1 {
			continue
		}
		if v, ok := s.bytes(); ok && isPrintable(v) {
			return string(v)
		}
		return ""
	}
	return ""
}

func isPrintable(b []byte) bool {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return true
}

func (p *peeker) resourceError(b []byte) {
	if len(p.ResourceErrors) >= maxItems {
		p.cut()
		return
	}
	var e ResourceError
	p.each("resource_errors", b, func(s *scanner) {
		switch s.num {
		case 1:
			e.Name = p.first(p.bytes(s), 1)
		case 2:
			e.Error = p.rpcStatus(p.bytes(s))
		}
	})
	p.ResourceErrors = append(p.ResourceErrors, e)
}

func (p *peeker) status(b []byte) {
	e := p.rpcStatus(b)
	p.Error = &e
}

func (p *peeker) rpcStatus(b []byte) (e Error) {
	p.each("status", b, func(s *scanner) {
		switch s.num {
		case 1:
			e.Code = int32(s.uint)
		case 2:
			e.Message = p.str(s)
		}
	})
	return e
}

func (p *peeker) duration(b []byte) time.Duration {
	var sec, nano int64
	p.each("ttl", b, func(s *scanner) {
		switch s.num {
		case 1:
			sec = int64(s.uint)
		case 2:
			nano = int64(s.uint)
		}
	})
	const most = int64(1<<63-1) / int64(time.Second)
	sec = max(-most, min(most, sec))
	return time.Duration(sec)*time.Second + time.Duration(nano%int64(time.Second))
}

// first is the last value of string field num in b: of a repeated scalar the
// last one counts.
func (p *peeker) first(b []byte, num protowire.Number) string {
	var v []byte
	p.each("nested message", b, func(s *scanner) {
		if s.num == num {
			v = p.bytes(s)
		}
	})
	return string(v)
}

func (p *peeker) node(b []byte) {
	n := &Node{}
	p.each("node", b, func(s *scanner) {
		switch s.num {
		case 1:
			n.ID = p.str(s)
		case 2:
			n.Cluster = p.str(s)
		case 4:
			p.each("locality", p.bytes(s), func(s *scanner) {
				switch s.num {
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
			p.each("user_agent_build_version", p.bytes(s), func(s *scanner) {
				if s.num == 1 {
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
	p.each("version", b, func(s *scanner) {
		if s.num >= 1 && s.num <= 3 {
			v[s.num-1] = uint64(uint32(s.uint))
		}
	})
	out := strconv.AppendUint(nil, v[0], 10)
	out = strconv.AppendUint(append(out, '.'), v[1], 10)
	return string(strconv.AppendUint(append(out, '.'), v[2], 10))
}

// other reads the node of the requests that name one: load reports, client
// status, health discovery.
func (p *peeker) other(m Method, side session.Side, data []byte) {
	if side != session.Client {
		return
	}
	var path []protowire.Number
	switch TypeName(m.Request) {
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
	p.each(what, data, func(s *scanner) {
		switch {
		case s.num != path[0]:
		case len(path) == 1:
			p.node(p.bytes(s))
		default:
			p.nodeAt(what, path[1:], p.bytes(s))
		}
	})
}

func looksLikeJSON(data []byte) bool {
	b := bytes.TrimLeft(data, " \t\r\n")
	return len(b) >= 2 && b[0] == '{' && bytes.ContainsAny(b[1:2], "\"} \t\r\n")
}
