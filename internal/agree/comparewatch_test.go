package agree

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// watch compares the words for a message: in Change, and as they are printed.
func (t *trial) watch(e *session.Entry, c *check.Change, m *meaning) {
	printed := t.followers.watch(e, c)
	if printed.what != c.What || !slices.Equal(printed.also, c.Also) || printed.typ != c.Type {
		t.differs("watch: print", "%s %v of %s is printed as %s %v of %s", c.What, c.Also, c.Type, printed.what, printed.also, printed.typ)
	}
	if line := t.followers.line(e, c); !strings.Contains(line, " "+c.What+" ") {
		t.differs("watch: print", "%s is not in the line %q", c.What, line)
	}
	if seq, says := acceptedBefore(c); says && m.sure && m.before != 0 && len(t.table.lanes[laneKey{m.client, m.lane.typ}]) == 1 && seq != m.before {
		t.differs("change: accepted before", "%s had accepted entry %d last, not %d", m.lane.typ, m.before, seq)
	}
	if !m.sure || m.message.Response() {
		return
	}
	said := append([]string{printed.what}, printed.also...)
	verdict := ""
	for _, word := range said {
		if word == engine.ACK || word == engine.NACK {
			verdict = word
		}
	}
	key := laneKey{m.client, m.lane.typ}
	if t.words[key] == nil {
		t.words[key] = make(map[string]int)
	}
	t.words[key][m.word]++
	if verdict != m.word {
		t.differs("watch: verdict", "%s says %s, not %s", what(m), orNone(m.word), orNone(verdict))
	} else {
		t.answers(e, c, m)
	}
	if names := t.nameWord(m); names != nil {
		is := ""
		for _, word := range said {
			if word == engine.SUB || word == engine.UNSUB {
				is = word
			}
		}
		if !names.has(is) {
			t.differs("watch: names", "%s: %s, not %s", what(m), orNone(names.String()), orNone(is))
		}
	}
}

// answers compares which response a verdict is about.
func (t *trial) answers(e *session.Entry, c *check.Change, m *meaning) {
	want, waited := session.Seq(0), time.Duration(0)
	if m.answers != nil {
		if want = m.answers.seq; !m.again {
			waited = max(e.Time.Sub(m.answers.at), 1)
		}
	}
	if c.Answers != want || c.Waited != waited {
		t.differs("watch: answers", "%s answers entry %d after %v, not %d after %v", what(m), want, waited, c.Answers, c.Waited)
	}
}

// nameWord is what a request does to the list of names; nil if that is open.
func (t *trial) nameWord(m *meaning) words {
	switch {
	case m.firstOrNot, m.respelled && !m.first:
		return nil
	case m.first || m.more:
		return words{engine.SUB}
	case m.less:
		return words{engine.UNSUB}
	}
	return words{""}
}

// what names a request in a text.
func what(m *meaning) string {
	text := m.lane.typ + " of " + m.client
	if m.message.Nonce != "" {
		text += " with nonce " + m.message.Nonce
	}
	if m.message.Error != nil {
		text += " and an error"
	}
	return text
}

func orNone(word string) string {
	if word == "" {
		return "nothing"
	}
	return word
}
