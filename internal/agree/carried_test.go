package agree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// What a new segment of the recording repeats is enough to stand where one stands
// who has seen all, and to understand what follows. So is what a part that is cut
// out has beside what was chosen.
func TestPartsOfASession(t *testing.T) {
	eachConversation(t, fewer(), func(seed uint64, text string) []disagreement {
		entries, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		return parts(seed, entries)
	})
	for i, file := range recordings(t) {
		few(t, parts(uint64(i), recordertest.Entries(t, file)))
	}
}

// parts begins at some entry: with what a segment repeats, and with what a cut has.
func parts(seed uint64, entries []session.Entry) (out []disagreement) {
	defer func() {
		if why := recover(); why != nil {
			out = append(out, disagreement{"panic", 0, fmt.Sprint(why)})
		}
	}()
	if len(entries) < 2 {
		return nil
	}
	from := 1 + rand.New(rand.NewPCG(seed, 7)).IntN(len(entries)-1)
	k, whole := newCarry(), newWhole()
	for i := range entries[:from] {
		k.Step(&entries[i])
		whole.step(&entries[i])
	}
	needed := make(map[session.Seq]bool)
	for _, seq := range k.Needed() {
		needed[seq] = true
	}
	segment := check.NewChecker(check.Options{})
	for _, e := range entries[:from] {
		if needed[e.Seq] {
			e.Carried = true
			segment.Step(&e)
		}
	}
	part := check.NewChecker(check.Options{})
	context := cut(entries, from)
	for _, e := range withGaps(entries[:from], context) {
		part.Step(&e)
	}
	begun := []struct {
		name    string
		checker *check.Checker
	}{{"segment", segment}, {"cut", part}}
	at := entries[from-1]
	segment.Step(&session.Entry{Seq: at.Seq, Time: at.Time, Kind: session.KindTime, Side: session.Proxy})
	for _, d := range differences(whole.live(whole.checker, nil), whole.live(segment, nil)) {
		out = append(out, disagreement{"segment: status", at.Seq, d})
	}
	about := make(map[string]bool) // what is chosen
	for i := range entries[from:] {
		e := &entries[from+i]
		m := whole.table.step(e)
		if m.late { // who begins later may not know that its stream is over
			continue
		}
		c := whole.checker.Step(e)
		about[m.client+" "+c.Type] = about[m.client+" "+c.Type] || m.lane != nil
		for _, p := range begun {
			b := p.checker.Step(e)
			if (len(verdicts(&c)) == 0 || m.again) && b.Answers == 0 {
				continue // a nonce that is remembered longer than it is carried
			}
			if x, y := words(verdicts(&c)), words(verdicts(&b)); m.sure && !m.murky && (x.String() != y.String() || c.Answers != b.Answers) {
				out = append(out, disagreement{p.name + ": verdict", e.Seq, fmt.Sprintf("from entry %d on: %v of %d, and in the whole %v of %d", entries[from].Seq, y, b.Answers, x, c.Answers)})
			}
		}
	}
	// At the end, a part may be silent of what nothing in it is about.
	for _, p := range begun {
		for _, d := range differences(whole.live(whole.checker, about), whole.live(p.checker, about)) {
			out = append(out, disagreement{p.name + ": status at the end", entries[len(entries)-1].Seq, d})
		}
	}
	return out
}

// verdicts are the words ACK and NACK of a message.
func verdicts(c *check.Change) (out []string) {
	for _, word := range append([]string{c.What}, c.Also...) {
		if word == engine.ACK || word == engine.NACK {
			out = append(out, word)
		}
	}
	return out
}

// withGaps leaves out what is not in a part, and says so.
func withGaps(entries []session.Entry, kept map[session.Seq]bool) (out []session.Entry) {
	for _, e := range entries {
		if kept[e.Seq] {
			e.Carried = true
			out = append(out, e)
			continue
		}
		if n := len(out); n == 0 || out[n-1].Kind != session.KindGap || !out[n-1].Gap.Cause.Chosen() {
			out = append(out, session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: &session.Gap{First: e.Seq, Cause: session.Cut}})
		}
		hole := &out[len(out)-1]
		hole.Seq, hole.Time, hole.Gap.Last = e.Seq, e.Time, e.Seq
		hole.Gap.Entries++
		if e.Stream != 0 {
			hole.Gap.Streams = append(hole.Gap.Streams, e.Stream)
		}
	}
	return out
}

// whole is one who has seen all.
type whole struct {
	checker *check.Checker
	table   *world
}

func newWhole() *whole { return &whole{check.NewChecker(check.Options{}), newWorld()} }

// step takes the next entry.
func (w *whole) step(e *session.Entry) {
	w.table.step(e)
	w.checker.Step(e)
}

// live is where clients stand on their streams that live, of which all was seen:
// with everything, or with some types.
func (w *whole) live(k *check.Checker, about map[string]bool) map[string]string {
	out := make(map[string]string)
	for _, c := range k.Status() {
		for _, t := range c.Types {
			lives, sure, lanes := false, true, 0
			for _, l := range w.table.lanes[laneKey{c.Client, t.Type}] {
				// A part does not know what was rejected on the stream before.
				lives, sure = lives || !l.ended && !l.rest && (l.last != nil || !l.follows), sure && l.sure && !w.table.murky[c.Client]
				// Nor whether a rejection stands, where other responses came since.
				n := l.standing()
				sure = sure && (n != nil && n.mark == rejected || l.nackSeq == 0 || !w.table.stands(laneKey{c.Client, t.Type}, l))
				lanes++
			}
			if key := c.Client + " " + t.Type; lives && sure && (about == nil || about[key] && lanes == 1) {
				out[key] = t.State.String()
			}
		}
	}
	return out
}
