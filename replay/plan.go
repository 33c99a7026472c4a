package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Plan is what a recording says of who said what, and what caused it.
type Plan struct {
	Streams  []*Stream  // that can be played, in the order in which they began
	Pollings []*Polling // the same for polls
	Notes    []string   // what of the recording cannot be played, and why
	Clients  []string   // node ids, in the order in which they came up; "" for one without

	bodies *bodies
}

// Body is the bytes of a message in one piece; nobody may write to them. It may
// be called from several goroutines.
func (p *Plan) Body(ctx context.Context, seq session.Seq) ([]byte, error) {
	return p.bodies.body(ctx, seq)
}

// Close lets go of the recording.
func (p *Plan) Close() error { return p.bodies.close() }

// RoleOf is the recorded client that a live one with this node id plays: the one
// that was asked for, or the one with its id, or the only one.
func RoleOf(asked, id string, recorded []string) (client string, known bool) {
	switch {
	case asked != "":
		return asked, true
	case slices.Contains(recorded, id):
		return id, true
	case len(recorded) == 1:
		return recorded[0], true
	}
	return "", false
}

// Stream is one recorded stream.
type Stream struct {
	ID     session.StreamID
	Conn   session.ConnID
	Method xds.Method
	Client string // node id
	Envoy  bool   // the client is one
	Opened session.Seq
	Steps  []Step
	Topics []*Topic
	End    *End  // nil if the recording ends before the stream does
	Until  int64 // when either was, in nanoseconds since 1970

	// Partial says that part of the stream was not recorded: how it began, or
	// what was lost in a gap. What is not known is not expected.
	Partial bool
	chosen  bool // it is, by nothing but what was left out on purpose
}

// Topic is one resource type on one stream.
type Topic struct {
	Key     string // as xds.TypeKey gives it
	Type    string // short
	TypeURL string
	// Whole says that in the state of the world what a response leaves out is
	// gone.
	Whole bool
	// Responses are the indexes of its responses among the steps.
	Responses []int32
	// Requests is how many there were.
	Requests int
}

// Place is the number of a response among those of the topic, counted from 1.
func (t *Topic) Place(step int32) int {
	n, _ := slices.BinarySearch(t.Responses, step)
	return n + 1
}

// End is how a stream ended.
type End struct {
	Seq  session.Seq
	Side session.Side
	// Code is the gRPC status, or -1 if there was none.
	Code    int32
	Message string
}

// ByServer says whether the client had no part in the end.
func (e *End) ByServer() bool { return e != nil && e.Side != session.Client }

// Verdict is what a client made of a response.
type Verdict uint8

const (
	Unanswered Verdict = iota
	ACKed
	NACKed
	neither // it echoed the nonce, with another version and no error
)

func (v Verdict) String() string {
	switch v {
	case ACKed:
		return "ACK"
	case NACKed:
		return "NACK"
	case neither:
		return "neither ACK nor NACK"
	}
	return "no answer"
}

// VerdictOf is the one that a request gives, if any.
func VerdictOf(q *engine.Request) Verdict {
	switch q.Verdict {
	case engine.ACKed:
		return ACKed
	case engine.NACKed:
		return NACKed
	case engine.Unclear:
		return neither
	}
	return Unanswered
}

// None is the index of a step that there is not.
const None int32 = -1

// Step is one message of a stream.
type Step struct {
	Seq    session.Seq
	At     int64 // nanoseconds since 1970
	Topic  int32
	Server bool // who said it
	// Whole says that all its bytes are there to be said again.
	Whole bool
	// Masked says that there are masks in them.
	Masked bool

	// Of a response: what the client made of it, and where it said so.
	Verdict  Verdict
	Answered int32
	// Silent says that the client had time enough for an answer to it, the newest
	// of its type, and gave none. Unanswered alone, it may only not be recorded.
	Silent bool

	// Of a request: the response whose nonce it carries, if that was seen, and
	// whether this is the answer to it or only repeats the nonce.
	Echo    int32
	Answers bool
	Nonce   bool // it has one
	Holds   bool // its version is that of the response that it echoes
	Resumes bool // it declares versions that the client held already
	// Added and Removed are names that it began or ceased to ask for. "*" is
	// everything. Many steps share them.
	Added, Removed []string
}

// Expects says whether it is known what the client makes of a response that can
// be said again.
func (s *Step) Expects() bool { return s.Server && s.Whole && (s.Answered != None || s.Silent) }

// maxAsked is how many names of one type on one stream are remembered.
const maxAsked = 1 << 20

// Everything is the name for all resources of a type.
const Everything = "*"

func (s *Stream) String() string {
	what := string(s.Method.Variant)
	if s.Method.Type != "" {
		what += " " + s.Method.Type
	}
	return fmt.Sprintf("stream %d of %s (%s)", s.ID, ClientName(s.Client), what)
}

// Streamed says whether a method is a discovery stream.
func Streamed(m xds.Method) bool { return m.Variant.Discovery() && !m.Unary }

func (s *Stream) Delta() bool { return s.Method.Variant.Delta() }

// TypeKey is the type of a message on the stream that names this one, or none.
func (s *Stream) TypeKey(url string) string {
	if url == "" {
		return s.Method.Type
	}
	return xds.TypeKey(url)
}

// OnDemand says whether the client asks for a name only when a request that it
// serves needs it: an Envoy for a virtual host of VHDS, and for a cluster by its
// plain name.
func (s *Stream) OnDemand(t *Topic, name string) bool {
	return s.Envoy && name != Everything && (t.Type == "VHDS" || t.Type == "CDS" && !strings.HasPrefix(name, "xdstp:"))
}

// TopicOf is the index of a type, or none.
func (s *Stream) TopicOf(key string) int32 {
	for i, t := range s.Topics {
		if t.Key == key {
			return int32(i)
		}
	}
	return None
}

// StepOf is the one with a number, or none.
func (s *Stream) StepOf(seq session.Seq) int32 {
	i, is := slices.BinarySearchFunc(s.Steps, seq, func(st Step, seq session.Seq) int { return cmp.Compare(st.Seq, seq) })
	if !is {
		return None
	}
	return int32(i)
}
