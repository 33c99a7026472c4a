package engine

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// The words for what a message does.
const (
	NACK  = "NACK"  // rejects a response
	ACK   = "ACK"   // accepts a response
	SUB   = "SUB"   // first request of a type, or it asks for more names
	UNSUB = "UNSUB" // asks for fewer names, and for none that is new
	REQ   = "REQ"   // any other request
	RESP  = "RESP"  // a response: the state of the world
	DELTA = "DELTA" // a response: what changed
)

// Change is what one entry means in its conversation.
type Change struct {
	Method  xds.Method
	Variant xds.Variant
	// Client is the node id that the stream gave, or else the one that its
	// connection gave last: clients name themselves on the first stream that
	// they open, and agents forward many streams of one node.
	Client string
	// Node is who that client said it was, nil if it did not, or at too great
	// length to be remembered. Nobody may write to it.
	Node *decode.Node
	// Type is the short type, such as "CDS": that of the message, or of the
	// stream if it carries one type only.
	Type string
	// Message is the envelope of a Message entry, else nil.
	Message *decode.Message
	// What is the foremost of the words above that applies to a message, Also
	// holds the others. Both are empty for any other entry.
	What string
	Also []string
	// Added and Removed are the names that a request adds to and takes from
	// what its sender asks for. Of a state-of-the-world request they are the
	// difference to the request before, of a delta request what it says.
	// Removed of a DELTA are the resources that it removes.
	Added, Removed []string
	// Answers is the response that an ACK or a NACK is about, 0 if it was not
	// seen.
	Answers session.Seq
	// Waited is how long the sender of an ACK or a NACK took for it since that
	// response was there, at least a nanosecond; 0 if that is not known.
	Waited time.Duration
	// Uncertain says that part of the stream was not seen or could not be
	// read, so that What is a best guess.
	Uncertain bool

	// Accepted is the response of the type that the client had accepted last
	// before this entry, on this stream or, if it says that it has that still,
	// on the one that this reconnects. It is 0 if that is not known, and if
	// there was none: None tells these apart.
	Accepted session.Seq
	None     bool
	// All says that a request asks for all that there is.
	All bool
	// batch is the resources of a response, if they are known by where they
	// are.
	batch *chunk.Batch

	// What the entry was entered into; nil if there is none. It is as it was
	// right after this step, until the next.
	Stream   *Stream
	Sub      *Subscription
	Request  *Request
	Response *Response
	Ended    bool // it ends Stream
}

// Names are the names that the message is about: the resources of a response,
// the list of a state-of-the-world request as sent.
func (c *Change) Names() []string {
	switch {
	case c.Message == nil:
		return nil
	case c.Message.Response():
		return c.Message.ResourceNames()
	}
	return c.Message.Names
}

// Everything is what Count says of a request for all that there is.
const Everything = -1

// Count is how many resources the message carries, or how many names it is
// about; false if it is about none, or no discovery message.
func (c *Change) Count() (n int, is bool) {
	m := c.Message
	if m == nil || m.Unread {
		return 0, false
	}
	switch m.Kind {
	case decode.SotwResponse, decode.DeltaResponse:
		return len(m.Resources) + len(m.Removed), true
	case decode.SotwRequest:
		if c.All {
			return Everything, true
		}
		return len(m.Names), true
	case decode.DeltaRequest:
		if n := len(c.Added) + len(c.Removed); n > 0 || c.What != SUB {
			return n, n > 0
		}
		if c.All {
			return Everything, true
		}
		return len(m.Subscribe), true
	}
	return 0, false
}

// Resource finds a resource that a response carries by its name; nil if it does
// not. Its Decode gives the content.
func (c *Change) Resource(name string) *decode.Resource {
	if c.Message == nil {
		return nil
	}
	normal := ""
	if strings.HasPrefix(name, "xdstp:") {
		normal = decode.NormalName(name)
	}
	for i := range c.Message.Resources {
		r := &c.Message.Resources[i]
		if r.Name == name || normal != "" && decode.NormalName(r.Name) == normal {
			return r
		}
	}
	return nil
}
