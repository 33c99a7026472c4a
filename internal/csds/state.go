package csds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// state is where a client stands with a resource. Where it asks for one on several
// streams, the greatest is told.
type state uint8

const (
	asked    state = iota // by name, and not sent
	absent                // the server says that there is none
	declared              // the client says that it has it from before, and was not sent it again
	accepted              // as it was sent last
	unsure                // what the client made of it is not known
	pending               // sent, and not answered yet
	rejected
)

// words are those of CSDS for a state. The one is what the client would say, the
// other what the server would: the traffic shows both.
func (i *item) words() (adminv3.ClientResourceStatus, statusv3.ConfigStatus) {
	switch i.state {
	case asked:
		return adminv3.ClientResourceStatus_REQUESTED, statusv3.ConfigStatus_NOT_SENT
	case absent:
		return adminv3.ClientResourceStatus_DOES_NOT_EXIST, statusv3.ConfigStatus_NOT_SENT
	case declared:
		return adminv3.ClientResourceStatus_ACKED, statusv3.ConfigStatus_UNKNOWN
	case accepted:
		return adminv3.ClientResourceStatus_ACKED, statusv3.ConfigStatus_SYNCED
	case pending:
		if i.held == nil {
			return adminv3.ClientResourceStatus_REQUESTED, statusv3.ConfigStatus_STALE
		}
		return adminv3.ClientResourceStatus_ACKED, statusv3.ConfigStatus_STALE
	case rejected:
		return adminv3.ClientResourceStatus_NACKED, statusv3.ConfigStatus_ERROR
	case unsure:
	}
	return adminv3.ClientResourceStatus_UNKNOWN, statusv3.ConfigStatus_UNKNOWN
}

type key struct{ typ, name string }

// item is one resource of a client.
type item struct {
	key
	url    string
	method xds.Method // by which it was sent
	state  state
	held   *engine.Held // that was accepted last; nil: none, or it is not known
	failed *failure     // nil: what was sent last was not rejected
}

// failure is what is known of a rejection.
type failure struct {
	at      time.Time   // when the response came
	version string      // of the resource, or else of the response
	why     session.Seq // the request that rejected it
	with    session.Seq // an entry that has the resource; 0: it was to be removed
}

func failureOf(o *engine.Offer) *failure {
	f := &failure{at: o.By.At, why: o.Judged}
	if o.By.Kind == decode.SotwResponse {
		f.version = o.By.Version
	}
	if it := o.Resource; it != nil {
		f.version, f.with = cmp.Or(it.Version, f.version), it.Seq
	}
	return f
}

// size is what an item takes in an answer without contents, about, in bytes.
func (i *item) size() int { return 160 + len(i.url) + len(i.name) }

// itemsOf are the resources of a client, by type and name; what they take at least
// is taken from the budget.
func itemsOf(k *engine.Engine, client string, b *budget) ([]*item, error) {
	all := make(map[key]*item)
	at := func(s *engine.Subscription, name string, state state) (*item, error) {
		i := all[key{s.Type, name}]
		if i == nil {
			i = &item{key: key{s.Type, name}, url: s.URL, method: s.Stream.Method}
			all[i.key] = i
			if err := b.take(i.size()); err != nil {
				return nil, err
			}
		}
		i.state = max(i.state, state)
		return i, nil
	}
	subs := make(map[string]*engine.Subscription)
	for s := range k.TypesOfClient(client) {
		if _, there := subs[s.Type]; !there && !s.Exempt() {
			subs[s.Type] = s
		}
	}
	for h := range k.Held(client) {
		s := subs[h.Type]
		if s == nil {
			continue
		}
		i, err := at(s, h.Name, accepted)
		if err != nil {
			return nil, err
		}
		if i.held == nil || i.held.Seq < h.Seq {
			i.held = &h
		}
	}
	for s := range k.TypesOfClient(client) {
		if s.Exempt() {
			continue
		}
		if err := open(s, all, at); err != nil {
			return nil, err
		}
	}
	out := make([]*item, 0, len(all))
	for _, i := range all {
		if i.state == unsure {
			i.held = nil
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b *item) int {
		return cmp.Or(cmp.Compare(xds.Rank(a.typ), xds.Rank(b.typ)), strings.Compare(a.typ, b.typ), strings.Compare(a.name, b.name))
	})
	return out, nil
}

// open enters what the client has not accepted of a type on one stream.
func open(s *engine.Subscription, all map[key]*item, at func(*engine.Subscription, string, state) (*item, error)) error {
	offered := make(map[string]bool)
	for name, o := range s.Offered() {
		offered[name] = true
		became := pending
		switch {
		case o.Rejected:
			became = rejected
		case o.Unclear, s.Lost:
			became = unsure
		case o.Resource == nil && all[key{s.Type, name}] == nil:
			continue // it was sent and taken back, and the client never had it
		}
		i, err := at(s, name, became)
		if err != nil {
			return err
		}
		if became == rejected {
			i.failed = failureOf(&o)
		}
	}
	for name, it := range s.Have.All() {
		if offered[name] || all[key{s.Type, name}] != nil {
			continue
		}
		became := unsure
		if s.Declared(name) {
			became = declared
		}
		i, err := at(s, name, became)
		if err != nil {
			return err
		}
		if became == declared {
			i.held = &engine.Held{Type: s.Type, Name: name, Version: it.Version}
		}
	}
	for name := range s.Names.All() {
		if s.Given(name) != nil || strings.HasSuffix(name, "/*") {
			continue
		}
		became := asked
		switch {
		case s.Lost:
			became = unsure
		case s.Denied(name):
			became = absent
		}
		if i := all[key{s.Type, name}]; i != nil && i.state >= accepted {
			continue // the client has it from before, or another stream brought it
		}
		if _, err := at(s, name, became); err != nil {
			return err
		}
	}
	return nil
}
