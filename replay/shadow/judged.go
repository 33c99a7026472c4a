package shadow

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// answered takes what a guest says of a response.
func (p *pushes) answered(g *guest, c *engine.Change) {
	what, known := p.given.Get(c.Answers)
	if !known || c.Waited == 0 || c.What != engine.ACK && c.What != engine.NACK { // Waited: it says so for the first time
		return
	}
	v := verdictOn{given: what, guest: g, word: c.What, at: time.Now()}
	if c.Message.Error != nil {
		v.why = c.Message.Error.Message
	}
	if v.seq == 0 { // what the recorded client has accepted
		p.compare(&v, engine.ACK)
		return
	}
	if recorded, known := p.verdicts.Get(v.seq); known {
		p.compare(&v, recorded)
		return
	}
	if len(p.open) >= mostOpen {
		p.open = p.open[1:]
		p.once(Noted, "more than %d responses that the recorded clients have not answered: what is said of older ones is not compared", mostOpen)
	}
	p.open = append(p.open, v)
}

// resolve compares what guests have said of a response before its own client.
func (p *pushes) resolve(seq session.Seq, word string) {
	p.open = deleteWhere(p.open, func(v *verdictOn) bool {
		if v.seq != seq {
			return false
		}
		p.compare(v, word)
		return true
	})
}

// overdue lets go of what recorded clients have not answered in time. A rejection
// is told.
func (p *pushes) overdue(now time.Time) {
	p.open = deleteWhere(p.open, func(v *verdictOn) bool {
		if now.Sub(v.at) < p.o.Idle {
			return false
		}
		if v.word == engine.NACK {
			p.compare(v, "no answer")
		}
		return true
	})
}

func deleteWhere(list []verdictOn, is func(*verdictOn) bool) []verdictOn {
	kept := list[:0]
	for i := range list {
		if !is(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	clear(list[len(kept):])
	return kept
}

// compare holds a verdict against the recorded one.
func (p *pushes) compare(v *verdictOn, recorded string) {
	p.sum.Compared++
	if v.word == recorded {
		return
	}
	if len(p.list) >= maxTold {
		p.sum.More++
		return
	}
	d := &Difference{
		Type: bounded(v.typ), Client: bounded(v.guest.node), Stream: uint64(v.guest.id), Streams: 1, Seq: v.seq,
		Got: fmt.Sprintf("%s, where the recorded client gave %s", v.word, recorded), Detail: bounded(v.why), Since: v.at, Stands: true, on: map[*leg]int{nil: 1},
	}
	of := fmt.Sprintf("entry %d", v.seq)
	if v.seq == 0 {
		d.Got = "NACK of what the recorded client has accepted"
		of = "what there was"
	}
	if len(v.names) == 1 {
		d.Name = bounded(v.names[0])
	}
	p.list = append(p.list, d)
	p.tell(Event{What: Differs, Difference: d, Text: fmt.Sprintf("%q on %s of %s: %s", d.Client, of, d.Type, d.Got)})
}
