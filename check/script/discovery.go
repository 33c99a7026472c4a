package script

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

func (p *player) sotwRequest(l *line) (action, int64, error) {
	f := l.fields(append([]string{"type", "V", "N", "R", "err", "code", "size"}, nodeWords...)...)
	f.need("type")
	q := &synth.Request{
		TypeURL: f.typeURL("type"), Version: f.text("V"), Nonce: f.text("N"), Node: f.node(), Error: f.status(), Size: f.size("size"),
	}
	q.Names, q.Locators = f.located("R")
	return p.send(l, session.Client, q.Marshal), int64(q.Size), f.done(0)
}

func (p *player) deltaRequest(l *line) (action, int64, error) {
	f := l.fields(append([]string{"type", "N", "sub", "unsub", "init", "err", "code", "size"}, nodeWords...)...)
	f.need("type")
	q := &synth.DeltaRequest{
		TypeURL: f.typeURL("type"), Nonce: f.text("N"),
		Initial: f.initial(), Node: f.node(), Error: f.status(), Size: f.size("size"),
	}
	q.Subscribe, q.SubscribeLocators = f.located("sub")
	q.Unsubscribe, q.UnsubscribeLocators = f.located("unsub")
	for i := range q.Initial {
		if slices.ContainsFunc(q.Initial[:i], func(v decode.NameVersion) bool { return v.Name == q.Initial[i].Name }) {
			f.fail(l.fail(f.get("init").value.from, "%s stands twice in init=", quoteShort(q.Initial[i].Name)))
		}
	}
	return p.send(l, session.Client, q.Marshal), int64(q.Size), f.done(0)
}

func (p *player) sotwResponse(l *line) (action, int64, error) {
	f := l.fields("type", "V", "N", "res", "errs", "alias", "cp", "size")
	f.need("type")
	r := f.response(l.stream)
	r.Size = f.size("size")
	return p.send(l, session.Server, r.Marshal), int64(r.Size) + weight(r.Resources), f.done(0)
}

// response reads a DiscoveryResponse.
func (f *fields) response(s *stream) *synth.Response {
	r := &synth.Response{
		TypeURL: f.typeURL("type"), Version: f.text("V"), Nonce: f.text("N"),
		Errors: f.resourceErrors(), ControlPlane: f.text("cp"),
	}
	payload := r.TypeURL
	if s != nil {
		r.V2 = s.method.V2
		if payload == "" {
			payload = s.method.TypeURL()
		}
	}
	r.Resources = f.resources(payload, false)
	return r
}

func (p *player) deltaResponse(l *line) (action, int64, error) {
	f := l.fields("type", "N", "sys", "res", "rm", "errs", "alias", "cp", "size")
	f.need("type")
	r := &synth.DeltaResponse{
		TypeURL: f.typeURL("type"), Version: f.text("sys"), Nonce: f.text("N"), Removed: f.names("rm"),
		Errors: f.resourceErrors(), ControlPlane: f.text("cp"), Size: f.size("size"),
	}
	payload := r.TypeURL
	if payload == "" {
		payload = l.stream.method.TypeURL()
	}
	r.Resources = f.resources(payload, true)
	return p.send(l, session.Server, r.Marshal), int64(r.Size) + weight(r.Resources), f.done(0)
}

// weight is about how many bytes resources have beyond their names.
func weight(list []synth.Resource) int64 {
	var n int64
	for i := range list {
		n += 256 + 256*int64(len(list[i].Refs.Routes)+len(list[i].Refs.Filters)+len(list[i].Refs.Secrets))
		for _, a := range list[i].Aliases {
			n += int64(len(a)) // in every resource
		}
	}
	return n
}
