package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// LadderLine is one line of a ladder.
type LadderLine struct {
	Seq  session.Seq // of the entry that it is about; 0: a head
	Kind LadderKind
	Text string
}

// LadderKind says what a line of a ladder is.
type LadderKind uint8

// The head names who takes part, an arrow is a message or an event of one side,
// what is across is of neither, a finding is about the arrow above it.
const (
	LadderHead LadderKind = iota
	LadderArrow
	LadderAcross
	LadderFinding
)

// LadderForm is how a ladder is drawn.
type LadderForm struct {
	Columns int  // at least 60; 0: 80
	ASCII   bool // no box drawing
	Style   Style
	// Replace is applied to the texts before they are shortened, such as one
	// that puts other names in; nil for none.
	Replace func(string) string
}

const (
	minLadder     = 60
	usualLadder   = 80
	ladderDelta   = 8  // columns of the time since the arrow before
	ladderStream  = 6  // those of the stream, if there are several
	ladderUp      = 13 // those of the arrow between proxy and server
	ladderWho     = 14 // those of a client beside its message, where there is no more room
	ladderProxy   = "xdsproxy"
	ladderNothing = "nothing to draw"
)

// rails is where the lines of life are.
type rails struct {
	LadderForm
	leg, up int // columns between client and proxy, between proxy and server
	streams bool
	seqs    int // columns of a number
	only    string
	clients []string
	server  string
}

// Lines draws the ladder.
func (l *Ladder) Lines(o LadderForm) []LadderLine {
	if o.Columns == 0 {
		o.Columns = usualLadder
	}
	o.Columns = max(o.Columns, minLadder)
	f := &rails{LadderForm: o, streams: l.several(), only: l.only(), up: ladderUp, seqs: seqWidth}
	for i := range l.steps {
		f.seqs = max(f.seqs, len(strconv.FormatUint(uint64(l.steps[i].seq), 10)))
	}
	if f.Replace == nil {
		f.Replace = func(s string) string { return s }
	}
	f.clients, f.server = l.ends()
	f.server = f.Replace(f.server)
	for i := range f.clients {
		f.clients[i] = f.Replace(f.clients[i])
	}
	right := 1 + f.seqs + 1 + ladderDelta
	if f.streams {
		right += ladderStream
	}
	f.leg = o.Columns - right - f.up - 4
	out := []LadderLine{{Kind: LadderHead, Text: f.text(f.head())}}
	if len(l.steps) == 0 {
		return append(out, LadderLine{Kind: LadderHead, Text: "  " + ladderNothing})
	}
	before := l.steps[0].at
	for i := range l.steps {
		s := &l.steps[i]
		line := LadderLine{Seq: s.seq, Kind: LadderArrow}
		drawn := ""
		if s.from == session.SideUnknown {
			line.Kind, drawn = LadderAcross, f.across(s)
		} else {
			drawn = f.arrow(s, f.Replace(l.who(s)))
		}
		line.Text = f.text(strings.TrimRight(drawn+f.margin(s, before), " "))
		out = append(out, line)
		before = s.at
		out = f.findings(out, s)
	}
	return out
}

// text keeps to ASCII what is ours.
func (f *rails) text(s string) string {
	if f.ASCII {
		return strings.NewReplacer(ellipsis, ".", "µ", "u").Replace(s)
	}
	return s
}

func (f *rails) bar() string {
	if f.ASCII {
		return "|"
	}
	return "│"
}

func (f *rails) line(n int) string {
	c := "─"
	if f.ASCII {
		c = "-"
	}
	return strings.Repeat(c, max(n, 0))
}

// head names the three above their lines.
func (f *rails) head() string {
	client := f.clients[0]
	if n := len(f.clients); n > 1 {
		client = strconv.Itoa(n) + " clients"
	}
	proxyAt := 1 + 1 + f.leg - len(ladderProxy)/2
	serverAt := proxyAt + len(ladderProxy) + 2
	room := f.Columns - serverAt
	only := ""
	if f.only != "" {
		only = "  " + Safe(f.only) + " only"
	}
	head := PadRight(" "+Middle(client, proxyAt-2), proxyAt) + PadRight(ladderProxy, serverAt-proxyAt)
	head += Middle(f.server, room-Width(only)) + only
	return f.Style.paint(title, strings.TrimRight(head, " "))
}

// arrow is a row with an arrow from one end to the other.
func (f *rails) arrow(s *step, who string) string {
	label := f.Replace(s.label(f.only))
	if len(f.clients) > 1 {
		label += "  " + who
		if cut := Width(label) - (f.leg - 8); cut > 0 { // who it is matters more
			label = End(f.Replace(s.label(f.only)), max(f.leg-8-2-ladderWho, 1)) + "  " + Middle(who, ladderWho)
		}
	}
	label = End(label, f.leg-8)
	rest := f.leg - 2 - Width(label) - 2 // of the line, without the head and what is at its foot
	foot := f.line(2)
	if s.sign == "!" || s.sign == "~" {
		foot = f.line(1) + s.sign
	}
	word, tail, _ := strings.Cut(label, " ")
	if tail != "" {
		tail = " " + tail
	}
	text := " " + f.Style.paint(s.look, word) + tail + " "
	if s.from == session.Client {
		return " " + f.bar() + foot + text + f.line(rest-1) + ">" + f.bar() + f.line(f.up-1) + ">" + f.bar()
	}
	return " " + f.bar() + "<" + foot + text + f.line(rest-1) + f.bar() + "<" + f.line(f.up-1) + f.bar()
}

// across is a row that breaks the lines of life.
func (f *rails) across(s *step) string {
	room := f.leg + f.up + 3
	text := End(f.Replace(s.label(f.only)), room-8)
	sign := s.sign
	if sign == "" {
		sign = " "
	}
	fill := max(room-Width(text)-6, 0)
	return f.Style.paint(s.look, sign) + f.Style.paint(s.look, f.line(3)+" "+text+" "+f.line(fill+1))
}

// margin is what stands right of the lines: number and time since the row
// before.
func (f *rails) margin(s *step, before time.Time) string {
	m := " " + PadLeft(strconv.FormatUint(uint64(s.seq), 10), f.seqs) + " " +
		PadRight("+"+duration(s.at.Sub(before)), ladderDelta)
	if f.streams && s.stream != 0 {
		m += Middle("#"+strconv.FormatUint(uint64(s.stream), 10), ladderStream)
	}
	return m
}

// findings are told below what proved them.
func (f *rails) findings(out []LadderLine, s *step) []LadderLine {
	const indent = "     "
	for i := range s.findings {
		finding := &s.findings[i]
		sign, look := severityLook(finding.Severity.String())
		text := wrap(finding.Rule.ID+": "+Safe(f.Replace(finding.Message)), indent, f.Columns)
		first := true
		for line := range strings.Lines(text) {
			line = End(strings.TrimSuffix(line, "\n"), f.Columns)
			if first {
				line = "   " + f.Style.paint(look, sign) + " " + strings.TrimPrefix(line, indent)
				line = strings.Replace(line, finding.Rule.ID, f.Style.paint(look, finding.Rule.ID), 1)
				first = false
			}
			out = append(out, LadderLine{Seq: s.seq, Kind: LadderFinding, Text: f.text(line)})
		}
	}
	return out
}

// Text is the ladder as lines that end with a line feed.
func (l *Ladder) Text(o LadderForm) string {
	var b strings.Builder
	for _, line := range l.Lines(o) {
		b.WriteString(line.Text)
		b.WriteByte('\n')
	}
	return b.String()
}
