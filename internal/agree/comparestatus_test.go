package agree

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// status compares where a client stands with a type.
func (t *trial) status(all []engine.ClientStatus, key laneKey) {
	want := t.table.state(key, &t.timers)
	if want == nil {
		return
	}
	got, is := t.followers.standing(all, key)
	if !is {
		t.differs("status: lacks a type", "%s of %s is %v, and status does not have it", key.typ, key.client, want)
		return
	}
	if !want.has(got.State.String()) {
		t.differs("status: "+got.State.String()+" for "+strings.Join(want, " or "), "%s of %s is %v, not %v", key.typ, key.client, want, got.State)
	}
	lanes := t.table.lanes[key]
	l := lanes[len(lanes)-1]
	if !l.chain {
		return
	}
	why, seq := l.rejection(got.State == engine.Nacked)
	if n := l.standing(); got.State == engine.Nacked && (n == nil || n.mark != rejected) && t.table.stands(key, l) {
		why, seq = got.Nack, got.NackSeq // which of several it is the table leaves open
	}
	if got.NackSeq != seq || (l.nacks > 0 || got.Nack != "") && len(why) < 200 && strings.Join(strings.Fields(why), " ") != got.Nack {
		t.differs("status: last rejection", "%s of %s was rejected last by entry %d (%q), not by %d (%q)", key.typ, key.client, seq, why, got.NackSeq, got.Nack)
	}
	if n, says := nacksOf(got); says && n != l.nacks {
		t.differs("status: rejections in a row", "%s of %s was rejected %d times in a row, not %d", key.typ, key.client, l.nacks, n)
	}
	if n := l.standing(); n != nil && got.Sent != n.version {
		t.differs("status: sent", "%s of %s was sent version %q last, not %q", key.typ, key.client, n.version, got.Sent)
	}
	if l.good != nil && !l.delta && !l.muddled && got.Version != l.good.version {
		t.differs("status: accepted", "%s of %s accepted version %q last, not %q", key.typ, key.client, l.good.version, got.Version)
	}
}

// wanted compares how much a client asks for: watch and status say it each in
// their own way.
func (t *trial) wanted(all []engine.ClientStatus, key laneKey, m *meaning, printed watched) {
	lanes := t.table.lanes[key]
	if m.message.Kind != decode.SotwRequest || !m.sure || m.murky || len(lanes) != 1 {
		return
	}
	got, is := t.followers.standing(all, key)
	if !is {
		return
	}
	if star := printed.res == "*"; star != (got.Wanted < 0) {
		t.differs("status and watch: wildcard", "%s of %s asks for %q as watch says, for %d as status does", key.typ, key.client, printed.res, got.Wanted)
	}
	if wholeState(key.typ) && m.lane.wild != (printed.res == "*") {
		t.differs("watch: wildcard", "%s of %s: that it asks for everything is %v, and watch says %s", key.typ, key.client, m.lane.wild, printed.res)
	}
	if wholeState(key.typ) && m.lane.wild != (got.Wanted < 0) {
		t.differs("status: wildcard", "%s of %s: that it asks for everything is %v, and status says %d", key.typ, key.client, m.lane.wild, got.Wanted)
	}
	if got.Wanted >= 0 && got.Wanted != len(m.lane.names) {
		t.differs("status: wanted", "%s of %s asks for %d names, not %d", key.typ, key.client, len(m.lane.names), got.Wanted)
	}
}

// rejection is why a client has rejected last, and where: what was sent last, if
// that is rejected.
func (l *lane) rejection(stands bool) (why string, seq session.Seq) {
	of := l.bad
	if of == nil {
		of = l.brought
	}
	if n := l.last; n != nil && n.mark == rejected {
		of = n
	}
	if stands && of != nil {
		return of.why, of.nackSeq
	}
	return l.why, l.nackSeq
}
