package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filed"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// event tells of an entry that is no message.
func (x *explainer) event() {
	x.add("kind", x.e.Kind.String(), kindWords(x.e, x.c.Variant))
	switch {
	case x.e.Kind == session.KindOpen && x.e.Method != "":
		x.add("method", x.e.Method, methodText(x.c.Method, x.e.Method))
	case x.c.Method.Path != "":
		x.method()
	}
	if p := x.e.Peer; p != nil {
		x.peer(p)
	}
	if s := x.e.Status; s != nil {
		x.status(s)
	}
	if g := x.e.GoAway; g != nil {
		x.add("goaway", HTTP2Code(g.Code), "the last stream that it takes is "+strconv.FormatUint(uint64(g.LastStream), 10))
		if g.Debug != "" {
			x.add("debug", g.Debug, "")
		}
	}
	if g := x.e.Gap; g != nil {
		x.gap(g)
	}
	if n := x.e.Note; n != nil {
		x.note(n)
	}
	if h := x.e.Held; h != nil {
		x.saysHeld(h)
	}
	if x.e.Kind == session.KindHeader && x.c.Variant == xds.VariantFile {
		x.file()
		return
	}
	for i, h := range x.e.Headers {
		name := ""
		if i == 0 {
			name = "headers"
		}
		x.add(name, h.Name+": "+h.Value, "")
	}
	x.sent()
}

// file tells what happened to a file.
func (x *explainer) file() {
	event := filed.Of(x.e)
	x.add("event", event.Event, event.String())
	x.add("path", session.Get(x.e.Headers, xds.FilePath), "")
	if event.Watched == xds.FileAlone {
		x.add("watched", "the file", "Envoy's subscription has no watched_directory")
	} else if event.Watched != "" {
		x.add("watched", event.Watched, "the watched_directory of Envoy's subscription")
	}
	if event.Seen != "" {
		x.add("seen", event.Seen, "by Envoy, which looks for moves alone")
	}
	if event.Replaced != "" {
		x.add("replaced", event.Replaced, "another directory came in its place; an Envoy that was started before does not see it")
	}
}

// sent tells how the header fields that the server got differ from those of the
// client.
func (x *explainer) sent() {
	if x.e.Sent == nil {
		return
	}
	name := "rewritten"
	fact := func(h session.Field, words string) {
		x.add(name, h.Name+": "+h.Value, words)
		name = ""
	}
	old := slices.Clone(x.e.Headers)
	for _, h := range x.e.Sent {
		if i := slices.Index(old, h); i >= 0 {
			old = slices.Delete(old, i, i+1)
			continue
		}
		fact(h, "what the proxy sends the server")
	}
	for _, h := range old {
		if !slices.ContainsFunc(x.e.Sent, func(s session.Field) bool { return s.Name == h.Name }) {
			fact(h, "is not sent to the server")
		}
	}
}

// kindWords says what a kind of entry means.
func kindWords(e *session.Entry, v xds.Variant) string {
	by := "by the " + e.Side.String()
	switch e.Kind {
	case session.KindConnect:
		return "a client has connected"
	case session.KindOpen:
		if v == xds.VariantFile {
			return "a file that is watched"
		}
		return "a stream begins: what the client asks with"
	case session.KindHeader:
		if v == xds.VariantFile {
			return "what happened to a file"
		}
		return "what the server answers with, before its messages"
	case session.KindHalfClose:
		return "the client sends no more on this stream"
	case session.KindTrailer:
		return "the stream is over: the server has ended it in order"
	case session.KindCancel:
		return "the stream is over: it was broken off " + by
	case session.KindGoAway:
		return "no new streams on this connection, " + by
	case session.KindDisconnect:
		return "the connection is over, " + by
	case session.KindGap:
		return "entries that are not here"
	case session.KindNote:
		return "something to know about the recording"
	case session.KindHeld:
		return "what a client says that it holds, beside its streams"
	case session.KindTime:
		return "nothing else happened"
	}
	return ""
}

func (x *explainer) peer(p *session.Peer) {
	x.add("client", p.Client, "")
	x.add("listen", p.Listen, "the address that it connected to")
	x.add("upstream", p.Upstream, "the server that was dialled for it")
	if p.Local == "" {
		x.add("local", "", "the server was not reached").Look = FactBad
	} else {
		x.add("local", p.Local, "as the server sees the proxy")
	}
	x.tls("client", p.ClientTLS)
	x.tls("server", p.ServerTLS)
}

func (x *explainer) status(s *session.Status) {
	if s.Code >= 0 {
		f := x.add("grpc-status", strconv.Itoa(int(s.Code)), GRPCCode(s.Code))
		if s.Code > 0 {
			f.Look = FactBad
		}
	}
	if s.WasReset {
		x.add("reset", HTTP2Code(s.Reset), "RST_STREAM of HTTP/2")
	}
	if s.HTTP != 0 {
		x.add("status", strconv.Itoa(s.HTTP), "of HTTP")
	}
	for i, line := range strings.Split(strings.TrimSpace(s.Message), "\n") {
		name := ""
		if i == 0 {
			name = "message"
		}
		if line != "" {
			x.add(name, line, "")
		}
	}
}

func (x *explainer) gap(g *session.Gap) {
	why := "the disk was slower than the traffic; what passed was not touched"
	if g.Cause.Chosen() {
		why = "left out on purpose: this is a part of a recording"
	}
	if g.Entries == 0 && !g.Cause.Chosen() {
		x.add("bytes", Size(g.Bytes), "that the capture has not: what was said in them is not known").Look = FactBad
	} else {
		x.add("entries", fmt.Sprintf("%s (%d to %d)", Number(g.Entries), g.First, g.Last), why).Look = FactBad
		x.add("bytes", Size(g.Bytes), "of messages")
	}
	for i, s := range g.Streams {
		name := ""
		if i == 0 {
			name = "streams"
		}
		x.add(name, "#"+strconv.FormatUint(uint64(s), 10), "")
	}
}

func (x *explainer) note(n *session.Note) {
	f := x.add("note", string(n.Code), "")
	if n.About != 0 {
		f.Means, f.Seq = fmt.Sprintf("about %d", n.About), n.About
	}
	if n.Text != "" {
		x.add("text", n.Text, "")
	}
	if n.Hint != "" {
		x.add("hint", n.Hint, "")
	}
}

// ExplainFinding tells what a rule found: what was seen, what it means, and
// what to do next.
func ExplainFinding(f *check.Finding) []Fact {
	look := FactMuted
	if f.Severity > check.Info {
		look = FactBad
	}
	entries := NewFinding(f)
	seen := entries.Where()
	if f.Count > 1 {
		seen += fmt.Sprintf(", %d times", f.Count)
	}
	return []Fact{
		{Name: f.Severity.String(), Text: f.Rule.ID, Means: f.Rule.Title, Look: look, Seq: f.LastSeq},
		{Name: "  seen", Text: f.Message},
		{Text: seen, Look: FactMuted},
		{Name: "  means", Text: f.Rule.Means},
		{Name: "  next", Text: f.Rule.Next},
	}
}
