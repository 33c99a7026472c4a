package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// eventRow fills the row of an entry that is no message; false: there is no
// line for it.
func (t *Table) eventRow(r *row, e *session.Entry, c *check.Change) bool {
	r.role, r.brief, r.what = muted, true, EventWord(e.Kind, c.Variant)
	switch e.Kind {
	case session.KindConnect:
		r.text = peerText(e.Peer)
	case session.KindOpen:
		r.text = methodText(c.Method, e.Method)
	case session.KindHeader:
		if c.Variant == xds.VariantFile {
			r.text = fileText(e)
			break
		}
		status := session.Get(e.Headers, ":status")
		if status == "200" || status == "" {
			return false
		}
		r.text = "HTTP status " + Safe(status)
	case session.KindHalfClose:
		r.text = "the client sends no more"
	case session.KindTrailer, session.KindCancel:
		if over := t.now.stream == nil; over && e.Status != nil && e.Status.WasReset && e.Status.Reset == 0 {
			return false
		}
		t.closeRow(r, e, c)
	case session.KindGoAway:
		r.text = goAwayText(e)
		if e.GoAway != nil && e.GoAway.Code != 0 {
			r.sign, r.role, r.brief = "~", warned, false
		}
	case session.KindDisconnect:
		t.goneRow(r, e)
	case session.KindNote:
		noteRow(r, e.Note)
	case session.KindHeld:
		r.text = heldText(e, t.screen == 0) + loadText(c)
		if e.Held != nil && e.Held.Failed != "" {
			r.sign, r.role, r.brief = "~", warned, false
		}
	case session.KindTime:
		return false
	default:
		r.what, r.text = "?", e.Kind.String()
	}
	for _, p := range e.Problems {
		r.text, r.brief = r.text+"  "+Safe(p), false
	}
	return true
}

func peerText(p *session.Peer) string {
	if p == nil {
		return ""
	}
	return Safe(p.Client) + legText(p.ClientTLS) + " > " + Safe(p.Upstream) + legText(p.ServerTLS)
}

// methodText names a stream: "ADS sotw", "CDS delta", or by its path.
func methodText(m xds.Method, path string) string {
	typ := m.Type
	switch m.Variant {
	case xds.VariantSotwADS, xds.VariantDeltaADS:
		typ = "ADS"
	}
	switch m.Variant {
	case xds.VariantSotwADS, xds.VariantSotw:
		typ += " sotw"
	case xds.VariantDeltaADS, xds.VariantDelta:
		typ += " delta"
	case xds.VariantREST:
		typ += " rest"
	case xds.VariantLRS, xds.VariantCSDS:
		typ = strings.ToUpper(string(m.Variant))
	default:
		return Safe(path)
	}
	if m.V2 {
		typ += " v2"
	}
	return typ
}

// closeRow is the end of a stream: how it ended and what it had been.
func (t *Table) closeRow(r *row, e *session.Entry, c *check.Change) {
	r.text = statusText(e)
	if s := e.Status; s != nil && s.Code > 0 {
		r.sign, r.role, r.brief = "~", warned, false
	}
	if s := t.now.stream; s != nil {
		if !c.Uncertain && !s.partial { // else some were not seen
			r.text += ", " + Count(s.messages, "msg", "msgs")
		}
		r.text += ", open " + Duration(e.Time.Sub(s.since))
	}
}

func statusText(e *session.Entry) string {
	s := e.Status
	switch {
	case s == nil:
		return "by " + e.Side.String()
	case s.WasReset:
		text := "reset " + HTTP2Code(s.Reset) + " by " + e.Side.String()
		if s.Message != "" {
			text += ": " + Safe(s.Message)
		}
		return text
	case s.Code >= 0:
		text := GRPCCode(s.Code)
		if s.Message != "" {
			text += ": " + Safe(s.Message)
		}
		return text
	case s.Message != "":
		return Safe(s.Message)
	case s.HTTP != 0:
		return fmt.Sprintf("HTTP status %d", s.HTTP)
	}
	return "by " + e.Side.String()
}

func goAwayText(e *session.Entry) string {
	text := "by " + e.Side.String()
	if g := e.GoAway; g != nil {
		text = HTTP2Code(g.Code) + " " + text
		if g.Debug != "" {
			text += ": " + Safe(g.Debug)
		}
	}
	return text
}

func (t *Table) goneRow(r *row, e *session.Entry) {
	r.text = "ended by " + e.Side.String()
	if e.Status != nil && e.Status.Message != "" {
		r.text = Safe(e.Status.Message)
	}
	if c := t.now.conn; c != nil {
		r.text += ", open " + Duration(e.Time.Sub(c.since))
	}
}

func noteRow(r *row, n *session.Note) {
	r.sign, r.role, r.brief = "~", warned, false
	if n == nil {
		return
	}
	r.text = Safe(n.Text)
	switch n.Code {
	case session.NoteTLSFailed, session.NoteDialFailed, session.NoteRefused, session.NoteAcceptFailed:
		r.sign, r.role = "!", bad
	case session.NoteStatic:
		r.sign, r.role, r.text = "", muted, "the bootstrap has the clusters "+r.text
	case session.NoteMark, session.NoteUnmark, session.NoteRemark, session.NoteSilenced:
		r.sign, r.role = "*", accent
		r.text = strings.TrimRight(string(n.Code)+" "+r.text, " ")
	}
	if n.About != 0 {
		r.text = strconv.FormatUint(uint64(n.About), 10) + ": " + r.text
	}
	if n.Hint != "" {
		r.text += " (" + Safe(n.Hint) + ")"
	}
}

// gapLine is a line of its own kind, so that nobody overlooks it.
func (t *Table) gapLine(r row) string {
	line := PadLeft(r.seq, seqWidth) + " " + r.time + " ---- " + r.text + " ----"
	if r.role == muted {
		return " " + t.style.paint(muted, line)
	}
	return t.style.paint(bad, "!") + t.style.paint(bad, line)
}

func gapText(g *session.Gap) string {
	if g.Cause.Chosen() {
		return fmt.Sprintf("%s left out of this part (%d to %d)", Count(g.Entries, "entry", "entries"), g.First, g.Last)
	}
	if g.Entries == 0 { // of a capture: how many there were nobody knows
		return fmt.Sprintf("gap: %s of a connection not captured", Size(g.Bytes)) + touched(g)
	}
	text := fmt.Sprintf("gap: %s not recorded (%d to %d, %s of messages)",
		Count(g.Entries, "entry", "entries"), g.First, g.Last, Size(g.Bytes))
	return text + touched(g)
}

func touched(g *session.Gap) string {
	if n := len(g.Streams); n > 0 {
		return ", " + Count(n, "stream", "streams") + " touched"
	}
	return ""
}
