package agree

import (
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// disagreement is something that a follower tells otherwise than the table. The
// kind is who tells what.
type disagreement struct {
	kind string
	seq  session.Seq
	text string
}

func (d disagreement) String() string { return fmt.Sprintf("%s: entry %d: %s", d.kind, d.seq, d.text) }

// trial holds the followers of one session against the table.
type trial struct {
	table     *world
	followers *followers
	seq       session.Seq
	rest      bool // what is looked at is a conversation by polls
	found     []disagreement
	told      map[string]bool
	lanes     []laneKey // in order
	words     map[laneKey]map[string]int
	unsure    map[string]bool // clients of whom something is not certain
	timers    check.Timers
}

// differs enters a disagreement, unless it was there before.
func (t *trial) differs(kind, format string, args ...any) {
	if t.rest {
		kind = "rest: " + kind
	}
	d := disagreement{kind, t.seq, fmt.Sprintf(format, args...)}
	if id := d.kind + d.text; !t.told[id] {
		t.told[id] = true
		t.found = append(t.found, d)
	}
}

// try plays a session and returns what is not told the same by all.
func try(entries []session.Entry) []disagreement { return tryWith(entries, check.Options{}) }

// tryWith does so with a Checker of these options.
func tryWith(entries []session.Entry, o check.Options) (found []disagreement) {
	t := &trial{
		table: newWorld(), followers: newFollowers(o, namesIn(entries)), words: make(map[laneKey]map[string]int),
		unsure: make(map[string]bool), told: make(map[string]bool), timers: check.DefaultTimers(),
	}
	defer func() {
		if why := recover(); why != nil {
			t.differs("panic", "%v", why)
			found = t.found
		}
	}()
	for i := range entries {
		e := &entries[i]
		t.seq = e.Seq
		c := t.followers.step(e)
		m := t.table.step(e)
		if m.message != nil {
			t.message(e, &c, &m)
		}
		if m.message == nil || i == len(entries)-1 {
			t.everyone()
		}
	}
	t.end()
	return t.found
}

// namesIn are the names of all resources of a session.
func namesIn(entries []session.Entry) (names []string) {
	k := check.NewTracker(nil)
	for i := range entries {
		c := k.Step(&entries[i])
		if c.Message != nil && c.Message.Response() {
			for _, n := range append(c.Names(), c.Message.Removed...) {
				names = append(names, decode.NormalName(n))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// message compares what is told of a message, and of the type that it is about.
func (t *trial) message(e *session.Entry, c *check.Change, m *meaning) {
	if m.late {
		t.unsure[m.client], t.unsure[c.Client] = true, true
		return
	}
	if c.Client != m.client {
		t.differs("watch: client", "it is %q's, not %q's", m.client, c.Client)
	}
	if m.lane == nil {
		return
	}
	key := laneKey{m.client, m.lane.typ}
	t.rest = m.lane.rest
	defer func() { t.rest = false }()
	if !slices.Contains(t.lanes, key) {
		t.lanes = append(t.lanes, key)
	}
	if !m.sure || m.murky {
		t.unsure[m.client] = true
	}
	t.watch(e, c, m)
	all := t.followers.checker.Status()
	t.status(all, key)
	t.wanted(all, key, m, t.followers.watch(e, c))
	t.resources(key, m)
}

// everyone compares the standing of all types of all clients.
func (t *trial) everyone() {
	all := t.followers.checker.Status()
	for _, key := range t.lanes {
		t.rest = slices.ContainsFunc(t.table.lanes[key], func(l *lane) bool { return l.rest })
		t.status(all, key)
	}
	t.rest = false
}
