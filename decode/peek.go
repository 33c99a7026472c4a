package decode

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
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
func Peek(m xds.Method, side session.Side, contentType string, data []byte) Message {
	if FormOf(m, contentType) == FormJSON || m.Path == "" && LooksLikeJSON(data) {
		return peekJSON(m, side, data)
	}
	kind, sure := KindOf(m, side, session.Chunks{data})
	p := peeker{Kind: kind}
	if !sure {
		p.problem("the method is not known: read as %s by the look of its bytes", kind)
	}
	p.read(data)
	switch {
	case kind == Other:
		p.other(m, side, data)
	case m.Variant == xds.VariantFile && p.TypeURL == "" && len(p.Resources) > 0:
		p.TypeURL = p.Resources[0].TypeURL // few files say of which type they are
	}
	return Message(p)
}

// peeker is a Message that is being read.
type peeker Message

// Read adds what data says, whole fields of a message of this Kind in protobuf.
func (m *Message) Read(data []byte) { (*peeker)(m).read(data) }

func (p *peeker) read(data []byte) {
	switch p.Kind {
	case SotwRequest:
		p.sotwRequest(data)
	case DeltaRequest:
		p.deltaRequest(data)
	case SotwResponse, DeltaResponse:
		p.response(data)
	}
}

func (p *peeker) problem(format string, args ...any) {
	if len(p.Problems) < maxProblems {
		p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
	}
}

// each calls field for every field of b, and reports what is wrong with b.
func (p *peeker) each(what string, b []byte, field func(*protoscan.Scanner)) {
	s := protoscan.Of(b)
	for s.Next() {
		field(s)
	}
	p.ended(what, s)
}

// ended reports why a scanner came to its end early, if it did. What is read
// often has a loop of its own, which allocates nothing, in place of each.
func (p *peeker) ended(what string, s *protoscan.Scanner) {
	if s.Err != "" {
		p.problem("%s: %s", what, s.Err)
	}
}

// bytes returns the body of a field that must be length-delimited.
func (p *peeker) bytes(s *protoscan.Scanner) []byte {
	b, ok := s.Bytes()
	if !ok {
		p.problem("field %d has wire type %d, not a length", s.Num, s.Type)
	}
	return b
}

func (p *peeker) str(s *protoscan.Scanner) string { return string(p.bytes(s)) }

func (p *peeker) add(list *[]string, v string) {
	if len(*list) >= maxItems {
		p.cut()
		return
	}
	*list = append(*list, v)
}

// addAll adds names to a list, and returns how many it took.
func (p *peeker) addAll(list *[]string, names []string) int {
	before := len(*list)
	for _, name := range names {
		p.add(list, name)
	}
	return len(*list) - before
}

// tooMany is said once of a message.
const tooMany = "a list has more than 1048576 entries: the rest is left out" // maxItems

func (p *peeker) cut() {
	if !slices.Contains(p.Problems, tooMany) {
		p.problem(tooMany)
	}
}

// The field numbers below are those of envoy.service.discovery.v3; version 2
// has the same for the fields that it has.

func (p *peeker) sotwRequest(data []byte) {
	var located []string
	s := protoscan.Of(data)
	for s.Next() {
		switch s.Num {
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
			p.add(&located, p.first(p.bytes(s), 1))
		}
	}
	p.ended("DiscoveryRequest", s)
	p.Locators.Names = p.addAll(&p.Names, located)
}

func (p *peeker) deltaRequest(data []byte) {
	var subscribe, unsubscribe []string // located
	s := protoscan.Of(data)
	for s.Next() {
		switch s.Num {
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
			p.add(&subscribe, p.first(p.bytes(s), 1))
		case 9:
			p.add(&unsubscribe, p.first(p.bytes(s), 1))
		}
	}
	p.ended("DeltaDiscoveryRequest", s)
	p.Locators.Subscribe = p.addAll(&p.Subscribe, subscribe)
	p.Locators.Unsubscribe = p.addAll(&p.Unsubscribe, unsubscribe)
}

func (p *peeker) initialVersion(entry []byte) {
	if len(p.InitialVersions) >= maxItems {
		p.cut()
		return
	}
	p.InitialVersions = append(p.InitialVersions, NameVersion{Name: p.first(entry, 1), Version: p.first(entry, 2)})
}

func (p *peeker) status(b []byte) {
	e := p.rpcStatus(b)
	p.Error = &e
}

func (p *peeker) rpcStatus(b []byte) (e Error) {
	s := protoscan.Of(b)
	for s.Next() {
		switch s.Num {
		case 1:
			e.Code = int32(s.Varint())
		case 2:
			e.Message = p.str(s)
		}
	}
	p.ended("status", s)
	return e
}

func (p *peeker) duration(b []byte) time.Duration {
	var sec, nano int64
	p.each("ttl", b, func(s *protoscan.Scanner) {
		switch s.Num {
		case 1:
			sec = int64(s.Varint())
		case 2:
			nano = int64(s.Varint())
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
	p.each("nested message", b, func(s *protoscan.Scanner) {
		if s.Num == num {
			v = p.bytes(s)
		}
	})
	return string(v)
}
