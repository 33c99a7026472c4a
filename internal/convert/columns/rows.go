package columns

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// whoOf is the client that a change is about.
func whoOf(c *engine.Change) who {
	w := who{Client: text(c.Client)}
	if n := c.Node; n != nil && (n.ID == c.Client || n.ID == "") {
		w.node(n)
	}
	return w
}

func (w *who) node(n *decode.Node) {
	w.NodeCluster, w.UserAgentName, w.UserAgentVersion = text(n.Cluster), text(n.UserAgent), text(n.UserAgentVersion)
}

// entry is the row of an entry.
func (x *export) entry(e *session.Entry, c *check.Change) (entryRow, error) {
	r := entryRow{
		Proxy: text(x.of.Proxy), Recording: text(x.of.Name), Seq: int64(e.Seq), Time: microsOf(e.Time), Start: micros(e.Start),
		Conn: int64(e.Conn), Stream: int64(e.Stream), H2Stream: int64(e.H2), Kind: e.Kind.String(), who: whoOf(&c.Change),
		Method: text(c.Method.Path), Variant: string(c.Variant), Type: text(c.Type), What: c.What, Also: c.Also, Uncertain: c.Uncertain,
		Answers: int64(c.Answers), Accepted: int64(c.Accepted), Problems: texts(e.Problems),
	}
	if e.Side != session.SideUnknown {
		r.Side = e.Side.String()
	}
	if r.Method == "" {
		r.Method = text(e.Method)
	}
	if n := c.Node; n != nil {
		r.Region, r.Zone = text(n.Region), text(n.Zone)
	}
	if m := e.Message; m != nil {
		r.Size, r.WireSize, r.Encoding = ptr(m.Size), ptr(m.WireSize), text(m.Encoding)
		r.Masked, r.Truncated = ptr(m.Masked), ptr(m.Truncated)
	}
	r.event(e)
	err := x.message(&r, e, c)
	return r, err
}

// message adds what a message says.
func (x *export) message(r *entryRow, e *session.Entry, c *check.Change) error {
	m := c.Message
	if m == nil {
		return nil
	}
	r.TypeURL, r.Version, r.Nonce = text(m.TypeURL), text(m.Version), text(m.Nonce)
	if len(m.Problems) > 0 {
		r.Problems = append(r.Problems[:len(r.Problems):len(r.Problems)], texts(m.Problems)...)
	}
	if m.Error != nil {
		r.ErrorCode, r.ErrorMessage = ptr(m.Error.Code), text(m.Error.Message)
	}
	switch {
	case m.Request():
		r.Everything = ptr(c.All)
		r.NamesAdded, r.NamesRemoved = texts(c.Added), texts(c.Removed)
	case m.Response():
		return x.response(r, e, c)
	}
	return nil
}

// response adds what is new in a response.
func (x *export) response(r *entryRow, e *session.Entry, c *check.Change) error {
	m := c.Message
	r.Resources = ptr(int32(len(m.Resources)))
	r.Owed = ptr(c.Sub != nil && c.Response != nil && c.Sub.Owed(c.Response))
	r.Added = ptr(int32(0))
	n := c.Response
	if m.Kind == decode.DeltaResponse {
		r.NamesRemoved = texts(m.Removed)
	} else if n != nil {
		for _, it := range n.Removed {
			r.NamesRemoved = append(r.NamesRemoved, text(it.Name))
		}
	}
	if n == nil || len(n.Added)+len(n.Changed)+len(n.Nameless) == 0 {
		return nil
	}
	r.Added = ptr(int32(len(n.Added)))
	// A response may carry a name twice: its items and its resources are in the same
	// order.
	places := make(map[string][]int, len(n.Added)+len(n.Changed))
	items := make([]*engine.Resource, 0, len(n.Added)+len(n.Changed))
	for it := range n.AddedOrChanged() {
		places[it.Name] = append(places[it.Name], len(items))
		items = append(items, it)
	}
	r.Changed, r.ChangedNames = make([]string, len(items), len(items)+len(n.Nameless)), make([]string, len(items), len(items)+len(n.Nameless))
	at, nameless := where{&x.of, int64(e.Seq), e.Time}, 0
	for i := range m.Resources {
		res := &m.Resources[i]
		if res.Empty {
			continue
		}
		name := decode.NormalName(res.Name)
		var content *engine.Content
		place := -1
		if name == "" {
			if nameless < len(n.Nameless) {
				content = n.Nameless[nameless]
			}
			nameless++
		} else if of := places[name]; len(of) == 0 {
			continue
		} else {
			place, places[name] = of[0], of[1:]
			content = items[place].Content
		}
		id, err := x.d.content(at, res, content, e.Message.Masked, c.Variant == xds.VariantREST && decode.LooksLikeJSON(res.Body))
		if err != nil {
			return err
		}
		if place < 0 {
			r.Changed, r.ChangedNames = append(r.Changed, id), append(r.ChangedNames, "")
			continue
		}
		r.Changed[place], r.ChangedNames[place] = id, text(items[place].Name)
	}
	return nil
}

// event adds what entries other than messages say.
func (r *entryRow) event(e *session.Entry) {
	if s := e.Status; s != nil {
		r.HTTPStatus, r.StatusText = int32(s.HTTP), text(s.Message)
		if s.Code >= 0 {
			r.GRPCStatus = ptr(s.Code)
		}
		if s.WasReset {
			r.H2Error = ptr(int64(s.Reset))
		}
	}
	if g := e.GoAway; g != nil {
		r.H2Error, r.StatusText = ptr(int64(g.Code)), text(g.Debug)
	}
	if n := e.Note; n != nil {
		r.Note, r.NoteText = text(string(n.Code)), text(n.Text)
	}
	if g := e.Gap; g != nil {
		r.GapFirst, r.GapLast, r.GapEntries, r.GapChosen = ptr(int64(g.First)), ptr(int64(g.Last)), ptr(int64(g.Entries)), ptr(g.Cause.Chosen())
	}
}

// ack is the row of a verdict.
func (x *export) ack(e *session.Entry, c *check.Change) (r ackRow, is bool) {
	if c.What != engine.ACK && c.What != engine.NACK || c.Message == nil {
		return r, false
	}
	m := c.Message
	r = ackRow{
		Proxy: text(x.of.Proxy), Recording: text(x.of.Name), Seq: int64(e.Seq), Time: microsOf(e.Time), Conn: int64(e.Conn), Stream: int64(e.Stream),
		who: whoOf(&c.Change), Variant: string(c.Variant), Type: text(c.Type), TypeURL: text(m.TypeURL), Verdict: c.What,
		ResponseSeq: int64(c.Answers), Nonce: text(m.Nonce), RequestVersion: text(m.Version), RunningSeq: int64(c.Accepted), Uncertain: c.Uncertain,
	}
	if c.Waited > 0 {
		r.LatencyUS = ptr(c.Waited.Microseconds())
	}
	if m.Error != nil {
		r.ErrorCode, r.ErrorMessage = ptr(m.Error.Code), text(m.Error.Message)
	}
	if c.Request != nil && c.Request.Echoed != nil {
		n := c.Request.Echoed
		r.Version, r.ResponseTime = text(n.Version), micros(n.At)
		r.ResponseResources, r.ResponseSize = ptr(int32(n.Count)), ptr(n.Size)
		r.Again = c.What == engine.NACK && n.JudgedBy != c.Request
	}
	if c.Sub != nil && c.Sub.Accepted != nil {
		r.RunningSeq, r.RunningVersion = int64(c.Sub.Accepted.Seq), text(c.Sub.Accepted.Version)
	}
	return r, true
}
