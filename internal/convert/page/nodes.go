package page

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// client is who took part.
type client struct {
	ID       string      `json:"id"`
	Agent    string      `json:"agent,omitempty"`
	Streams  int         `json:"streams"`
	Messages int         `json:"messages"`
	Accepted int         `json:"accepted"`
	Rejected int         `json:"rejected"`
	Node     *int        `json:"node,omitempty"` // the piece that is its node, as it was sent first
	NodeSeq  session.Seq `json:"node_seq,omitempty"`
}

// nodes keeps what clients said of themselves first.
type nodes struct {
	all  map[string]*client // of the listed ones
	room int
}

func newNodes(t *convert.Told) nodes {
	n := nodes{all: make(map[string]*client), room: maxNodes}
	for _, c := range t.Clients[:min(len(t.Clients), maxClients)] {
		n.all[c.ID] = &client{c.ID, c.Agent, c.Streams, c.Messages, c.Accepted, c.Rejected, nil, 0}
	}
	return n
}

// meet keeps the node of a client that had none yet.
func (n *nodes) meet(b *builder, e *session.Entry, c *check.Change) {
	if e.Message == nil || c.Message == nil || c.Message.Node == nil || e.Message.Data.Len() > maxWhole || e.Message.Large() {
		return
	}
	of := n.all[c.Client]
	if of == nil || of.NodeSeq != 0 {
		return
	}
	message := b.documents.Message(e, c)
	node, ok := message.Root.Get("node")
	if !ok {
		return
	}
	of.NodeSeq = e.Seq
	if json := treeText(node); len(json) <= n.room {
		n.room -= len(json)
		id := b.pool.add(json)
		of.Node = &id
	}
}

// clients are those that are listed, and how many more there are.
func (n *nodes) clients(t *convert.Told) ([]*client, int) {
	out := []*client{}
	for _, c := range t.Clients[:min(len(t.Clients), maxClients)] {
		out = append(out, n.all[c.ID])
	}
	return out, len(t.Clients) - len(out)
}
