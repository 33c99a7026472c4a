package replay

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// conversation is what is said on a live stream, followed as that of a recording
// is.
type conversation struct{ engine *engine.Engine }

func newConversation(m xds.Method) conversation {
	c := conversation{engine.New(engine.Options{Names: true})}
	c.engine.Step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: m.Path})
	return c
}

// step takes the next message. seq is what it is known by afterwards, in the
// verdict on it.
func (c conversation) step(side session.Side, seq session.Seq, data []byte) engine.Change {
	return c.engine.Step(&session.Entry{
		Kind: session.KindMessage, Conn: 1, Stream: 1, Side: side, Time: time.Now(), Seq: seq,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	})
}
