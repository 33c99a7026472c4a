package check

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// talk is a stream as the rules see it: what both sides have said on it, type
// by type.
type talk struct {
	id     session.StreamID
	conn   session.ConnID
	h2     uint32
	method decode.Method
	opened time.Time
	openAt session.Seq
	server string // address of the management server, "" if unknown
	peer   string // address of the client

	// The node of the first request that had one, and the one seen last.
	node, lastNode *decode.Node
	nodeAt         session.Seq
	previous       *talk // the stream that this one reconnects, nil if none
	resumed        bool  // another one reconnects it

	subs   map[string]*subscription
	order  []*subscription // in the order in which the types came up
	latest *subscription   // that a message was about

	requests, responses uint64
	firstResponse       time.Time
	lastClient          time.Time // when the client sent its last message
	lastClientSeq       session.Seq
	lastServer          time.Time
	halfClosed          time.Time // zero: not half-closed
	halfClosedAt        session.Seq
	ended               bool
	endedAt             time.Time
	endSeq              session.Seq
	echo                time.Duration // the shortest time that the client took to answer
	largest             int64         // message, in bytes
	lost                bool          // part of it was not seen

	moved  uint64 // how often what the server has sent may have changed
	status string // of HTTP, once the server's headers were seen

	memory, lasting Memory // of those who look at the stream
}

func (t *talk) alive() bool { return !t.ended }

// ads says whether all types share the stream.
func (t *talk) ads() bool {
	return t.method.Variant == decode.VariantSotwADS || t.method.Variant == decode.VariantDeltaADS
}

func (t *talk) delta() bool {
	return t.method.Variant == decode.VariantDelta || t.method.Variant == decode.VariantDeltaADS
}

// stream says whether it is one of the four discovery variants on gRPC.
func (t *talk) discovery() bool {
	switch t.method.Variant {
	case decode.VariantSotw, decode.VariantSotwADS, decode.VariantDelta, decode.VariantDeltaADS:
		return !t.method.Unary
	}
	return false
}

// grpcClient says whether the client is one of gRPC's own, by its user agent
// name ("gRPC Go", "gRPC Java", "gRPC C-core …").
func (t *talk) grpcClient() bool {
	return t.node != nil && strings.HasPrefix(t.node.UserAgent, "gRPC")
}

func (t *talk) envoyClient() bool { return t.node != nil && t.node.UserAgent == "envoy" }

// sub returns the subscription of a short type, or nil.
func (t *talk) sub(typ string) *subscription {
	for _, s := range t.order {
		if s.typ == typ {
			return s
		}
	}
	return nil
}

// wildness is whether a client wants all resources of a type.
type wildness uint8

const (
	notWild      wildness = iota
	legacyWild            // its first request named nothing
	explicitWild          // it asked for "*"
)

// subscription is one type on one stream: what the client wants and knows, and
// what the server has sent.
type subscription struct {
	talk *talk
	key  string // shared by versions 2 and 3 of a type
	typ  string // short
	url  string // as it was said last
	kind typeKind
	// lost says that part of the conversation was not seen, so that rules
	// which need it stay silent.
	lost bool
	// found is when that was over.
	found time.Time
	// heard says that since then a response was seen, which a request that
	// echoes it turns into a new beginning.
	heard *response

	// What the client said.
	requests    uint64
	first, last *request
	everNamed   bool
	wild        wildness
	everWild    bool
	names       names
	dropped     map[string]dropped // names that were given up, for a while
	cleared     time.Time          // when the last name was given up; zero while there are names or a wildcard
	clearedAt   session.Seq
	initial     map[string]string // initial_resource_versions of the first request
	lastEchoed  *response         // the newest response that a request echoed

	// What the server said.
	sent      []*response // the newest of them, and older ones without a verdict; oldest first
	past      past        // the nonces of older ones
	byNonce   map[string]*response
	forgotten bool // responses were forgotten
	responses uint64
	accepted  *response        // the newest one that was accepted
	version   string           // version_info that the client holds, as it said or accepted last
	versions  past             // of its responses
	rejected  *response        // the newest one if it was rejected and nothing was accepted since
	bad       map[string]*item // what was rejected and not accepted since, some of it
	nack      string           // why the client rejected last
	nackSeq   session.Seq
	have      inventory // what it has sent, as the client would have it
	seeded    bool      // have began with what the client declared, which is kept
	kept      inventory
	variants  bool // resources of one name differ by constraints, which have does not tell apart
	// doesNotExist are names that were asked for and that the server said it
	// does not have.
	doesNotExist map[string]struct{}
	losses       int // how often part of the stream was not seen

	memory, lasting Memory // of those who look at the type
}

// dropped is a name that the client gave up.
type dropped struct {
	at        time.Time
	delivered bool
}

// request is a discovery request in its conversation.
type request struct {
	seq        session.Seq
	at         time.Time
	m          *decode.Message
	size       int64
	ordinal    uint64 // of the type on the stream, from 0
	echoed     *response
	echoedPast bool    // it echoes a response that is not remembered in full
	verdict    verdict // that it gives; unjudged if it gives none
	fresh      bool    // it knows the newest response of the type
	stale      bool    // it echoes an older one
	// added and removed are the names that it adds to and takes from what the
	// client wants, without "*".
	added, removed []string
	given          []string // names that it gives, as they are compared
	// before is how it was when the request came.
	before struct {
		lost      bool
		wild      wildness
		everNamed bool
		count     int // names
		accepted  *response
		version   string
		newest    *response
		lastEcho  *response
	}
}

// named says how many names it lists.
func (r *request) named() int { return len(r.m.Names) + len(r.m.Subscribe) }

// verdict is what became of a response.
type verdict uint8

const (
	unjudged verdict = iota
	accepted
	rejected
	folded  // the client went on to a newer one
	neither // echoed with another version and no error
)

// response is a discovery response in its conversation.
type response struct {
	seq      session.Seq
	at       time.Time
	ordinal  uint64 // of the type on the stream, from 0
	stamp    uint64 // as the items that it had carry it
	nonce    string
	version  string
	size     int64
	verdict  verdict
	kind     decode.Kind
	judgedBy *request  // nil of older ones
	count    int       // resources
	sum      [2]uint64 // over names and contents, whatever their order
	again    int       // resources that were there with the same content
	twice    int       // resources of a name that it has already given
	was      int       // resources before it
	reused   *response // that had the same nonce before
	// reusedPast says that so had one that is not remembered in full.
	reusedPast bool
	wasFirst   bool // it is the first of the type on the stream
	opaque     bool // rejected, and part of it cannot be decoded
	// foreign says that the payloads are of another type than the response, on
	// purpose: Istio's configuration over xDS.
	foreign bool
	// details are most of the memory that it takes, and none of older ones:
	// these share empty ones, to which nobody writes.
	*details
}

// details is what only recent responses need.
type details struct {
	m        *decode.Message // only while the rules look at it
	resolved []*item         // its resources, in order, those with a name; nil of older ones
	added    []*item         // that were not there before
	changed  []*item         // that were there with another content
	before   []*item         // what changed was before, in the order of changed
	removed  []*item         // that are there no more: by absence, or as it says
	// heartbeats are the positions of resources without a payload.
	heartbeats []int
	same       []*item    // delta: that came again at the same version with the same content
	nameless   []*content // of resources without a name, in order
	peculiar
	wanted *request // the last request of the type before it
}

func (s *subscription) newest() *response {
	if len(s.sent) == 0 {
		return nil
	}
	return s.sent[len(s.sent)-1]
}

// wants says whether the client asks for a name now.
func (s *subscription) wants(name string) bool { return s.wild != notWild || s.names.has(name) }

// wantedLately says whether the client asked for a name within d of now.
func (s *subscription) wantedLately(name string, now time.Time, d time.Duration) bool {
	if s.wants(name) {
		return true
	}
	was, ok := s.dropped[name]
	return ok && !was.at.Before(now.Add(-d))
}

// active says whether the client wants anything.
func (s *subscription) active() bool { return s.wild != notWild || s.names.len() > 0 }

// typeKind groups types by how the protocol treats them.
type typeKind uint8

const (
	fullType   typeKind = 1 << iota // a response is the whole state: LDS, CDS
	namedType                       // resources are asked for by name
	wildType                        // a nameless request may stand for all
	exemptType                      // no acknowledgement and no subscription
	envoyType                       // of Envoy's API
)

func kindOfType(typ, url string) typeKind {
	name := decode.TypeName(url)
	var k typeKind
	if strings.HasPrefix(name, "envoy.") || url == "" {
		k |= envoyType
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

func (s *subscription) full() bool   { return s.kind&fullType != 0 }
func (s *subscription) named() bool  { return s.kind&namedType != 0 }
func (s *subscription) exempt() bool { return s.kind&exemptType != 0 }

// whole says whether absence from a state-of-the-world response deletes: by
// the protocol for LDS and CDS, and for SRDS because Envoy does so.
func (s *subscription) whole() bool { return s.full() || s.typ == "SRDS" }
