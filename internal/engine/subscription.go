package engine

import (
	"hash/maphash"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine/survey"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// wildness is whether a client wants all resources of a type.
type wildness uint8

const (
	NotWild      wildness = iota
	LegacyWild            // its first request named nothing
	ExplicitWild          // it asked for "*"
)

// Subscription is one type on one stream: what the client wants and knows, and
// what the server has sent.
type Subscription struct {
	Stream *Stream
	Key    string // shared by versions 2 and 3 of a type
	Type   string // short
	URL    string // as it was said last
	Facts  facts
	// Lost says that part of the conversation was not seen, so that rules
	// which need it stay silent.
	Lost bool
	// Found is when that was over.
	Found time.Time
	// heard says that since then a response was seen, which a request that
	// echoes it turns into a new beginning.
	heard *Response

	// What the client said.
	Requests    uint64
	First, Last *Request
	prior       *Request    // the one before Last
	namingSeq   session.Seq // the first request that named resources
	namingOn    session.StreamID
	nameless    bool // its first request named nothing
	announced   bool // it had a version
	EverNamed   bool
	Wild        wildness
	WildEnded   time.Time // when the client gave up the wildcard; zero while it has one, or never had
	Names       names
	list        *NameList          // that a state-of-the-world client sent last; nil: not known
	Dropped     map[string]dropped // names that were given up, for a while
	Cleared     time.Time          // when the last name was given up; zero while there are names or a wildcard
	ClearedAt   session.Seq
	Initial     map[string]string // initial_resource_versions of the first request
	lastEchoed  *Response         // the newest response that a request echoed

	// What the server said.
	Sent       []*Response // the newest of them, and older ones without a verdict; oldest first
	nonceHash  []uint64    // of their nonces, with seed
	usedNonces used        // of older ones
	Forgotten  bool        // responses were forgotten
	unanswered bool        // some of those had no verdict
	Responses  uint64
	Accepted   *Response   // the newest one that was accepted
	last       session.Seq // that was accepted, here or on the stream that this one reconnects; 0: not known, or none
	version    string      // version_info that the client holds, as it said or accepted last
	Versions   used        // of its responses
	nacks      int         // rejections since the client accepted last
	refused    refusal     // what it rejected last
	refusals   []refusal   // what it rejected before that, and was sent nothing else of; oldest first
	told       *Response   // the newest that has more than heartbeats, nil if none is known
	nack       string      // why
	nackSeq    session.Seq
	unseen     string      // nonce of the last verdict on a response that was not seen
	unseenSeq  session.Seq // that verdict
	Have       inventory   // what it has sent, as the client would have it
	open       unsettled   // what of that the client has not accepted
	Seeded     bool        // have began with what the client declared, which is kept
	Kept       inventory
	former     former
	Variants   bool // resources of one name differ by constraints, which have does not tell apart
	// gone are names that were asked for and that the server said it does not
	// have, on this stream or one before: true; or may have said so, where part of
	// that was not seen: false. Where there are too many, goneMore says so.
	gone     map[string]bool
	goneMore bool
	aliases  aliases
	nonces   []pastNonce // of the last responses, once the stream has ended
	seed     maphash.Seed
	Losses   int // how often part of the stream was not seen

	Memory, Lasting Slots // of those who look at the type
}

// dropped is a name that the client gave up.
type dropped struct {
	At        time.Time
	Delivered bool
	// Here says that it was sent on this stream, Version and Hash as what.
	Here    bool
	Version string
	Hash    [16]byte
	Decoded bool // before it was compared
}

// Request is a discovery request in its conversation.
type Request struct {
	On         session.StreamID
	Seq        session.Seq
	At         time.Time
	Message    *decode.Message
	Size       int64
	Ordinal    uint64 // of the type on the stream, from 0
	Echoed     *Response
	EchoedPast bool        // it echoes a response that is not remembered in full
	Verdict    verdict     // that it gives; unjudged if it gives none
	Overrules  session.Seq // the acceptance that it takes back, 0 if none
	Fresh      bool        // it knows the newest response of the type
	Stale      bool        // it echoes an older one
	// added and removed are the names that it adds to and takes from what the
	// client wants, without "*".
	Added, Removed []string
	Given          []string  // names that it gives, as they are compared
	List           *NameList // of a state-of-the-world request, nil if there was no room for it
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

// Named says how many names it lists.
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

// Response is a discovery response in its conversation.
type Response struct {
	beating   bool // some of its resources have no payload
	pulsed    bool // all of them
	refused   bool // it is what was rejected on the stream before
	moved     bool // what it changes was known from another client
	On        session.StreamID
	Seq       session.Seq
	At        time.Time
	Ordinal   uint64 // of the type on the stream, from 0
	stamp     uint64 // as the items that it had carry it
	Nonce     string
	Version   string
	Size      int64
	Verdict   verdict
	Kind      decode.Kind
	JudgedBy  *Request // nil of older ones
	judgedAt  time.Time
	judgedSeq session.Seq // of the verdict, 0 if there is none; see Judged
	judgedOn  session.StreamID
	Count     int       // resources
	Sum       [2]uint64 // over names and contents, whatever their order
	again     int       // resources that were there with the same content
	Freed     int       // those of them that had a TTL, and have none any more
	Twice     int       // resources of a name that it has already given
	Was       int       // resources before it
	Reused    *Response // that had the same nonce before
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
	gone     []string        // names that a delta response removes
	beats    map[string]bool // names of resources without a payload
	// Heartbeats are the positions of resources without a payload.
	Heartbeats []int
	Same       []*Resource // delta: that came again at the same version with the same content, with a TTL or without as before
	Reissued   []*Resource // delta: that came again at another version with the same content
	Nameless   []*Content  // of resources without a name, in order
	survey.Peculiar
	Wanted *Request // the last request of the type before it
}

func (s *Subscription) Newest() *Response {
	if len(s.Sent) == 0 {
		return nil
	}
	return s.Sent[len(s.Sent)-1]
}

// Wants says whether the client asks for a name now.
func (s *Subscription) Wants(name string) bool { return s.Wild != NotWild || s.Names.Has(name) }

// WantedLately says whether the client asked for a name within d of now.
func (s *Subscription) WantedLately(name string, now time.Time, d time.Duration) bool {
	if s.Wants(name) {
		return true
	}
	was, ok := s.Dropped[name]
	return ok && !was.At.Before(now.Add(-d))
}

// Active says whether the client wants anything.
func (s *Subscription) Active() bool { return s.Wild != NotWild || s.Names.Len() > 0 }

// facts are what the protocol says of a type.
type facts struct {
	xds.Type      // the zero one for a type that is not known
	Envoy    bool // of Envoy's API, or not named
	exempt   bool
}

func factsOf(typ, url string) facts {
	name := xds.TypeName(url)
	return facts{
		Type:   xds.ByShort(typ),
		Envoy:  strings.HasPrefix(name, "envoy.") || url == "",
		exempt: strings.HasPrefix(url, "istio.io/debug") || strings.HasPrefix(name, "istio.io/debug") || name == healthInformation,
	}
}

// healthInformation is what an istio-agent tells istiod of its workload; its
// error_detail is no rejection.
const healthInformation = "istio.v1.HealthInformation"

func (s *Subscription) Full() bool  { return s.Facts.Full }
func (s *Subscription) Named() bool { return s.Facts.Named }

// Exempt says whether the type has no acknowledgement and no subscription.
func (s *Subscription) Exempt() bool { return s.Facts.exempt }

// Whole says whether absence from a state-of-the-world response deletes.
func (s *Subscription) Whole() bool { return s.Facts.Whole }

func (s *Subscription) lose() {
	s.Lost, s.heard, s.Forgotten, s.last, s.former.lost = true, nil, true, 0, true
	s.open = unsettled{unsure: true}
	s.Memory, s.Stream.Memory = nil, nil
	s.Losses++
	s.Stream.Moved++
}

// Everything says whether the client asks for all there is of the type. No
// names stand for that where the type can be asked for without.
func (s *Subscription) Everything() bool {
	return s.Wild == ExplicitWild || s.Wild == LegacyWild && !s.Named()
}
