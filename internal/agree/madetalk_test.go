package agree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// talk says something about a type on a stream.
func (m *maker) talk(t *talk, s *sub) {
	var last *sent
	if n := len(s.sent); n > 0 {
		last = s.sent[n-1]
	}
	switch {
	case m.chance(m.mood.strange):
		m.strange(t, s)
	case last == nil || last.judged && m.chance(60):
		m.push(t, s)
	case m.chance(8):
		m.push(t, s) // although the last one waits
	case m.chance(15):
		m.rename(t, s, false)
	default:
		m.answer(t, s, m.chance(15))
	}
}

// push is a response: new content, old content once more, what was rejected once
// more, heartbeats, or what nobody asked for.
func (m *maker) push(t *talk, s *sub) {
	next := &sent{nonce: m.nonce(), version: m.nextVersion(t, s)}
	var last *sent
	if n := len(s.sent); n > 0 {
		last = s.sent[n-1]
	}
	switch {
	case last != nil && (last.rejected && m.chance(50) || m.chance(10)):
		next.resources, next.removed = last.resources, last.removed
		if m.chance(50) {
			next.version = last.version
		}
	case len(s.sent) > 1 && m.chance(10): // as it was
		before := pick(m, s.sent)
		next.resources, next.removed = before.resources, before.removed
		if m.chance(50) {
			next.version = before.version
		}
	case m.chance(m.mood.heartbeat):
		next.resources = m.heartbeats(t, s)
	default:
		next.resources, next.removed = m.news(t, s)
	}
	m.send(t, s, next)
}

// send writes a response.
func (m *maker) send(t *talk, s *sub, next *sent) {
	s.sent = append(s.sent, next)
	if len(s.sent) > 12 { // what is older is forgotten
		s.sent = s.sent[1:]
	}
	if t.of.delta {
		m.on(t, "d< type=%s N=%s res=[%s] rm=[%s]", s.typ, next.nonce, next.resources, next.removed)
	} else {
		m.on(t, "S< type=%s V=%s N=%s res=[%s]", s.typ, next.version, next.nonce, next.resources)
	}
}

// nonce is a new one, or none.
func (m *maker) nonce() string {
	if m.chance(m.mood.nameless) {
		return ""
	}
	m.nnonces++
	return fmt.Sprintf("a%d", m.nnonces)
}

func (m *maker) nextVersion(t *talk, s *sub) string {
	t.of.version[s.typ]++
	return strconv.Itoa(t.of.version[s.typ])
}

// news changes what the server has, and gives it.
func (m *maker) news(t *talk, s *sub) (resources, removed string) {
	has := t.of.has[s.typ]
	var changed, gone []string
	for _, name := range m.namesOf(s.typ) {
		switch _, is := has[name]; {
		case is && m.chance(15):
			delete(has, name)
			gone = append(gone, name)
		case is && m.chance(30), !is && m.chance(25):
			has[name] = m.content()
			changed = append(changed, name)
		}
	}
	var res []string
	for _, name := range sorted(has) {
		switch {
		case !s.wants(name):
		case t.of.delta && !slices.Contains(changed, name) && len(s.sent) > 0:
		case !t.of.delta && !wholeState(s.typ) && len(s.sent) > 0 && m.chance(30): // partial
		default:
			res = append(res, m.resource(t, s, name, has[name]))
		}
	}
	var rm []string
	for _, name := range gone {
		if s.wants(name) {
			rm = append(rm, m.written(name))
		}
	}
	return strings.Join(res, ","), strings.Join(rm, ",")
}

// resource writes a resource with a content.
func (m *maker) resource(t *talk, s *sub, name, hash string) string {
	text := m.written(name)
	if t.of.delta && !m.mood.unversioned {
		text += "@" + hash
	}
	text += "#" + hash
	if s.typ == "CDS" && hash == "h1" {
		text += "{eds}"
	}
	if m.chance(m.mood.heartbeat) {
		text += "~30s"
	}
	return text
}

// heartbeats are those of some resources, or of all with a content among them.
func (m *maker) heartbeats(t *talk, s *sub) string {
	var res []string
	for _, name := range sorted(t.of.has[s.typ]) {
		if !s.wants(name) || m.chance(30) {
			continue
		}
		if m.chance(10) && !t.of.rest {
			res = append(res, m.resource(t, s, name, t.of.has[s.typ][name]))
		} else {
			res = append(res, "hb:"+m.written(name)+"@"+t.of.has[s.typ][name]+"~30s")
		}
	}
	return strings.Join(res, ",")
}

// answer is what a client says of a response.
func (m *maker) answer(t *talk, s *sub, rename bool) {
	var waiting []*sent
	for _, n := range s.sent {
		if !n.judged {
			waiting = append(waiting, n)
		}
	}
	if len(waiting) == 0 {
		m.rename(t, s, true)
		return
	}
	n := waiting[len(waiting)-1]
	if m.chance(15) {
		n = waiting[0]
	}
	if n.nonce == "" && m.chance(60) && n != s.sent[len(s.sent)-1] {
		n = s.sent[len(s.sent)-1]
	}
	n.judged = true
	switch {
	case m.chance(m.mood.unclear) && !t.of.delta:
		m.request(t, s, n.nonce, "0", "", rename)
	case m.chance(m.mood.reject):
		n.rejected = true
		m.request(t, s, n.nonce, t.of.holds[s.typ], fmt.Sprintf(" err=no%d", m.rand.IntN(3)), rename)
	default:
		t.of.holds[s.typ] = n.version
		m.request(t, s, n.nonce, n.version, "", rename)
	}
}

// request writes a request, in which names may change.
func (m *maker) request(t *talk, s *sub, nonce, version, err string, rename bool) {
	added, dropped := []string(nil), []string(nil)
	if rename {
		added, dropped = m.change(s, t.of.delta)
	}
	if t.of.delta {
		m.on(t, "D> type=%s N=%s sub=%s unsub=%s%s%s", s.typ, nonce, list(m, added), list(m, dropped), err, t.node(m))
	} else {
		m.on(t, "C> type=%s V=%s N=%s R=%s%s%s", s.typ, version, nonce, list(m, s.asked()), err, t.node(m))
	}
}

// change changes what a client asks for.
func (m *maker) change(s *sub, delta bool) (added, dropped []string) {
	for _, name := range m.namesOf(s.typ) {
		i := slices.Index(s.names, name)
		switch {
		case i >= 0 && m.chance(30):
			s.names = slices.Delete(s.names, i, i+1)
			dropped = append(dropped, name)
		case i < 0 && m.chance(30):
			s.names = append(s.names, name)
			added = append(added, name)
		}
	}
	if wholeState(s.typ) && m.chance(20) {
		if s.star = !s.star; s.star {
			added = append(added, `"*"`)
		} else {
			dropped = append(dropped, `"*"`)
		}
	}
	return added, dropped
}

// rename is a request about names only.
func (m *maker) rename(t *talk, s *sub, same bool) {
	nonce, version := "", t.of.holds[s.typ]
	for _, n := range s.sent {
		if n.judged {
			nonce = n.nonce
		}
	}
	if t.of.delta && m.chance(70) {
		nonce = ""
	}
	m.request(t, s, nonce, version, "", !same || m.chance(50))
}

// strange is what no client should say, and what no server should send.
func (m *maker) strange(t *talk, s *sub) {
	err := ""
	if m.chance(50) {
		err = " err=odd"
	}
	switch m.rand.IntN(6) {
	case 0: // a nonce that nobody gave
		m.request(t, s, "zz"+strconv.Itoa(m.rand.IntN(3)), t.of.holds[s.typ], err, false)
	case 1: // one that has its verdict
		var judged []*sent
		for _, n := range s.sent {
			if n.judged {
				judged = append(judged, n)
			}
		}
		if len(judged) > 0 {
			n := pick(m, judged)
			m.request(t, s, n.nonce, n.version, err, false)
		}
	case 2: // no nonce
		m.request(t, s, "", t.of.holds[s.typ], err, false)
	case 3: // a nonce of another type
		m.request(t, s, fmt.Sprintf("a%d", 1+m.rand.IntN(m.nnonces+1)), t.of.holds[s.typ], err, false)
	case 4: // a nonce that was used before
		if n := len(s.sent); n > 0 {
			res, rm := m.news(t, s)
			m.send(t, s, &sent{nonce: s.sent[n-1].nonce, version: m.nextVersion(t, s), resources: res, removed: rm})
		}
	default: // a type that nobody asked for
		typ := pick(m, t.of.types)
		if t.typ == "" && t.subs[typ] == nil {
			m.send(t, &sub{typ: typ}, &sent{nonce: m.nonce(), version: "1"})
		}
	}
}
