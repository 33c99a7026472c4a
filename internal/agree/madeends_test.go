package agree

import (
	"fmt"
	"slices"
	"strconv"
)

// end ends a stream, or its connection. Its client may come back.
func (m *maker) end(t *talk) {
	how := m.rand.IntN(4)
	switch {
	case t.of.rest || how == 0 && !m.mood.sharedConnections:
		m.on(t, "-- disconnect by=client")
	case how == 1:
		m.on(t, "-- client-end code=8")
		m.ended = append(m.ended, t)
	default:
		m.on(t, "-- server-end code=14")
		m.ended = append(m.ended, t)
	}
	t.gone = true
	m.streams = slices.DeleteFunc(m.streams, func(t *talk) bool { return t.gone })
	if t.of.conn == t.label {
		t.of.conn = ""
	}
	if m.chance(70) {
		m.open(t.of, t.typ)
	}
}

// poll is a request of REST and what comes back.
func (m *maker) poll(t *talk) {
	typ := pick(m, t.of.types)
	s := t.subs[typ]
	if s == nil {
		if s = t.of.polls[typ]; s == nil { // it polls for the same when it comes back
			s = &sub{typ: typ}
			if !wholeState(typ) {
				s.names = m.someNames(typ)
			}
			t.of.polls[typ] = s
		}
		t.subs[typ] = s
	}
	version, err := t.of.holds[typ], ""
	if n := len(s.sent); n > 0 && !s.sent[n-1].judged {
		s.sent[n-1].judged = true
		switch {
		case m.chance(m.mood.unclear):
		case m.chance(m.mood.reject):
			s.sent[n-1].rejected = true
			err = " err=no"
		default:
			version = s.sent[n-1].version
		}
	} else if m.chance(m.mood.strange) {
		err = " err=odd"
	}
	t.of.holds[typ] = version
	if m.chance(10) && len(s.names) > 0 {
		before := slices.Clone(s.names)
		m.change(s, false)
		if s.star = false; len(s.names) == 0 {
			s.names = before
		}
	}
	m.on(t, "P> path=/v3/discovery:%s type=%s V=%s R=%s%s%s", restPaths()[typ], typ, version, list(m, s.names), err, t.node(m))
	switch {
	case m.chance(15):
		m.on(t, "p< 304")
		return
	case m.chance(5):
		m.on(t, "p< 503")
		return
	case m.chance(5): // nothing comes
		return
	}
	next := &sent{version: m.nextVersion(t, s)}
	if n := len(s.sent); n > 0 && m.chance(40) {
		next.resources = s.sent[n-1].resources
		if m.chance(70) {
			next.version = s.sent[n-1].version
		}
	} else {
		next.resources, _ = m.news(t, s)
	}
	if m.chance(m.mood.nameless) {
		next.version = ""
	}
	if m.chance(m.mood.strange / 3) { // of another type than was asked for
		m.on(t, "p< 200 type=%s V=%s res=[]", pick(m, allTypes()), pick(m, []string{next.version, version}))
		return
	}
	s.sent = append(s.sent, next)
	m.on(t, "p< 200 type=%s V=%s res=[%s]", typ, next.version, next.resources)
}

func restPaths() map[string]string {
	return map[string]string{
		"LDS": "listeners", "CDS": "clusters", "RDS": "routes", "EDS": "endpoints", "SRDS": "scoped-routes", "SDS": "secrets",
	}
}

// loop is a client that rejects what a server does not cease to send: mostly more
// than a hundred times, sometimes thousands of times.
func (m *maker) loop(t *talk) {
	s := t.any(m)
	rounds := 100 + m.rand.IntN(60)
	if m.chance(5) {
		rounds = 3000 + m.rand.IntN(2000)
	}
	m.mood.loop = 0
	res, rm := m.news(t, s)
	slow := m.mood.slow
	m.mood.slow = 0
	defer func() { m.mood.slow = slow }()
	version := m.nextVersion(t, s)
	same := m.chance(50)
	for i := range rounds {
		if !same {
			version = strconv.Itoa(t.of.version[s.typ]) + "-" + strconv.Itoa(i)
		}
		m.nnonces++
		next := &sent{nonce: fmt.Sprintf("a%d", m.nnonces), version: version, resources: res, removed: rm, judged: true, rejected: true}
		m.send(t, s, next)
		if i < rounds-1 || m.chance(50) {
			m.request(t, s, next.nonce, t.of.holds[s.typ], fmt.Sprintf(" err=loop%d", i%2), false)
		} else {
			next.judged = false
		}
	}
}
