package effect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// judgement is what became of a resource.
type judgement struct {
	state State
	why   string
	waits []string
}

// view is a client, while one entry is looked at.
type view struct {
	a    *Account
	k    *engine.Engine
	cl   *client
	read Moment // of what it holds
	from time.Time
	fail string // why nothing can be told
	subs map[string][]*engine.Subscription

	warming map[string]bool // the endpoints of clusters that are warming
}

// view looks at a client.
func (a *Account) view(k *engine.Engine, cl *client) *view {
	v := &view{a: a, k: k, cl: cl, subs: map[string][]*engine.Subscription{}}
	alive := 0
	for i := range cl.asked {
		s := &cl.asked[i]
		switch {
		case s.Failed != "":
			if v.fail == "" {
				v.fail = "it cannot be asked what it holds: " + s.Failed
			}
		case s.Read.Known():
			alive++
			v.read, v.from = s.Read, s.From
		}
	}
	switch {
	case alive > 1:
		v.fail = "several processes say what this node holds"
	case alive == 1:
		v.fail = ""
	case v.fail == "":
		v.fail = "it was not asked what it holds"
	}
	for s := range k.TypesOfClient(cl.id) {
		v.subs[s.Type] = append(v.subs[s.Type], s)
	}
	cl.several = ""
	if alive > 1 {
		cl.several = v.fail
	}
	return v
}

// look judges what is not settled.
func (a *Account) look(k *engine.Engine, cl *client) {
	v := a.view(k, cl)
	if v.fail != "" {
		for at, r := range cl.resources {
			if r.sent != nil {
				v.settle(at)
			}
		}
		return
	}
	for at := range cl.open {
		if r := cl.resources[at]; r != nil && len(r.held) == 0 && v.unwanted(at) {
			a.leave(cl, at)
			continue
		}
		v.settle(at)
	}
}

// leave forgets a resource.
func (a *Account) leave(cl *client, at key) {
	a.release(cl.resources[at])
	delete(cl.resources, at)
	delete(cl.open, at)
	delete(cl.strange, at)
	a.size -= costOf(at)
}

// unwanted says that the client goes on asking for the type, and no more for a
// resource: then it need not have it.
func (v *view) unwanted(at key) bool {
	live := false
	for _, s := range v.subs[at.typ] {
		if s.Stream.Alive() {
			if live = true; s.Wants(at.name) {
				return false
			}
		}
	}
	return live
}

// sub is where the client asks for a resource, on a stream that is open; nil if it
// does not.
func (v *view) sub(at key) *engine.Subscription {
	for _, s := range v.subs[at.typ] {
		if s.Stream.Alive() && s.Wants(at.name) {
			return s
		}
	}
	return nil
}

// adopt takes from the engine what was accepted before anyone said what is held. When
// that was is not always remembered: then it was when the client last asked for anything
// of the type, at the latest, and else before asked.
func (a *Account) adopt(k *engine.Engine, cl *client, asked time.Time) {
	for s, it := range k.HeldOn(cl.id) {
		at := key{s.Type, it.Name}
		if r := cl.resources[at]; r != nil && r.sent != nil || s.Variants || s.Exempt() {
			continue
		}
		if r := a.resource(cl, at); r != nil {
			r.sent = adopted(s, it, asked)
			cl.open[at] = true
			delete(cl.strange, at)
		}
	}
}

func adopted(s *engine.Subscription, it *engine.Resource, since time.Time) *content {
	h := s.HeldAs(it)
	c := &content{sent: Moment{Seq: h.Seq}, accepted: Moment{Seq: h.Seq}, version: h.Version, hash: h.Hash}
	if !s.Seeded {
		c.on = s.Stream.ID
	}
	if n := s.AcceptedIn(it); n != nil {
		c.sent, c.accepted = Moment{n.Seq, n.At}, Moment{n.Judged(), n.JudgedAt()}
		since = n.JudgedAt()
	} else if s.Last != nil && !s.Lost {
		since = s.Last.At
	}
	c.since = since
	return c
}

// settle judges a resource, and notes since when it is in effect.
func (v *view) settle(at key) {
	r := v.cl.resources[at]
	if r == nil || r.sent == nil {
		return
	}
	r.now = v.judge(at, r)
	s := r.sent
	if r.now.state != InEffect {
		v.cl.open[at] = true
		if r.now.state != Unknown {
			s.effective = Moment{}
		}
		return
	}
	delete(v.cl.open, at)
	if !s.effective.Known() {
		if s.effective = r.at; !s.effective.Known() {
			s.effective = v.read
		}
	}
	if r.was != nil {
		v.a.drop(r.was.body)
		r.was = nil
	}
	exact := true
	for i := range r.held {
		if it := &r.held[i]; it.hash == s.hash {
			v.a.drop(it.body)
		} else if it.state == configdump.Active || it.state == configdump.Static {
			exact = false
		}
	}
	if exact && at.typ != "EDS" { // whose health changes
		v.a.drop(s.body)
	}
}

func (v *view) judge(at key, r *resource) judgement {
	s := r.sent
	if v.fail != "" {
		return judgement{why: v.fail}
	}
	if !covers(at.typ, v.cl) {
		return judgement{why: "the client does not say what it holds of this type"}
	}
	if v.shared(at) {
		return judgement{why: "it is asked for on several streams of this node"}
	}
	in, warm := r.in(configdump.Active), r.in(configdump.Warming)
	if s.removed {
		return v.removed(at, r, len(in)+len(warm) > 0)
	}
	var unlike, unknown string
	for _, it := range in {
		same, why := alike(at, r, s, it)
		switch {
		case same:
		case why != "":
			unknown = why
		default:
			unlike = "other"
		}
	}
	if static := r.in(configdump.Static); at.typ == "EDS" && len(in) == 0 {
		for _, it := range static { // of a static cluster, by EDS all the same
			if same, _ := alike(at, r, s, it); same {
				in = append(in, it)
			}
		}
	}
	if len(in) > 0 && unlike == "" && unknown == "" {
		if s.rejected.Known() && !s.accepted.Known() {
			return judgement{state: InEffect, why: "though the response was rejected"}
		}
		return judgement{state: InEffect}
	}
	for _, it := range warm {
		if same, _ := alike(at, r, s, it); same {
			return judgement{state: Warming, waits: v.waits(at, it)}
		}
	}
	switch {
	case s.rejected.Known() && !s.accepted.Known():
		return judgement{state: Failed, why: failure(r)}
	case !s.accepted.Known():
		return judgement{why: "it was not answered yet"}
	case v.since(s):
		return judgement{why: "the client was not asked since it accepted it"}
	case unlike == "" && unknown != "":
		return judgement{why: unknown}
	case v.sub(at) == nil:
		return judgement{why: "the client does not ask for it now"}
	case !s.removed && v.sub(at).Have.Get(at.name) == nil: // a client that was started again has nothing
		return judgement{why: "the client was not sent it since it connected again"}
	case len(in) > 0:
		return judgement{state: Other, why: v.older(at, r, in)}
	case len(warm) > 0:
		return judgement{state: Other, why: "another content is warming"}
	}
	return v.lacking(at, r)
}

// since says that a content was accepted since the client was asked.
func (v *view) since(s *content) bool {
	return s.accepted.Seq > v.read.Seq || s.since.After(v.from)
}

// in are the items in a state.
func (r *resource) in(state configdump.State) (out []*item) {
	for i := range r.held {
		if r.held[i].state == state {
			out = append(out, &r.held[i])
		}
	}
	return out
}

func failure(r *resource) string {
	for _, it := range r.in(configdump.Failed) {
		return it.error
	}
	return ""
}

// removed judges what was taken back.
func (v *view) removed(at key, r *resource, there bool) judgement {
	s := r.sent
	switch {
	case !there && len(r.in(configdump.Draining)) > 0:
		return judgement{state: Draining}
	case !there && v.cl.whole:
		return judgement{state: InEffect}
	case !there:
		return judgement{why: "not all that the client holds is known"}
	case !s.accepted.Known() || v.since(s):
		return judgement{why: "the client was not asked since it accepted that"}
	}
	if at.typ != "LDS" && at.typ != "CDS" { // Envoy does not delete it before what refers to it
		return judgement{state: Draining, why: "it was taken back, and is kept for as long as something refers to it"}
	}
	return judgement{state: Other, why: "it was taken back, and the client uses it still"}
}

// older says which content is in use in the place of the one that was sent last.
func (v *view) older(at key, r *resource, in []*item) string {
	if r.was != nil && !r.was.removed {
		if same, _ := alike(at, r, r.was, in[0]); same {
			return fmt.Sprintf("it still uses what entry %d has", r.was.sent.Seq)
		}
	}
	return ""
}

// lacking judges what was accepted and is nowhere in use.
func (v *view) lacking(at key, r *resource) judgement {
	switch {
	case !v.cl.whole:
		return judgement{why: "not all that the client holds is known"}
	case len(r.in(configdump.Draining)) > 0:
		return judgement{state: Draining}
	case len(r.in(configdump.Static)) > 0:
		return judgement{state: Absent, why: "there is a static one of this name"}
	case len(r.in(configdump.Awaited)) > 0:
		return judgement{state: Absent, why: "the client says that it still waits for it"}
	case at.typ == "EDS" && v.clusterWarms(at.name):
		return judgement{why: "its cluster is warming, and does not tell its endpoints until then"}
	}
	return judgement{state: Absent, why: failure(r)}
}

// clusterWarms says whether a cluster that is warming asks for endpoints.
func (v *view) clusterWarms(endpoints string) bool {
	if v.warming == nil {
		v.warming = map[string]bool{}
		for at, r := range v.cl.resources {
			if at.typ != "CDS" {
				continue
			}
			for _, it := range r.in(configdump.Warming) {
				v.warming[at.name] = true
				for _, ref := range it.refs {
					if name, is := strings.CutPrefix(ref, "EDS "); is {
						v.warming[name] = true
					}
				}
			}
		}
	}
	return v.warming[endpoints]
}

// covers says whether a client says all that it holds of a type.
func covers(typ string, cl *client) bool {
	switch typ {
	case "LDS", "RDS", "CDS", "EDS":
		return true
	}
	return slices.ContainsFunc(cl.asked, func(s Asked) bool { return s.Source == "envoy-admin" }) &&
		(typ == "SDS" || typ == "SRDS" || typ == "ECDS")
}

// shared says whether several streams of the node ask for a resource. They may be of
// several clients: then it is not known whose holdings they are.
func (v *view) shared(at key) bool {
	n := 0
	for _, s := range v.subs[at.typ] {
		if s.Stream.Alive() && s.Wants(at.name) {
			n++
		}
	}
	return n > 1
}

// alike says whether an item is a content, or why that is not known.
func alike(at key, r *resource, s *content, it *item) (same bool, why string) {
	switch {
	case s == it.like || s.hash == it.hash && it.typeURL != "":
		return true, ""
	case s == it.unlike, r.was != nil && s != r.was && !r.was.removed && r.was.hash == it.hash:
		return false, ""
	case s.body == nil || s.body.b == nil || it.body == nil || it.body.b == nil:
		return false, "its content is not remembered any more"
	}
	same, changes, why := configdump.Alike(&decode.Resource{TypeURL: s.typeURL, Body: s.body.b}, it.held(at.typ, it.body.b))
	switch {
	case same:
		it.like = s
		return true, ""
	case why == "" && changes != nil:
		it.unlike = s
		return false, ""
	case why == "":
		why = "it cannot be compared"
	}
	return false, why
}

// waits is what a resource that warms waits for: what a part of the client that has
// its name says, and what it refers to and the client does not have.
func (v *view) waits(at key, it *item) (out []string) {
	for _, w := range v.cl.waits {
		if containsWord(w.Of, at.name) {
			out = append(out, w.Targets...)
		}
	}
	if len(out) > 0 {
		return out[:min(len(out), maxItems)]
	}
	for _, ref := range it.refs {
		typ, name, _ := strings.Cut(ref, " ")
		if typ == "CDS" || len(out) >= maxItems {
			continue
		}
		// Of a cluster that warms an Envoy does not say which endpoints it has: they
		// are awaited if none were sent.
		if r := v.cl.resources[key{typ, name}]; r == nil || typ != "EDS" && len(r.in(configdump.Active)) == 0 || typ == "EDS" && (r.sent == nil || r.sent.removed) {
			out = append(out, ref)
		}
	}
	return out
}

// containsWord says whether a text has a name that is no part of a longer one.
func containsWord(text, name string) bool {
	for at := 0; name != ""; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		if (i == 0 || text[i-1] == ' ') && (end == len(text) || text[end] == ' ') {
			return true
		}
		at = i + 1
	}
	return false
}
