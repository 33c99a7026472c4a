package render

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
)

// Table writes entries as the lines of watch: one line an entry, in fixed
// columns, with a summary behind them. It takes the entries of one session in
// order, and remembers of open streams and connections what their last line
// tells. Not all of them need to be printed.
type Table struct {
	style   Style
	screen  int // columns of the screen; 0: there is none
	client  int // width of two columns that differ with the screen's
	version int

	streams map[session.StreamID]*lifetime
	conns   map[session.ConnID]*lifetime
	now     moment
	names   shortname.Set // of clients, as they are met

	hide func(string) string // how names and texts are written; nil: as they are
}

// moment is what is known around the entry that was seen last.
type moment struct {
	client       string    // as the line calls it
	stream, conn *lifetime // nil: not open
}

// lifetime is what is known of a stream or connection that is open.
type lifetime struct {
	since    time.Time
	messages int64
	client   string         // its name, once known; of connections
	conn     session.ConnID // of streams

	introduced bool // the client's node was shown; of streams
	partial    bool // some of its entries were left out on purpose; of streams
}

// NewTable returns a table for a screen of so many columns; 0 stands for a
// pipe or a file, where lines may be longer.
func NewTable(columns int, style Style) *Table {
	t := &Table{
		style: style, screen: columns, client: 20, version: 12,
		streams: make(map[session.StreamID]*lifetime), conns: make(map[session.ConnID]*lifetime),
	}
	if columns > 0 && columns < 100 {
		t.client, t.version = 14, 9
	}
	return t
}

// The columns whose width never changes. A sequence number may outgrow its
// column; the others are shortened.
const (
	seqWidth  = 5
	typeWidth = 4
	whatWidth = 6
	resWidth  = 4
	sizeWidth = 5
	timeForm  = "15:04:05.000"
	// fewest columns in which names say anything
	namesWidth = 10
	// how many names stand on a line that no screen bounds
	namesShown = 8
	asideWidth = 40
	// a gap that names so many streams may have touched more
	gapStreams = 1024
)

// Head is the line of column titles.
func (t *Table) Head() string {
	head := t.fixed(row{seq: "SEQ", time: "TIME (UTC)", client: "CLIENT", typ: "TYPE", what: "WHAT"}) +
		" " + PadRight("VERSION", t.version) + " " + PadLeft("RES", resWidth) + " " + PadLeft("SIZE", sizeWidth) + "  SUMMARY"
	return t.style.paint(title, head)
}

// row is one line before it is laid out: either version, res and size followed
// by a summary, or text behind the fixed columns.
type row struct {
	sign, seq, time, client, typ, what string

	version, res, size string
	names              []string // go into the summary as far as there is room
	aside              string   // is left out where there is no room for all of it
	text               string   // is never cut, unless brief
	brief              bool
	message            bool
	role               role
}

// Screen is how many columns the screen has, 0 if there is none.
func (t *Table) Screen() int { return t.screen }

// Aside is a line between the lines of entries that is about them. On a screen it
// takes one row.
func (t *Table) Aside(sign, text string) string {
	line := strings.TrimRight(strings.Repeat(" ", seqWidth+2)+strings.TrimLeft(sign+"  ", " ")+text, " ")
	if t.screen > 0 {
		line = End(line, t.screen-1)
	}
	return t.style.paint(muted, line)
}

// See must be called with every entry, in order, before Line or Summary is
// called with it.
func (t *Table) See(e *session.Entry, c *check.Change) {
	conn := t.conns[e.Conn]
	if conn == nil && e.Conn != 0 {
		conn = &lifetime{since: e.Time}
		t.conns[e.Conn] = conn
	}
	stream := t.streams[e.Stream]
	switch {
	case e.Kind == session.KindOpen: // a late message does not bring its stream back
		stream = &lifetime{since: e.Time, conn: e.Conn}
		t.streams[e.Stream] = stream
	case e.Kind == session.KindGap:
		t.gap(e.Gap)
	case e.Kind == session.KindMessage && stream != nil:
		stream.messages++
	case e.Kind == session.KindTrailer, e.Kind == session.KindCancel:
		delete(t.streams, e.Stream)
	case e.Kind == session.KindDisconnect:
		delete(t.conns, e.Conn)
		for id, s := range t.streams {
			if s.conn == e.Conn {
				delete(t.streams, id)
			}
		}
	}
	t.now = moment{client: "-", stream: stream, conn: conn}
	if e.Held != nil && c.Client != "" {
		t.now.client = Safe(c.Client)
	}
	if conn != nil {
		if c.Client != "" {
			conn.client = Safe(c.Client)
		}
		t.now.client = conn.client
		if conn.client == "" {
			t.now.client = "conn " + strconv.FormatUint(uint64(e.Conn), 10)
		}
	}
}

// gap notes of which streams not every message will be counted.
func (t *Table) gap(g *session.Gap) {
	if g == nil || !g.Cause.Chosen() {
		return // the Tracker says so
	}
	for _, id := range g.Streams {
		if s := t.streams[id]; s != nil {
			s.partial = true
		}
	}
	if len(g.Streams) >= gapStreams {
		for _, s := range t.streams {
			s.partial = true
		}
	}
}

// Line is the line of an entry, or "" for entries that tell people nothing:
// the passing of time, response headers that merely say 200, and resets that
// merely confirm the end of a stream.
func (t *Table) Line(e *session.Entry, c *check.Change) string {
	r, shown := t.row(e, c)
	if e.Kind == session.KindGap && e.Gap != nil {
		return t.gapLine(r)
	}
	if !shown {
		return ""
	}
	// Who a client is stands on the first line of a stream that says it.
	if s := t.now.stream; s == nil || s.introduced {
		r.aside = ""
	} else if r.aside != "" {
		s.introduced, r.aside = true, "("+Middle(r.aside, asideWidth)+")"
	}
	return t.lay(r)
}

// Summary is what the line of an entry says in words, without its numbers and
// its time, and with nothing left out for want of room.
func (t *Table) Summary(e *session.Entry, c *check.Change) string {
	r, shown := t.row(e, c)
	if !shown && r.what == "" {
		r.what = e.Kind.String()
	}
	var words []string
	for _, w := range append([]string{r.client, r.typ, r.what, r.version, r.text, r.aside}, r.names...) {
		if w != "" && w != "-" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Event is what the line of an entry says that is no message.
type Event struct{ Sign, What, Text string }

// Event says what the line of such an entry says behind its time and its
// client; false if there is no line for it. The texts are safe on a terminal.
func (t *Table) Event(e *session.Entry, c *check.Change) (Event, bool) {
	r, shown := t.row(e, c)
	if e.Kind == session.KindGap && e.Gap != nil {
		r.sign, r.what = "!", "gap"
	}
	return Event{r.sign, r.what, r.text}, shown
}

// Describe is what the line of a message says behind its columns, in at most so
// many columns: notes, who sent it, and as many names as there is room for. What
// is shortened was written by hide before: a part of a name is not known as one.
func Describe(e *session.Entry, c *check.Change, columns int, hide func(string) string) string {
	if e.Message == nil || columns < 1 {
		return ""
	}
	t := Table{screen: columns, hide: hide}
	var r row
	t.messageRow(&r, e, c)
	r.aside = t.hidden(r.aside)
	line := End(t.hidden(r.text), columns)
	if r.aside != "" && Width(line)+2+Width(r.aside) <= columns {
		line = strings.TrimLeft(line+"  ("+r.aside+")", " ")
	}
	if names := t.someNames(r.names, columns-Width(line)-2); names != "" {
		line = strings.TrimLeft(line+"  "+names, " ")
	}
	return line
}

// row is what there is to say of the entry that was seen last; false if there
// is no line for it.
func (t *Table) row(e *session.Entry, c *check.Change) (row, bool) {
	r := row{
		sign: " ", seq: strconv.FormatUint(uint64(e.Seq), 10), time: e.Time.UTC().Format(timeForm),
		client: t.now.client, typ: c.Type,
	}
	if r.typ == "" {
		r.typ = cmp.Or(SideType(c.Method), "-")
	}
	shown := true
	switch {
	case e.Kind == session.KindGap && e.Gap != nil:
		r.text = gapText(e.Gap)
		if e.Gap.Cause.Chosen() {
			r.role = muted
		}
	case e.Kind == session.KindMessage && e.Message != nil:
		t.messageRow(&r, e, c)
	default:
		shown = t.eventRow(&r, e, c)
	}
	if r.sign == " " && len(e.Problems) > 0 {
		r.sign = "~"
	}
	return r, shown
}

// lay puts a row into its columns.
func (t *Table) lay(r row) string {
	line, used := t.fixed(r)+" ", t.fixedWidth()+1
	if !r.message {
		if r.brief && t.screen > 0 {
			r.text = End(r.text, max(t.screen-used, 2*namesWidth))
		}
		text, _ := t.hang(r.text, used)
		return strings.TrimRight(line+text, " ")
	}
	line += PadRight(Middle(r.version, t.version), t.version) + " " +
		PadLeft(r.res, resWidth) + " " + PadLeft(r.size, sizeWidth)
	used += t.version + 1 + resWidth + 1 + sizeWidth
	add := func(part string) {
		if part != "" {
			line += "  " + part
			used += len("  ") + Width(part)
		}
	}
	if hung, width := t.hang(r.text, used+len("  ")); hung != r.text {
		line, used = line+"  "+hung, width
	} else {
		add(r.text)
	}
	if t.screen == 0 || used+len("  ")+Width(r.aside) <= t.screen {
		add(r.aside)
	}
	add(t.someNames(r.names, t.screen-used-len("  ")))
	return strings.TrimRight(line, " ")
}

// hang breaks a text that a screen has no room for behind so many columns: what
// goes on stands below the summary, or, where that is narrow, below the times. It
// also says how far the last line goes.
func (t *Table) hang(text string, used int) (hung string, width int) {
	if text == "" || t.screen == 0 || used+Width(text) <= t.screen {
		return text, used + Width(text)
	}
	indent := strings.Repeat(" ", used)
	if t.screen-used < asideWidth {
		indent = strings.Repeat(" ", seqWidth+2)
	}
	var b strings.Builder
	width = used
	for i, word := range strings.Split(text, " ") {
		gap := 1 // two spaces are a word between them
		if i == 0 || width == len(indent) {
			gap = 0
		}
		if width+gap+Width(word) > t.screen {
			b.WriteString("\n" + indent)
			width, gap = len(indent), 0
		}
		b.WriteString(" "[:gap] + word)
		width += gap + Width(word)
	}
	return b.String(), width
}

func (t *Table) fixedWidth() int {
	return 1 + seqWidth + 1 + len(timeForm) + 1 + t.client + 1 + typeWidth + 1 + whatWidth
}

// fixed is the part that all rows have.
func (t *Table) fixed(r row) string {
	sign := " "
	if r.sign != "" && r.sign != sign {
		sign = t.style.paint(r.role, r.sign)
	}
	return sign + PadLeft(r.seq, seqWidth) + " " + PadRight(r.time, len(timeForm)) + " " +
		PadRight(t.names.Fit(r.client, t.client), t.client) + " " + PadRight(Middle(Safe(r.typ), typeWidth), typeWidth) + " " +
		t.style.paint(r.role, PadRight(r.what, whatWidth))
}

// someNames lists as many names as fit, and how many more there are.
func (t *Table) someNames(names []string, room int) string {
	if t.screen == 0 {
		shown := names[:min(len(names), namesShown)]
		line := make([]string, len(shown))
		for i, n := range shown {
			line[i] = Safe(n)
		}
		return strings.Join(line, " ") + more(len(names)-len(shown))
	}
	if room < namesWidth {
		return ""
	}
	var b strings.Builder
	used := 0
	for i, n := range names {
		n = t.hidden(Safe(n))
		left := room - used - Width(more(len(names)-i-1))
		if i > 0 {
			left--
		}
		if i > 0 && Width(n) > left {
			return b.String() + more(len(names)-i)
		}
		n = shortname.Alone(n, left)
		if i > 0 {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(n)
		used += Width(n)
	}
	return b.String()
}

func (t *Table) hidden(s string) string {
	if t.hide == nil {
		return s
	}
	return t.hide(s)
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return " +" + strconv.Itoa(n)
}

// Titles name the cells of an entry.
func Titles() []string {
	return []string{"seq", "time", "client", "type", "what", "version", "res", "size", "summary", "conn", "stream", "findings"}
}

// Cells are the columns of watch for the entry that was seen last, as they are
// in a pipe, and what a line has no room for. Every entry has them; a cell of
// which nothing is to be said is empty.
func (t *Table) Cells(e *session.Entry, c *check.Change) []string {
	r, _ := t.row(e, c)
	if r.what == "" {
		r.what = e.Kind.String()
	}
	var rules []string
	for i := range c.Findings {
		rules = append(rules, c.Findings[i].Rule.ID)
	}
	cells := []string{
		r.seq, Timestamp(e.Time), t.now.client, Safe(r.typ), r.what, r.version, r.res, "", r.words(),
		decimal(uint64(e.Conn)), decimal(uint64(e.Stream)), strings.Join(rules, " "),
	}
	if e.Message != nil {
		cells[7] = strconv.FormatInt(e.Message.Size, 10)
	}
	for i, cell := range cells {
		if cell == "-" {
			cells[i] = ""
		}
	}
	return cells
}

// Words are the summary of Cells, in which a stream tells once who its client is,
// as in Line.
func (t *Table) Words(e *session.Entry, c *check.Change) string {
	r, _ := t.row(e, c)
	if s := t.now.stream; s != nil && r.aside != "" {
		if s.introduced {
			r.aside = ""
		}
		s.introduced = true
	}
	return r.words()
}

// words are the summary of a row that no screen bounds.
func (r *row) words() string {
	shown := r.names[:min(len(r.names), namesShown)]
	words := make([]string, 0, len(shown)+3)
	for _, w := range append([]string{r.text, r.aside}, shown...) {
		if w != "" {
			words = append(words, Safe(w))
		}
	}
	if n := len(r.names) - len(shown); n > 0 {
		words = append(words, strings.TrimSpace(more(n)))
	}
	return strings.Join(words, " ")
}

// decimal is "" for 0, which numbers nothing.
func decimal(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}
