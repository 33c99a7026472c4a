package script

import (
	"bufio"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Write writes a session as a script that means the same to whoever judges it:
// the same clients, types, names, versions and nonces, at the same intervals.
// Contents become short hashes, equal exactly where the contents are, with the
// references and faults that they have. What a script cannot carry is counted in
// sentences. It needs the types in the global registry, see decode/types, and
// remembers a few bytes for each content that it has seen.
func Write(w io.Writer, entries iter.Seq[session.Entry]) (lost []string, err error) {
	out := &writer{
		out: bufio.NewWriter(w), streams: make(map[session.StreamID]*written), conns: make(map[session.ConnID]*link),
		contents: newContents(),
	}
	for e := range entries {
		if out.err != nil {
			break
		}
		out.step(&e)
	}
	out.settle(nil)
	if err := out.out.Flush(); out.err == nil {
		out.err = err
	}
	return out.lost.list(), out.err
}

// writer turns entries into lines.
type writer struct {
	out     *bufio.Writer
	err     error
	lost    tally
	entries int64
	bytes   int64 // of padded messages

	begun bool
	last  time.Time // of the line before

	streams map[session.StreamID]*written
	ended   []session.StreamID // oldest first
	conns   map[session.ConnID]*link
	nconn   session.ConnID
	highest session.StreamID // that a label was made of
	nagain  int              // labels of other streams
	ncontxt int              // contexts of polls
	current string           // label of the stream that lines belong to

	// held is an entry that the next one decides about: headers of a server,
	// the event of a file.
	held *session.Entry

	anew bool // what clients hold is left out

	contents *contents
}

// link is a connection.
type link struct {
	peer    *session.Peer
	label   string // of the first stream on it, "" before
	streams []session.StreamID
	polls   map[string][]*written // contexts of REST by path
}

// maxEnded is how many streams are remembered after their end, for what crossed
// it.
const maxEnded = 1024

// written is a stream.
type written struct {
	id      session.StreamID
	label   string
	shape   shape
	method  xds.Method
	content [2]string // content types of client and server
	conn    session.ConnID
	ended   bool
	headed  bool
	odd     bool                    // its headers were counted
	grpc    bool                    // its client is a gRPC library
	nodes   map[string]*decode.Node // what each node said of itself last, by id

	// of a poll; a context has none of these but busy
	open, request, answer *session.Entry
	status                int
	busy, asked           bool
	context               *written
}

// step writes what there is to write about an entry.
func (w *writer) step(e *session.Entry) {
	w.entries++
	if w.entries > maxEntries {
		w.lost[lostLength]++
	}
	if len(e.Problems) > 0 {
		w.lost[lostProblems]++
	}
	w.settle(e)
	switch e.Kind {
	case session.KindConnect:
		w.conns[e.Conn] = &link{peer: e.Peer}
	case session.KindOpen:
		w.open(e)
	case session.KindHeader:
		w.header(e)
	case session.KindMessage:
		if e.Message != nil {
			w.message(e)
		}
	case session.KindHalfClose, session.KindTrailer, session.KindCancel:
		w.end(e)
	case session.KindGoAway, session.KindDisconnect:
		w.connEvent(e)
	case session.KindTime:
		w.line(e.Time, "", "-- tick")
	case session.KindGap:
		if e.Gap != nil {
			w.lost[lostGaps] += int64(e.Gap.Entries)
		}
	case session.KindNote:
		w.lost[lostNotes]++
	case session.KindHeld:
		w.heldEntry(e)
	}
}

// begin fixes what the first line is relative to.
func (w *writer) begin(at time.Time) {
	w.begun, w.last = true, at
	if !at.Equal(start) {
		w.put("# Began at " + at.UTC().Format(time.RFC3339Nano) + "\n")
	}
}

func (w *writer) put(s string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(s)
	}
}

// line writes a line. The label is that of the stream, or "" for lines that
// belong to none; @ is written where it is needed.
func (w *writer) line(at time.Time, label, text string) {
	if !w.begun {
		w.begin(at)
	}
	switch d := at.Sub(w.last); {
	case d > 0:
		w.put("t=+" + d.String() + " ")
		w.last = at
	case d < 0:
		w.lost[lostOrder]++
	}
	if label != "" && label != w.current {
		w.put("@" + label + " ")
	}
	w.put(text)
	w.put("\n")
}

// on writes a line of a stream, with @ if the stream has ended.
func (w *writer) on(st *written, at time.Time, text string) {
	if st.ended && st.label == w.current {
		text = "@" + st.label + " " + text
	}
	w.line(at, st.label, text)
}

// quoted signs make a text a quoted one.
const special = " \t\"\\,[]{}()@#~=`"

// text is s as a word, in quotes if it has to be.
func (w *writer) text(s string) string {
	if !utf8.ValidString(s) {
		w.lost[lostText]++
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	plain := s != "" && !strings.ContainsAny(s, special)
	for _, r := range s {
		plain = plain && strconv.IsPrint(r)
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// quote is s in quotes.
func quote(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\ufffd")) }

// optional is a word that is left out where it would say nothing.
func (w *writer) optional(key, value string) string {
	if value == "" {
		return ""
	}
	return " " + key + "=" + w.text(value)
}

// value is a text behind =, where nothing needs no quotes.
func (w *writer) value(s string) string {
	if s == "" {
		return ""
	}
	return w.text(s)
}

// list is a list of texts.
func (w *writer) list(open string, names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = w.text(n)
	}
	return open + strings.Join(parts, ",") + string(closing(open[0]))
}

// keyedText is a text in front of or behind a colon.
func (w *writer) keyedText(s string) string {
	if strings.Contains(s, ":") {
		return quote(s)
	}
	return w.text(s)
}

// pairText is A/B, or A alone.
func (w *writer) pairText(a, b string) string {
	out := w.text(a)
	if strings.Contains(a, "/") {
		out = quote(a)
	}
	if b != "" {
		if a == "" {
			out = ""
		}
		out += "/" + w.text(b)
	}
	return out
}

// typeText is a type URL as type= takes it.
func (w *writer) typeText(url string) string {
	if word := xds.TypeWord(url); word != "" || url == "" {
		return word
	}
	name, ok := strings.CutPrefix(url, xds.TypePrefix)
	plain := w.text(url) == url
	switch {
	case plain && ok && strings.Contains(name, ".") && !strings.Contains(name, "/") &&
		!strings.HasPrefix(name, "v2.") && !strings.HasPrefix(name, "v3."):
		return name
	case plain && strings.Contains(url, "/"):
		return url
	}
	return quote(url)
}
