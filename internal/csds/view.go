package csds

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Reader reads a recording again, from its beginning on, up to what is there.
type Reader interface {
	Next(context.Context) (session.Entry, error)
	Seek(session.Seq) error
	Close() error
}

// View is the account of a session that can be asked while it grows. One goroutine
// steps the checker of it, by Through; any may ask.
type View struct {
	// Open opens the recording of which the account is.
	Open func() (Reader, error)
	// Client is the only node that is told of; "": all are.
	Client string
	// Most bounds an answer, in bytes. One is made at a time.
	Most int

	mu    sync.Mutex // what follows
	of    *engine.Engine
	ready bool
	over  bool

	one  chan struct{} // who answers has it: one does at a time
	sent *unread       // answers that were made
}

// New is a View that is not ready.
func New(open func() (Reader, error)) *View {
	return &View{Open: open, Most: maxAnswer, one: make(chan struct{}, 1), sent: newUnread()}
}

// Through lets the account of a checker be asked between its steps.
func (v *View) Through(k *check.Checker) *Steps {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.of = k.Engine
	return &Steps{v, k}
}

// Steps are those of a checker.
type Steps struct {
	view *View
	of   *check.Checker
}

// Step takes the next entry and says what it means.
func (s *Steps) Step(e *session.Entry) check.Change {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	return s.of.Step(e)
}

// Ready says that the account has come to what was there when it began.
func (v *View) Ready() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ready = true
}

// Over says that the session has ended. From then on those are told of, too, who
// have left: as they were seen last.
func (v *View) Over() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ready, v.over = true, true
}

// client is one of those that are asked for.
type client struct {
	id     string
	node   *corev3.Node
	size   int         // of the node as it was found, in bytes
	at     session.Seq // of the request that has the node; 0: not known
	method xds.Method  // of that
}

// Answer is what is known of the clients that a request asks for.
func (v *View) Answer(ctx context.Context, r *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	select {
	case v.one <- struct{}{}:
		defer func() { <-v.one }()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if err := v.sent.room(waiting * v.Most); err != nil {
		return nil, err
	}
	wanted, err := selectionOf(r.GetNodeMatchers())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	clients, err := v.clients(wanted)
	if err != nil {
		return nil, err
	}
	out, left := &statusv3.ClientStatusResponse{}, budget{v.Most, v.Most}
	again := newRereader(v.Open)
	for _, c := range clients {
		again.node(c, &left)
	}
	if err := again.read(ctx); err != nil {
		return nil, err
	}
	for _, c := range clients {
		if !wanted.takes(c.node) {
			left.left += c.size
			continue
		}
		items, err := v.items(c.id, &left)
		if err != nil {
			return nil, err
		}
		config := &statusv3.ClientConfig{Node: c.node}
		for _, i := range items {
			config.GenericXdsConfigs = append(config.GenericXdsConfigs, again.item(i, r.GetExcludeResourceContents(), &left))
		}
		out.Config = append(out.Config, config)
	}
	if err := again.read(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// clients are those that may be asked for, by their names.
func (v *View) clients(wanted selection) ([]*client, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ready {
		return nil, status.Error(codes.Unavailable, "the recording is still being read")
	}
	if v.of == nil { // nobody has begun to look, and nothing has passed
		return nil, nil
	}
	var out []*client
	for _, s := range v.of.Status() {
		if v.Client != "" && v.Client != s.Client || !wanted.named(s.Client) || !v.over && !s.Gone.IsZero() {
			continue
		}
		c, asks := &client{id: s.Client, node: &corev3.Node{Id: s.Client}}, false
		for sub := range v.of.TypesOfClient(s.Client) { // none of one that has named no node
			asks = true
			if t := sub.Stream; t.Node != nil && t.NodeAt >= c.at {
				c.at, c.method = t.NodeAt, t.Method
				c.node = &corev3.Node{Id: s.Client, Cluster: t.Node.Cluster, UserAgentName: t.Node.UserAgent}
			}
		}
		if asks {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *client) int { return strings.Compare(a.id, b.id) })
	return out, nil
}

// items are the resources of a client, as they stand now.
func (v *View) items(client string, left *budget) ([]*item, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return itemsOf(v.of, client, left)
}
