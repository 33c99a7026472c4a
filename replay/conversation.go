package replay

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Conversation is what is said on a live stream, followed as that of a recording
// is.
type Conversation struct{ engine *engine.Engine }

func NewConversation(m xds.Method) Conversation {
	c := Conversation{engine.New(engine.Options{Names: true})}
	c.engine.Step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: m.Path})
	return c
}

// Step takes the next message. seq is what it is known by afterwards, in the
// verdict on it.
func (c Conversation) Step(side session.Side, seq session.Seq, data []byte) engine.Change {
	return c.engine.Step(&session.Entry{
		Kind: session.KindMessage, Conn: 1, Stream: 1, Side: side, Time: time.Now(), Seq: seq,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	})
}
