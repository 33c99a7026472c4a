package script

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// context gives a poll a client to belong to: one of its connection and path
// that waits for no answer.
func (w *writer) context(st *written, e *session.Entry) {
	c := w.connOf(e.Conn)
	for _, ctx := range c.polls[e.Method] {
		if !ctx.busy {
			ctx.busy, st.context = true, ctx
			return
		}
	}
	w.ncontxt++
	ctx := &written{label: "rest" + strconv.Itoa(w.ncontxt), shape: rest, busy: true, conn: e.Conn, id: st.id}
	if c.polls == nil {
		c.polls = make(map[string][]*written)
	}
	if len(c.polls) < maxEnded {
		c.polls[e.Method] = append(c.polls[e.Method], ctx)
	}
	st.context = ctx
	m := st.method
	m.Name = "" // the path says it
	w.declare(ctx, e, m)
}

// pollMessage keeps the bodies of a poll. The request is written with it, the
// response at its end.
func (w *writer) pollMessage(st *written, e *session.Entry) {
	if e.Side == session.Client {
		w.ask(st, e)
	} else {
		st.answer = e
	}
}

// ask writes the request of a poll, which e ends.
func (w *writer) ask(st *written, e *session.Entry) {
	if st.asked {
		return
	}
	st.asked = true
	ctx := st.context
	verb := session.Get(st.open.Headers, ":method")
	out := "P> path=" + w.text(st.open.Method)
	if verb != "POST" {
		out += " verb=" + w.value(verb)
	}
	c := w.connOf(st.conn)
	want := pollHeaders(verb, st.open.Method, "", userAgentOf(st.open))
	if c.peer != nil {
		want = pollHeaders(verb, st.open.Method, c.peer.Listen, userAgentOf(st.open))
	}
	if !slices.Equal(st.open.Headers, want) {
		w.odd(st)
	}
	if e.Kind != session.KindMessage {
		w.line(e.Time, ctx.label, out+` body=""`)
		return
	}
	data := e.Message.Data.Bytes()
	m := w.peek(st, e, data)
	if m.Kind == decode.SotwRequest && len(m.Problems) == 0 {
		w.line(e.Time, ctx.label, out+" "+w.requestText(ctx, e, data, &m))
		return
	}
	w.line(e.Time, ctx.label, out+w.bodyText(data))
}

// bodyText is body=.
func (w *writer) bodyText(data []byte) string {
	const most = 64 << 10
	if len(data) > most || !utf8.Valid(data) {
		w.lost[lostBodies]++
		return ` body="?"`
	}
	return " body=" + strconv.Quote(string(data))
}

// pollEnd writes the end of a poll, or of its request.
func (w *writer) pollEnd(st *written, e *session.Entry) {
	w.ask(st, e)
	if e.Kind == session.KindHalfClose {
		return
	}
	ctx := st.context
	status := session.Status{Code: -1}
	if e.Status != nil {
		status = *e.Status
	}
	if e.Kind == session.KindCancel {
		w.line(e.Time, ctx.label, w.cancelText(e.Side, &status))
	} else {
		w.line(e.Time, ctx.label, w.answerText(st, &status))
	}
	ctx.busy = false
	delete(w.streams, st.id)
}

func (w *writer) answerText(st *written, status *session.Status) string {
	if st.status == 0 {
		st.status = status.HTTP
	}
	if st.status < 100 || st.status > 599 {
		w.lost[lostBodies]++
		st.status = 500
	}
	out := "p< " + strconv.Itoa(st.status)
	e := st.answer
	if e == nil {
		if st.status == 200 {
			out += ` body=""`
		}
		return out
	}
	data := e.Message.Data.Bytes()
	m := w.peek(st, e, data)
	if st.status != 200 || m.Kind != decode.SotwResponse || len(m.Problems) > 0 {
		return out + w.bodyText(data)
	}
	return out + " " + strings.TrimPrefix(w.responseText(st, e, data, &m), " ")
}

// fileEvent writes a change of a file. The content, if any, is res= and so on.
func (w *writer) fileEvent(st *written, e *session.Entry, content string) {
	if e == nil {
		w.lost[lostOther]++
		return
	}
	st.answer = nil
	event := session.Get(e.Headers, xds.FileEvent)
	if !slices.Contains(xds.FileEvents(), event) {
		w.lost[lostBodies]++
		event = xds.FileRead
	}
	out := "F: " + w.text(event)
	if from := session.Get(e.Headers, xds.FileFrom); from != "" && (event == xds.FileRenamed || event == xds.FileSwapped) {
		out += " " + w.text(from)
	}
	out += " " + w.text(strings.TrimPrefix(st.method.Path, xds.FilePrefix))
	for _, field := range []string{xds.FileWatched, xds.FileSeen, xds.FileReplaced} {
		if value := session.Get(e.Headers, field); value != "" {
			out += " " + field[1:] + "=" + w.text(value)
		}
	}
	if content == "" && event != xds.FileDeleted {
		content = `body=""`
	}
	w.line(e.Time, "", strings.TrimSuffix(out+" "+content, " "))
}

// load writes a load report or its answer.
func (w *writer) load(st *written, e *session.Entry, data []byte) {
	m := decode.PeekLoadStats(e.Side, data)
	var made []byte
	var out, typ string
	if e.Side == session.Client {
		q := synth.LoadRequest{Node: m.Node}
		for _, l := range m.Loads {
			q.Clusters = append(q.Clusters, l.Name)
		}
		made, typ = q.Marshal(), "LoadStatsRequest"
		if out = "L>" + w.nodeText(st, m.Node); len(q.Clusters) > 0 {
			out += " stats=" + w.list("[", q.Clusters)
		}
	} else {
		r := synth.LoadResponse{Clusters: m.Clusters, SendAll: m.SendAll, Interval: m.Interval}
		made, typ = r.Marshal(), "LoadStatsResponse"
		out = "l<"
		if len(m.Clusters) > 0 {
			out += " clusters=" + w.list("[", m.Clusters)
		}
		if m.SendAll {
			out += " send_all=true"
		}
		if m.Interval > 0 {
			out += " interval=" + m.Interval.String()
		}
	}
	if !w.contents.same("envoy.service.load_stats.v3."+typ, data, made, e.Message.Masked) {
		w.lost[lostReports]++
	}
	w.on(st, e.Time, out)
}

// clientStatus writes a client status: the answer, with the request before it.
func (w *writer) clientStatus(st *written, e *session.Entry, data []byte) {
	if e.Side == session.Client {
		if st.request != nil {
			w.lost[lostReports]++
		}
		st.request = e
		return
	}
	if st.request == nil {
		w.lost[lostReports]++ // a script asks anew
	}
	st.request = nil
	m := decode.PeekClientStatus(data)
	if len(m.Configs) == 0 {
		w.lost[lostReports]++
		return
	}
	for _, c := range m.Configs {
		w.on(st, e.Time, "-- csds node="+w.pairText(c.NodeID, "")+w.statusesText(c.Resources))
	}
	if len(m.Configs) > 1 {
		w.lost[lostReports]++
	}
}

func (w *writer) statusesText(list []decode.ResourceStatus) string {
	var b strings.Builder
	for _, r := range list {
		if !slices.Contains(synth.Statuses(), r.Client) || r.Config != "UNKNOWN" || r.Error != "" {
			w.lost[lostReports]++
		}
		if !slices.Contains(synth.Statuses(), r.Client) {
			continue
		}
		typ := w.typeText(r.TypeURL)
		if strings.Contains(typ, "/") || typ == "" {
			typ = strconv.Quote(r.TypeURL)
		}
		b.WriteString(" " + typ + "/" + w.text(r.Name) + "=" + r.Client)
		if r.Version != "" {
			b.WriteString("@" + w.text(r.Version))
		}
	}
	return b.String()
}
