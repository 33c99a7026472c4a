package render

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// Ladder draws what passed between a client and a server as a sequence diagram:
// time runs down, each message is an arrow. It takes the entries of one session
// in order, like a Table, and draws those that it is told to. How wide it is
// drawn is decided afterwards.
type Ladder struct {
	table    *Table
	clients  map[session.ConnID]string // node ids, once known
	peers    map[session.ConnID]string // upstream addresses
	server   string
	steps    []step
	contents map[subscription]*content
	seed     maphash.Seed
	seen     map[session.Seq]string // versions of responses, of those drawn and of what they answer
	order    []session.Seq          // of seen, oldest first
}

// step is one row before it is laid out.
type step struct {
	seq      session.Seq
	at       time.Time
	conn     session.ConnID
	stream   session.StreamID
	from     session.Side // whose arrow it is; SideUnknown: a line across
	sign     string       // "!", "~" or ""
	look     role
	typ      string
	what     string
	rest     []string // what else the label says, most important first
	nack     bool
	gap      bool
	carried  bool
	findings []check.Finding
}

type subscription struct {
	stream session.StreamID
	typ    string
}

// content is what a response carried, by name.
type content struct{ of map[string]uint64 }

const (
	maxLadderVersions  = 4096
	maxLadderPeers     = 1 << 16
	maxLadderResources = 4096 // of a response whose content is compared
	ladderNames        = 3    // names that a label lists
)

// NewLadder returns a ladder without steps.
func NewLadder() *Ladder {
	return &Ladder{
		table: NewTable(0, Style{}), contents: make(map[subscription]*content), seed: maphash.MakeSeed(),
		clients: make(map[session.ConnID]string), peers: make(map[session.ConnID]string), seen: make(map[session.Seq]string),
	}
}

// See must be called with every entry, in order, before Add is called with it.
func (l *Ladder) See(e *session.Entry, c *check.Change) {
	l.table.See(e, c)
	switch {
	case e.Peer != nil && len(l.peers) < maxLadderPeers:
		l.peers[e.Conn] = e.Peer.Upstream
	case e.Kind == session.KindDisconnect && l.server == "":
		delete(l.peers, e.Conn)
	}
	if m := c.Message; m != nil && m.Response() {
		if len(l.order) >= maxLadderVersions {
			delete(l.seen, l.order[0])
			l.order = append(l.order[:0], l.order[1:]...)
		}
		l.seen[e.Seq], l.order = Middle(m.Version, 2*asideWidth), append(l.order, e.Seq)
	}
}

// Len is how many steps there are.
func (l *Ladder) Len() int { return len(l.steps) }

// Add draws an entry, if it tells people anything.
func (l *Ladder) Add(e *session.Entry, c *check.Change) {
	r, shown := l.table.row(e, c)
	if !shown && len(c.Findings) == 0 {
		return
	}
	if c.Client != "" && e.Conn != 0 && l.clients[e.Conn] == "" {
		l.clients[e.Conn] = c.Client
	}
	if l.server == "" {
		l.server = l.peers[e.Conn]
	}
	s := step{
		seq: e.Seq, at: e.Time, conn: e.Conn, stream: e.Stream, from: e.Side, typ: c.Type, what: r.what, look: r.role,
		nack: c.What == engine.NACK, carried: e.Carried, findings: c.Findings,
	}
	if r.sign != " " {
		s.sign = r.sign
	}
	for i := range c.Findings {
		s.worse(&c.Findings[i])
	}
	if s.from != session.Client && s.from != session.Server {
		s.from = session.SideUnknown
	}
	switch {
	case e.Kind == session.KindGap && e.Gap != nil:
		s.gap, s.rest = true, []string{r.text}
		if !e.Gap.Cause.Chosen() {
			s.sign, s.look = "!", bad
		}
	case e.Kind == session.KindMessage && e.Message != nil:
		s.rest = l.message(e, c, &r)
	default:
		if s.what == "" {
			s.what = e.Kind.String()
		}
		s.rest = []string{r.text}
		if e.Kind == session.KindNote || e.Kind == session.KindHeld {
			s.from = session.SideUnknown
		}
	}
	l.steps = append(l.steps, s)
}

// Last is what was drawn last: a sign, "" for none, and what stands on the arrow.
func (l *Ladder) Last() (sign, label string) {
	if len(l.steps) == 0 {
		return "", ""
	}
	s := &l.steps[len(l.steps)-1]
	return s.sign, s.label("")
}

// worse puts the sign of a finding on a step.
func (s *step) worse(f *check.Finding) {
	sign, look := severityLook(f.Severity.String())
	if sign == "!" || sign == "~" && s.sign != "!" {
		s.sign, s.look = sign, look
	}
}

// message is what a label says of a message, behind what it is.
func (l *Ladder) message(e *session.Entry, c *check.Change, r *row) (rest []string) {
	m := c.Message
	if m == nil {
		return []string{r.text}
	}
	version := ""
	if r.version != "-" {
		version = r.version
	}
	switch {
	case c.What == engine.NACK:
		rest = append(rest, l.rejected(c, version))
	case m.Response():
		rest = append(rest, version, l.carries(e, c))
	case c.What == engine.ACK:
		if version == "" { // of delta, which names none
			version = Safe(l.seen[c.Answers])
		}
		rest = append(rest, version)
	}
	if m.Request() && c.What != engine.NACK {
		rest = append(rest, requested(c, r))
	}
	return append(rest, r.text)
}

// rejected says what a NACK is about: "88 keeps 87".
func (l *Ladder) rejected(c *check.Change, keeps string) string {
	about := Safe(l.seen[c.Answers])
	if c.Message.Kind == decode.DeltaRequest {
		return about
	}
	if keeps == "" {
		keeps = "nothing"
	}
	return strings.TrimSpace(about + " keeps " + keeps)
}

// requested are the names that a request is about, or how many.
func requested(c *check.Change, r *row) string {
	names := r.names
	switch {
	case c.What != engine.SUB && c.What != engine.UNSUB && len(c.Also) == 0:
		return ""
	case r.res == "*" && len(names) == 0:
		return "*"
	case len(names) == 0:
		return ""
	case len(names) <= ladderNames:
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = Safe(n)
		}
		return strings.Join(out, " ")
	}
	return strconv.Itoa(len(names)) + " names"
}

// carries says how many resources a response has, and how many of them differ
// from the last response of the type on the ladder.
func (l *Ladder) carries(e *session.Entry, c *check.Change) string {
	m := c.Message
	if m.Kind == decode.DeltaResponse {
		return "" // the version says it
	}
	text := strconv.Itoa(len(m.Resources)) + " res"
	key := subscription{e.Stream, c.Type}
	if len(m.Resources) > maxLadderResources || !e.Message.Whole() {
		delete(l.contents, key)
		return text
	}
	now := &content{of: make(map[string]uint64, len(m.Resources))}
	for i := range m.Resources {
		now.of[m.Resources[i].Name] = maphash.Bytes(l.seed, m.Resources[i].Body)
	}
	if was := l.contents[key]; was != nil {
		changed := 0
		for name, sum := range now.of {
			if old, had := was.of[name]; !had || old != sum {
				changed++
			}
		}
		for name := range was.of {
			if _, has := now.of[name]; !has {
				changed++
			}
		}
		if changed == 0 {
			text += ", unchanged"
		} else {
			text += ", " + strconv.Itoa(changed) + " changed"
		}
	}
	l.contents[key] = now
	return text
}

// only is the one type that all messages are of, or "".
func (l *Ladder) only() string {
	typ := ""
	for i := range l.steps {
		switch s := &l.steps[i]; {
		case s.typ == "" || s.gap:
		case typ == "":
			typ = s.typ
		case typ != s.typ:
			return ""
		}
	}
	return typ
}

// several says whether the steps are of more than one stream.
func (l *Ladder) several() bool {
	var stream session.StreamID
	for i := range l.steps {
		s := l.steps[i].stream
		if s != 0 && stream != 0 && s != stream {
			return true
		}
		stream = max(stream, s)
	}
	return false
}

// who is the client of a step, or "" where there is none.
func (l *Ladder) who(s *step) string {
	if s.conn == 0 {
		return ""
	}
	if name := l.clients[s.conn]; name != "" {
		return Safe(name)
	}
	return "conn " + strconv.FormatUint(uint64(s.conn), 10)
}

// ends are the clients of all steps, each once, and the server.
func (l *Ladder) ends() (clients []string, server string) {
	seen := make(map[string]bool)
	for i := range l.steps {
		if who := l.who(&l.steps[i]); who != "" && l.steps[i].from != session.SideUnknown && !seen[who] {
			seen[who], clients = true, append(clients, who)
		}
	}
	if len(clients) == 0 {
		clients = []string{"client"}
	}
	if server = Safe(l.server); server == "" {
		server = "server"
	}
	return clients, server
}

// label is what stands on an arrow. The type is left out where all are of one.
func (s *step) label(only string) string {
	text := ""
	if !s.gap {
		text = s.what
		if s.typ != "" && s.typ != only {
			text += " " + Safe(s.typ)
		}
	}
	space := " "
	for _, w := range s.rest {
		if w != "" {
			text += space + w
			space = "  "
		}
	}
	return strings.TrimPrefix(text, " ")
}
