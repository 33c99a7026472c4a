package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Fact is one thing that an entry says, and what that means.
type Fact struct {
	// Name is that of the field; "" goes on with the one above.
	Name string
	// Text is the value as it was sent: it is not safe on a terminal.
	Text string
	// Means says it in words, "" if there is nothing to add. It may hold names
	// and versions that peers chose.
	Means string
	Look  FactLook
	// Seq is the entry that it refers to, 0 if there is none.
	Seq session.Seq
}

// FactLook is what a fact is, for the colour beside its words.
type FactLook uint8

// The looks.
const (
	FactPlain FactLook = iota
	FactGood
	FactBad
	FactMuted
)

// Surroundings is what is known of the entries around a message.
type Surroundings struct {
	Answered *Neighbour // the response that a request answers
	Answer   *Neighbour // the answer to a response
	Held     *Neighbour // the response that the client had accepted before
	None     bool       // it had accepted none
}

// Neighbour is a message beside another one.
type Neighbour struct {
	Seq      session.Seq
	Version  string
	Rejected bool // of an answer
	Reason   string
	After    time.Duration // between the two; 0 if that is not known
}

func (n *Neighbour) after() string {
	if n.After <= 0 {
		return ""
	}
	return " after " + Duration(n.After)
}

// Explain tells what an entry says, field by field, but for the contents of
// resources.
func Explain(e *session.Entry, c *check.Change, s Surroundings) []Fact {
	x := explainer{e: e, c: c, s: s}
	switch {
	case e.Kind == session.KindMessage && e.Message != nil:
		x.message()
	default:
		x.event()
	}
	return x.facts
}

type explainer struct {
	e     *session.Entry
	c     *check.Change
	s     Surroundings
	facts []Fact
}

func (x *explainer) add(name, text, means string) *Fact {
	x.facts = append(x.facts, Fact{Name: name, Text: text, Means: means})
	return &x.facts[len(x.facts)-1]
}

func (x *explainer) message() {
	m := x.c.Message
	if m == nil {
		x.method()
		what := "no discovery message: yaml shows all of it"
		if why := x.e.Message.Unread(); why != "" {
			what = why + ", so that nothing can be told of it"
		}
		x.add("message", "", what)
		return
	}
	x.what()
	if m.Node != nil {
		x.node(m.Node)
	}
	x.add("type_url", m.TypeURL, x.typeWords())
	if m.Request() {
		x.request(m)
	} else {
		x.response(m)
	}
}

// what says in words what the message is for.
func (x *explainer) what() {
	words := map[string]string{
		engine.NACK:  "rejects a response, and keeps what it has",
		engine.ACK:   "accepts a response",
		engine.SUB:   "asks for resources",
		engine.UNSUB: "asks for fewer resources",
		engine.REQ:   "asks again, with nothing new",
		engine.RESP:  "what the server has, for the names that are asked for",
		engine.DELTA: "what has changed at the server",
	}
	f := x.add("what", strings.Join(append([]string{x.c.What}, x.c.Also...), " "), words[x.c.What])
	switch x.c.What {
	case engine.NACK:
		f.Look = FactBad
	case engine.ACK:
		f.Look = FactGood
	}
	if x.c.Uncertain {
		f.Means += "; a guess, for part of the stream was not seen"
	}
}

func (x *explainer) typeWords() string {
	if x.c.Type == "" {
		return ""
	}
	return x.c.Type
}

func (x *explainer) node(n *decode.Node) {
	about := strings.TrimSpace(n.UserAgent + " " + n.UserAgentVersion)
	if n.Cluster != "" {
		about = strings.TrimPrefix(about+", cluster "+n.Cluster, ", ")
	}
	if place := strings.Trim(n.Region+"/"+n.Zone, "/"); place != "" {
		about = strings.TrimPrefix(about+", in "+place, ", ")
	}
	x.add("node", n.ID, about)
	if len(n.ClientFeatures) > 0 {
		x.add("client_features", strings.Join(n.ClientFeatures, " "), "")
	}
}

func (x *explainer) request(m *decode.Message) {
	if m.Kind == decode.SotwRequest {
		x.held(m)
	}
	x.answers(m)
	if m.Error != nil {
		x.failure("error_detail", m.Error)
	}
	if m.Kind == decode.DeltaRequest {
		x.names("resource_names_subscribe", m.Subscribe, "asked for from now on")
		x.names("resource_names_unsubscribe", m.Unsubscribe, "not wanted any longer")
		x.initial(m)
		return
	}
	x.asked(m)
}

// held says what a state-of-the-world request tells by its version.
func (x *explainer) held(m *decode.Message) {
	about := ""
	if a := x.s.Answered; a != nil {
		about = a.Version
	}
	switch {
	case x.c.What == engine.NACK && m.Version == "" && about != "":
		x.add("version_info", "", "it has no version of this type yet: it rejected "+about).Look = FactBad
	case x.c.What == engine.NACK && about != "" && about != m.Version:
		x.add("version_info", m.Version, "still on "+m.Version+": the client rejected "+about).Look = FactBad
	case x.c.What == engine.NACK:
		x.add("version_info", m.Version, "what it keeps in place of what it rejected").Look = FactBad
	case x.c.What == engine.ACK && m.Version != "":
		x.add("version_info", m.Version, "accepted").Look = FactGood
	case m.Version == "":
		x.add("version_info", "", "it has no version of this type yet")
	default:
		x.add("version_info", m.Version, "accepted before")
	}
}

func (x *explainer) answers(m *decode.Message) {
	a := x.s.Answered
	switch {
	case m.Nonce == "":
		x.add("response_nonce", "", "answers no response")
	case a != nil:
		x.add("response_nonce", m.Nonce, fmt.Sprintf("answers %d%s", a.Seq, a.after())).Seq = a.Seq
	case x.c.What == engine.ACK || x.c.What == engine.NACK:
		x.add("response_nonce", m.Nonce, "the response that it answers is not in the recording")
	default:
		x.add("response_nonce", m.Nonce, "of the response that was the latest to it")
	}
}

func (x *explainer) failure(name string, e *decode.Error) {
	x.add(name, fmt.Sprintf("code %d %s", e.Code, GRPCCode(e.Code)), "").Look = FactBad
	for line := range strings.SplitSeq(strings.TrimSpace(e.Message), "\n") {
		if line != "" {
			x.add("", line, "").Look = FactBad
		}
	}
}

// asked are the names of a state-of-the-world request, with those that are new.
func (x *explainer) asked(m *decode.Message) {
	n, _ := x.c.Count()
	if n == engine.Everything && len(m.Names) == 0 {
		x.add("resource_names", "", "none: it asks for everything there is")
		return
	}
	added := make(map[string]bool, len(x.c.Added))
	for _, n := range x.c.Added {
		added[n] = true
	}
	first := len(added) >= len(m.Names) && len(x.c.Removed) == 0
	about := ""
	switch {
	case len(m.Names) == 0:
		about = "none"
	case first:
		about = "all of them new"
	case len(added)+len(x.c.Removed) > 0:
		about = fmt.Sprintf("%d new, %d no longer", len(added), len(x.c.Removed))
	default:
		about = "as before"
	}
	x.add("resource_names", strconv.Itoa(len(m.Names)), about)
	for _, n := range m.Names {
		f := x.add("", n, "")
		if added[n] && !first {
			f.Means, f.Look = "new", FactGood
		}
	}
	for _, n := range x.c.Removed {
		x.add("", n, "no longer asked for").Look = FactMuted
	}
}

func (x *explainer) names(field string, names []string, means string) {
	if len(names) == 0 {
		return
	}
	x.add(field, strconv.Itoa(len(names)), means)
	for _, n := range names {
		x.add("", n, "")
	}
}

func (x *explainer) initial(m *decode.Message) {
	if len(m.InitialVersions) == 0 {
		return
	}
	x.add("initial_resource_versions", strconv.Itoa(len(m.InitialVersions)), "what it has from a stream before")
	for _, v := range m.InitialVersions {
		x.add("", v.Name, v.Version)
	}
}

func (x *explainer) response(m *decode.Message) {
	name := "version_info"
	if m.Kind == decode.DeltaResponse {
		name = "system_version_info"
	}
	f := x.add(name, m.Version, x.verdict(m))
	if a := x.s.Answer; a != nil {
		f.Seq, f.Look = a.Seq, FactGood
		if a.Rejected {
			f.Look = FactBad
		}
	}
	if a := x.s.Answer; a != nil && a.Rejected && a.Reason != "" {
		x.add("", reasonLine(a.Reason), "").Look = FactBad
	}
	if m.Nonce != "" || x.c.Variant != xds.VariantREST {
		x.add("nonce", m.Nonce, "")
	}
	if m.ControlPlane != "" {
		x.add("control_plane", m.ControlPlane, "")
	}
	for i := range m.ResourceErrors {
		x.add("resource_errors", m.ResourceErrors[i].Name, "the server cannot give it").Look = FactBad
		x.failure("", &m.ResourceErrors[i].Error)
	}
}

// verdict says what became of a response.
func (x *explainer) verdict(m *decode.Message) string {
	a, held := x.s.Answer, x.s.Held
	same := ""
	if held != nil && m.Kind == decode.SotwResponse && held.Version == m.Version && m.Version != "" {
		same = fmt.Sprintf("; the version of %d", held.Seq)
	}
	switch {
	case x.c.Variant == xds.VariantREST:
		return ""
	case a == nil:
		return "no answer to it was seen" + same
	case !a.Rejected:
		return fmt.Sprintf("accepted by %d%s", a.Seq, a.after()) + same
	case x.s.None:
		return fmt.Sprintf("rejected by %d%s; the client had accepted none before", a.Seq, a.after())
	case held == nil:
		return fmt.Sprintf("rejected by %d%s; what it had accepted before is not known", a.Seq, a.after())
	case m.Kind == decode.DeltaResponse || held.Version == "":
		return fmt.Sprintf("rejected by %d%s; still on what %d brought", a.Seq, a.after(), held.Seq)
	}
	return fmt.Sprintf("rejected by %d%s; still on %s", a.Seq, a.after(), held.Version)
}

// reasonLine is the reason of a rejection in one line.
func reasonLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (x *explainer) method() {
	if x.c.Method.Path != "" {
		x.add("method", x.c.Method.Path, methodText(x.c.Method, ""))
	}
}
