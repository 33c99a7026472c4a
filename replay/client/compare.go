package client

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// describe counts what does not depend on what happens.
func (r *role) describe() {
	mute := make([]bool, len(r.Topics))
	for i := range mute {
		mute[i] = r.neverAsked(int32(i))
	}
	for i := range r.Steps {
		switch st := &r.Steps[i]; {
		case !st.Whole || mute[st.Topic]:
		case st.Server:
			r.row.Expected++
		default:
			r.row.ToSend++
		}
	}
}

// compare compares what came with what was recorded, when all roles are over.
func (r *role) compare() {
	r.describe()
	if r.topics == nil {
		r.client.ledger.Differ(r.Difference(replay.Difference{
			Seq: r.Opened, Expected: "a stream of " + r.Method.Name, Got: "none", Detail: r.broken,
		}))
		return
	}
	r.row.Begun = r.row.Begun || r.row.Expected == 0 && r.row.Sent > 0
	said := r.End.ByServer() && told(r.End.Code)
	if said {
		r.row.Expected++
	}
	if r.broken != "" {
		r.client.ledger.Differ(r.Difference(replay.Difference{
			Seq: r.Opened, Expected: "that the stream stays open", Got: "its end", Detail: r.broken,
		}))
	}
	switch e := r.End; {
	case said && r.code == e.Code:
		r.row.Matched++
	case said:
		got := "none"
		if r.code >= 0 {
			got = codes.Code(r.code).String()
		}
		r.client.ledger.Differ(r.Difference(replay.Difference{
			Seq: e.Seq, Expected: "that the server ends the stream with " + codes.Code(e.Code).String(), Got: got, Detail: e.Message,
		}))
	}
	for i := range r.topics {
		r.compareTopic(int32(i))
	}
}

func (r *role) compareTopic(at int32) {
	t, topic := &r.topics[at], r.Topics[at]
	if t.mute {
		r.client.ledger.Note("%s: the request for %s was not recorded, so %s cannot come", r.Stream, topic.Type, replay.Responses(len(topic.Responses), topic.Type))
		return
	}
	if len(topic.Responses) == 0 {
		if t.extra > 0 && !r.Partial {
			r.client.ledger.Differ(r.Difference(replay.Difference{
				Seq: r.Opened, Expected: "no response of " + topic.Type, Got: fmt.Sprintf("%d", t.extra), Type: topic.Type,
				Detail: "the recorded server never answered",
			}))
		}
		return
	}
	ctx := context.Background()
	arrived := t.arrived
	for t.arrived = len(topic.Responses); t.expected < len(topic.Responses); { // what did not come counts, too
		r.expect(ctx, at)
	}
	t.arrived = arrived
	if arrived+t.extra == 0 {
		r.client.ledger.Differ(r.Difference(replay.Difference{
			Seq: r.Steps[topic.Responses[0]].Seq, Type: topic.Type,
			Expected: replay.Responses(len(topic.Responses), topic.Type), Got: "none",
		}))
		return
	}
	wrong, told := map[int]bool{}, map[string]bool{}
	for _, m := range t.contents.mismatches() {
		told[m.name] = true
		if m.expected == nil && r.Partial {
			r.client.ledger.Note("%s: %s %q came, which was not recorded", r.Stream, topic.Type, replay.Bounded(m.name))
			continue
		}
		d, same := r.explain(ctx, topic, m)
		if same {
			continue
		}
		if m.expected != nil {
			wrong[m.expected.response] = true
		}
		if r.client.once(fmt.Sprint(r.Client, topic.Key, m.name, m.expected != nil && m.expected.gone, d.Expected, d.Got, d.Detail, hashesOf(m))) {
			r.client.ledger.Differ(r.Difference(d))
		}
	}
	for _, name := range t.contents.lapsed() {
		if r.Partial || told[name] {
			continue
		}
		e := t.contents.last[name]
		wrong[e.response] = true
		r.client.ledger.Differ(r.Difference(lapse(topic.Type, name, e, t.contents.live[name].gone)))
	}
	for n, s := range topic.Responses {
		if r.Steps[s].Whole && !wrong[n+1] {
			r.row.Matched++
		}
	}
}

// lapse words that what stands at the end of the recording did not stay.
func lapse(typ, name string, e *expectation, gone bool) replay.Difference {
	what := fmt.Sprintf("%s %q", typ, replay.Bounded(name))
	d := replay.Difference{Type: typ, Names: []string{replay.Bounded(name)}, Seq: e.seq, Detail: "it came before, and did not stay"}
	d.Expected, d.Got = fmt.Sprintf("%s at the end as in entry %d", what, e.seq), "another one"
	switch {
	case e.gone:
		d.Expected, d.Got = "no "+what+" at the end", "one"
	case gone:
		d.Got = "its removal"
	}
	return d
}

func hashesOf(m mismatch) string {
	var e, g holding
	if m.expected != nil {
		e = m.expected.holding
	}
	if m.got != nil {
		g = m.got.holding
	}
	return fmt.Sprint(e, g)
}

// explain words a mismatch. It says that there is none if only masks differ.
func (r *role) explain(ctx context.Context, topic *replay.Topic, m mismatch) (replay.Difference, bool) {
	what := fmt.Sprintf("%s %q", topic.Type, replay.Bounded(m.name))
	d := replay.Difference{Type: topic.Type, Names: []string{replay.Bounded(m.name)}, Seq: r.Opened}
	if m.expected != nil {
		d.Seq = m.expected.seq
	}
	switch {
	case m.expected == nil && m.got.gone:
		d.Expected, d.Got = "that "+what+" stays", "its removal"
	case m.expected == nil:
		d.Expected, d.Got = "no such content of "+what, "it"
		d.Detail = "the recording does not have it"
	case m.expected.gone:
		d.Expected, d.Got = "the removal of "+what, "none"
	case m.got == nil:
		d.Expected, d.Got = fmt.Sprintf("%s as in entry %d", what, m.expected.seq), "nothing"
	default:
		d.Expected, d.Got = fmt.Sprintf("%s as in entry %d", what, m.expected.seq), replay.AnotherContent
		if m.got.body == nil {
			break
		}
		if typeURL, body := r.recorded(ctx, m); body != nil {
			body, live := inWire(body), inWire(m.got.body)
			if m.expected.masked && typeURL == m.got.typeURL {
				live = standin.LikeRecorded(typeURL, body, live)
			}
			in := inspect.New(r.client.o.Types)
			if typeURL == m.got.typeURL && in.Inspect(typeURL, body, true).Hash == in.Inspect(typeURL, live, true).Hash {
				return d, true
			}
			text, same := replay.Changes(r.client.o.Types, typeURL, body, m.got.typeURL, live, nil)
			if same {
				return d, true
			}
			d.Detail = text
		}
	}
	return d, false
}

// inWire is a resource as gRPC has it, also one of REST.
func inWire(body []byte) []byte {
	if len(body) == 0 || body[0] != '{' {
		return body
	}
	wire, err := edit.FromJSON("google.protobuf.Any", body)
	if err != nil {
		return body
	}
	return edit.Field(wire, edit.ValueOfAny)
}

// recorded is the recorded content of a mismatch.
func (r *role) recorded(ctx context.Context, m mismatch) (typeURL string, body []byte) {
	data, err := r.client.plan.Body(ctx, m.expected.seq)
	if err != nil {
		return "", nil
	}
	msg := decode.Peek(r.Method, session.Server, "", data)
	for i := range msg.Resources {
		if res := &msg.Resources[i]; res.Name+res.Constraints == m.name {
			return res.TypeURL, res.Body
		}
	}
	return "", nil
}
