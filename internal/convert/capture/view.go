package capture

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxSeen is how many entries tell which end is the client, before the ports do.
const maxSeen = 256

// view is a connection as it looks where one end is the client. A connection whose
// beginning is not in the capture is looked at in both ways, until what is said
// tells them apart.
type view struct {
	c      *conn
	client int
	tap    *wire.Tap
	seen   []session.Entry // while there is another view
	over   bool            // the tap says of streams that they end with the capture
}

func newView(c *conn, client int) *view {
	v := &view{c: c, client: client}
	ids := session.StreamID(0)
	v.tap = wire.NewTap(wire.Config{
		Sink: v, Memory: c.r.memory, Midway: !c.synced,
		NewStream: func() session.StreamID { ids++; return ids },
	})
	return v
}

func (v *view) side(from int) session.Side {
	if from == v.client {
		return session.Client
	}
	return session.Server
}

// Append takes an entry of the tap.
func (v *view) Append(e session.Entry) session.Seq {
	c := v.c
	if v.over {
		for i := range e.Problems {
			e.Problems[i] = strings.Replace(e.Problems[i], "the connection ended", "the capture ends", 1)
		}
	}
	switch {
	case v == c.loser, v.over && e.Kind == session.KindCancel:
	case len(c.views) < 2:
		c.append(e)
	default:
		full := len(v.seen) >= maxSeen || c.r.held > maxHeld
		if !full {
			v.seen = append(v.seen, e)
			c.r.held += cost(&e)
		}
		switch said := speaker(&e); {
		case said == e.Side:
			c.settle(v.client)
		case said != session.SideUnknown:
			c.settle(1 - v.client)
		case full:
			if c.settle(c.byPorts()); c.client == v.client {
				c.append(e)
			}
		}
	}
	return 0
}

// settle says which end is the client.
func (c *conn) settle(client int) {
	v := c.views[client]
	c.client, c.loser, c.views = client, c.views[1-client], c.views[client:client+1]
	seen := v.seen
	for _, e := range slices.Concat(seen, c.loser.seen) {
		c.r.held -= cost(&e)
	}
	v.seen, c.loser.seen = nil, nil
	for _, e := range seen {
		c.append(e)
	}
}

// byPorts is which end is the client by the ports: a server's is mostly the lower.
func (c *conn) byPorts() int {
	if c.ends[0].Port() > c.ends[1].Port() {
		return 0
	}
	return 1
}

// speaker is who has said what is in an entry, if that tells it.
func speaker(e *session.Entry) session.Side {
	switch {
	case e.Kind == session.KindOpen && e.Method != "":
		return session.Client
	case e.Message != nil && e.Message.Whole():
		return sender(e.Message.Data.Bytes())
	}
	for _, f := range e.Headers {
		switch f.Name {
		case ":status", "grpc-status":
			return session.Server
		case ":path":
			return session.Client
		}
	}
	return session.SideUnknown
}

// sender tells from a message of discovery who sent it, if that can be told: field 2
// holds the type URL in a delta request, and the resources in responses; field 3
// the names in requests of both kinds.
func sender(data []byte) session.Side {
	one, _ := decode.KindOf(xds.Method{}, session.Client, session.Chunks{data})
	another, _ := decode.KindOf(xds.Method{}, session.Server, session.Chunks{data})
	if one == decode.Other && another == decode.Other {
		return session.SideUnknown
	}
	for s := protoscan.Of(data); s.Next(); {
		b, bytes := s.Bytes()
		switch {
		case !bytes:
		case s.Num == 3, s.Num == 2 && isType(b):
			return session.Client
		case s.Num == 2 && (isType(protoscan.First(b, 1)) || isType(protoscan.First(protoscan.First(b, 2), 1))):
			return session.Server
		}
	}
	return session.SideUnknown
}

func isType(b []byte) bool { return strings.HasPrefix(string(b), "type.googleapis.com/") }
