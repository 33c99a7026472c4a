package agree

import (
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// mark is what a client has said of a response.
type mark uint8

const (
	open     mark = iota // nothing yet
	accepted             // ACK
	rejected             // NACK
	unclear              // echoed with another version and no error: neither
)

// reply is a response in its conversation.
type reply struct {
	seq            session.Seq
	at             time.Time
	ordinal        int
	nonce, version string
	delta          bool
	resources      map[string]content // those with a content, by name
	heartbeats     []string           // names of those without
	removed        []string
	pulse          bool   // it has nothing but heartbeats
	sum            string // equal for equal contents
	odd            bool   // a name comes twice, is removed as well, or has variants
	sure           bool
	run            *run
	brought        []brought // the versions of resources that it came with

	mark     mark
	judgedAt session.Seq // last
	why      string      // it was rejected last, by nackSeq
	nackSeq  session.Seq
	flipped  bool // it was accepted first
	again    bool // the last error is not the first verdict
	passed   bool // the client accepted a later one and never answered this
}

// run is responses in a row that have the same content.
type run struct {
	sum     string
	first   bool // nothing else was sent on the stream before
	blurred bool // heartbeats were sent in between
}

// follow enters a response behind the one before it.
func (n *reply) follow(last *reply) {
	switch {
	case last == nil:
		n.run = &run{sum: n.sum, first: true}
		return
	case n.pulse:
		n.run = last.run
		n.run.blurred = true
	case n.sum == last.run.sum:
		n.run = last.run
	default:
		n.run = &run{sum: n.sum}
	}
	n.ordinal = last.ordinal + 1
}
