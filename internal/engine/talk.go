package engine

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// talk is a stream as the rules see it: what both sides have said on it, type
// by type.
type Stream struct {
	ID     session.StreamID
	Conn   session.ConnID
	h2     uint32
	Method decode.Method
	Opened time.Time
	OpenAt session.Seq
	Server string // address of the management server, "" if unknown
	Peer   string // address of the client

	// The node of the first request that had one, and the one seen last.
	Node, lastNode *decode.Node
	NodeAt         session.Seq
	Previous       *Stream // the stream that this one reconnects, nil if none
	resumed        bool    // another one reconnects it

	Subs   map[string]*Subscription
	Order  []*Subscription // in the order in which the types came up
	latest *Subscription   // that a message was about

	Requests, Responses uint64
	FirstResponse       time.Time
	LastClient          time.Time // when the client sent its last message
	LastClientSeq       session.Seq
	LastServer          time.Time
	HalfClosed          time.Time // zero: not half-closed
	HalfClosedAt        session.Seq
	Ended               bool
	EndedAt             time.Time
	endSeq              session.Seq
	Echo                time.Duration // the shortest time that the client took to answer
	Largest             int64         // message, in bytes
	Lost                bool          // part of it was not seen

	Moved  uint64 // how often what the server has sent may have changed
	Status string // of HTTP, once the server's headers were seen

	Memory, Lasting Memory // of those who look at the stream
}

func (t *Stream) Alive() bool { return !t.Ended }

// ads says whether all types share the stream.
func (t *Stream) ADS() bool {
	return t.Method.Variant == decode.VariantSotwADS || t.Method.Variant == decode.VariantDeltaADS
}

func (t *Stream) Delta() bool {
	return t.Method.Variant == decode.VariantDelta || t.Method.Variant == decode.VariantDeltaADS
}

// stream says whether it is one of the four discovery variants on gRPC.
func (t *Stream) Discovery() bool {
	switch t.Method.Variant {
	case decode.VariantSotw, decode.VariantSotwADS, decode.VariantDelta, decode.VariantDeltaADS:
		return !t.Method.Unary
	}
	return false
}

// grpcClient says whether the client is one of gRPC's own, by its user agent
// name ("gRPC Go", "gRPC Java", "gRPC C-core …").
func (t *Stream) GRPCClient() bool {
	return t.Node != nil && strings.HasPrefix(t.Node.UserAgent, "gRPC")
}

func (t *Stream) EnvoyClient() bool { return t.Node != nil && t.Node.UserAgent == "envoy" }

// sub returns the subscription of a short type, or nil.
func (t *Stream) Sub(typ string) *Subscription {
	for _, s := range t.Order {
		if s.Type == typ {
			return s
		}
	}
	return nil
}

// wildness is whether a client wants all resources of a type.
type wildness uint8

const (
	NotWild      wildness = iota
	LegacyWild            // its first request named nothing
	ExplicitWild          // it asked for "*"
)

// subscription is one type on one stream: what the client wants and knows, and
// what the server has sent.
type Subscription struct {
	Stream *Stream
	Key    string // shared by versions 2 and 3 of a type
	Type   string // short
	URL    string // as it was said last
	Kind   typeKind
	// lost says that part of the conversation was not seen, so that rules
	// which need it stay silent.
	Lost bool
	// found is when that was over.
	Found time.Time
	// heard says that since then a response was seen, which a request that
	// echoes it turns into a new beginning.
	heard *Response

	// What the client said.
	Requests    uint64
	First, Last *Request
	EverNamed   bool
	Wild        wildness
	EverWild    bool
	Names       names
	Dropped     map[string]dropped // names that were given up, for a while
	Cleared     time.Time          // when the last name was given up; zero while there are names or a wildcard
	ClearedAt   session.Seq
	Initial     map[string]string // initial_resource_versions of the first request
	lastEchoed  *Response         // the newest response that a request echoed

	// What the server said.
	Sent      []*Response // the newest of them, and older ones without a verdict; oldest first
	past      past        // the nonces of older ones
	ByNonce   map[string]*Response
	Forgotten bool // responses were forgotten
	Responses uint64
	Accepted  *Response            // the newest one that was accepted
	version   string               // version_info that the client holds, as it said or accepted last
	Versions  past                 // of its responses
	rejected  *Response            // the newest one if it was rejected and nothing was accepted since
	bad       map[string]*Resource // what was rejected and not accepted since, some of it
	nack      string               // why the client rejected last
	nackSeq   session.Seq
	Have      inventory // what it has sent, as the client would have it
	Seeded    bool      // have began with what the client declared, which is kept
	Kept      inventory
	Variants  bool // resources of one name differ by constraints, which have does not tell apart
	// doesNotExist are names that were asked for and that the server said it
	// does not have.
	DoesNotExist map[string]struct{}
	Losses       int // how often part of the stream was not seen

	Memory, Lasting Memory // of those who look at the type
}

// dropped is a name that the client gave up.
type dropped struct {
	At        time.Time
	Delivered bool
}

// request is a discovery request in its conversation.
type Request struct {
	Seq        session.Seq
	At         time.Time
	Message    *decode.Message
	Size       int64
	Ordinal    uint64 // of the type on the stream, from 0
	Echoed     *Response
	EchoedPast bool    // it echoes a response that is not remembered in full
	Verdict    verdict // that it gives; unjudged if it gives none
	Fresh      bool    // it knows the newest response of the type
	Stale      bool    // it echoes an older one
	// added and removed are the names that it adds to and takes from what the
	// client wants, without "*".
	Added, Removed []string
	Given          []string // names that it gives, as they are compared
	// before is how it was when the request came.
	Before struct {
		Lost      bool
		Wild      wildness
		EverNamed bool
		Count     int // names
		Accepted  *Response
		version   string
		Newest    *Response
		LastEcho  *Response
	}
}

// named says how many names it lists.
func (r *Request) Named() int { return len(r.Message.Names) + len(r.Message.Subscribe) }

// verdict is what became of a response.
type verdict uint8

const (
	Unjudged verdict = iota
	ACKed
	NACKed
	Folded  // the client went on to a newer one
	Unclear // echoed with another version and no error
)

// response is a discovery response in its conversation.
type Response struct {
	Seq      session.Seq
	At       time.Time
	Ordinal  uint64 // of the type on the stream, from 0
	stamp    uint64 // as the items that it had carry it
	Nonce    string
	Version  string
	Size     int64
	Verdict  verdict
	Kind     decode.Kind
	JudgedBy *Request  // nil of older ones
	Count    int       // resources
	Sum      [2]uint64 // over names and contents, whatever their order
	again    int       // resources that were there with the same content
	Twice    int       // resources of a name that it has already given
	Was      int       // resources before it
	Reused   *Response // that had the same nonce before
	// reusedPast says that so had one that is not remembered in full.
	ReusedPast bool
	WasFirst   bool // it is the first of the type on the stream
	Opaque     bool // rejected, and part of it cannot be decoded
	// foreign says that the payloads are of another type than the response, on
	// purpose: Istio's configuration over xDS.
	Foreign bool
	// details are most of the memory that it takes, and none of older ones:
	// these share empty ones, to which nobody writes.
	*details
}

// details is what only recent responses need.
type details struct {
	Message  *decode.Message // only while the rules look at it
	Resolved []*Resource     // its resources, in order, those with a name; nil of older ones
	Added    []*Resource     // that were not there before
	Changed  []*Resource     // that were there with another content
	Before   []*Resource     // what changed was before, in the order of changed
	Removed  []*Resource     // that are there no more: by absence, or as it says
	// heartbeats are the positions of resources without a payload.
	Heartbeats []int
	Same       []*Resource // delta: that came again at the same version with the same content
	Nameless   []*Content  // of resources without a name, in order
	peculiar
	Wanted *Request // the last request of the type before it
}

func (s *Subscription) Newest() *Response {
	if len(s.Sent) == 0 {
		return nil
	}
	return s.Sent[len(s.Sent)-1]
}

// wants says whether the client asks for a name now.
func (s *Subscription) Wants(name string) bool { return s.Wild != NotWild || s.Names.Has(name) }

// wantedLately says whether the client asked for a name within d of now.
func (s *Subscription) WantedLately(name string, now time.Time, d time.Duration) bool {
	if s.Wants(name) {
		return true
	}
	was, ok := s.Dropped[name]
	return ok && !was.At.Before(now.Add(-d))
}

// active says whether the client wants anything.
func (s *Subscription) Active() bool { return s.Wild != NotWild || s.Names.Len() > 0 }

// typeKind groups types by how the protocol treats them.
type typeKind uint8

const (
	fullType   typeKind = 1 << iota // a response is the whole state: LDS, CDS
	namedType                       // resources are asked for by name
	wildType                        // a nameless request may stand for all
	exemptType                      // no acknowledgement and no subscription
	EnvoyType                       // of Envoy's API
)

func kindOfType(typ, url string) typeKind {
	name := decode.TypeName(url)
	var k typeKind
	if strings.HasPrefix(name, "envoy.") || url == "" {
		k |= EnvoyType
	} else {
		k |= wildType
	}
	switch typ {
	case "LDS", "CDS":
		k |= fullType | wildType
	case "SRDS", "VHDS":
		k |= wildType
	case "RDS", "EDS", "SDS", "RTDS", "ECDS", "LEDS":
		k |= namedType
	}
	if strings.HasPrefix(url, "istio.io/debug") || strings.HasPrefix(name, "istio.io/debug") || name == healthInformation {
		k |= exemptType
	}
	return k
}

// healthInformation is what an istio-agent tells istiod of its workload; its
// error_detail is no rejection.
const healthInformation = "istio.v1.HealthInformation"

func (s *Subscription) Full() bool   { return s.Kind&fullType != 0 }
func (s *Subscription) Named() bool  { return s.Kind&namedType != 0 }
func (s *Subscription) Exempt() bool { return s.Kind&exemptType != 0 }

// whole says whether absence from a state-of-the-world response deletes: by
// the protocol for LDS and CDS, and for SRDS because Envoy does so.
func (s *Subscription) Whole() bool { return s.Full() || s.Type == "SRDS" }
