package agree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// maker makes up a conversation, line by line. Equal seeds make equal ones.
type maker struct {
	rand    *rand.Rand
	text    strings.Builder
	clients []*actor
	streams []*talk // that live
	ended   []*talk // whose connection may live
	nlabels int
	nnonces int
	mood    mood
}

// mood is what a conversation is about: how likely, in a hundred, things are.
type mood struct {
	lines                                    int
	reject, unclear, nameless, strange       int
	heartbeat, end, gap, late, slow, loop    int
	xdstp, sharedConnections, anonymous, two bool
	unversioned                              bool // resources of delta have no versions
}

// actor is a client.
type actor struct {
	id      string
	rest    bool
	delta   bool
	perType bool
	types   []string
	has     map[string]map[string]string // what the server would send it: contents by type and name
	version map[string]int               // of each type
	holds   map[string]string            // version of each type that it accepted
	polls   map[string]*sub              // of REST, where connections mean nothing
	conn    string                       // label of a stream on its newest connection, "" if that is gone
}

// talk is a stream, or the polls of a client.
type talk struct {
	label string
	of    *actor
	typ   string // that it is about; "" for all
	named bool   // it said whose it is
	subs  map[string]*sub
	gone  bool
}

// sub is a type on a stream.
type sub struct {
	typ   string
	names []string
	star  bool
	sent  []*sent
}

// sent is a response.
type sent struct {
	nonce, version, resources, removed string
	judged, rejected                   bool
}

// make makes the conversation of a seed.
func makeUp(seed uint64) string {
	m := &maker{rand: rand.New(rand.NewPCG(seed, 11))}
	m.choose()
	fmt.Fprintf(&m.text, "# seed %d\n", seed)
	for range 1 + m.rand.IntN(3) {
		m.newClient()
	}
	for i := 0; i < m.mood.lines; i++ {
		m.something()
	}
	if m.chance(50) {
		m.line("t=+11s -- tick")
	}
	return m.text.String()
}

// choose chooses the mood.
func (m *maker) choose() {
	some := func(percent, most int) int {
		if !m.chance(percent) {
			return 0
		}
		return 1 + m.rand.IntN(most)
	}
	m.mood = mood{
		lines:  10 + m.rand.IntN(50),
		reject: 10 + m.rand.IntN(40), unclear: some(30, 15), nameless: some(25, 40), strange: some(30, 15),
		heartbeat: some(25, 20), end: some(60, 8), gap: some(10, 4), late: some(10, 20), slow: some(40, 15), loop: some(8, 3),
		xdstp: m.chance(20), sharedConnections: m.chance(30), anonymous: m.chance(10), two: m.chance(10),
		unversioned: m.chance(15),
	}
}

func (m *maker) chance(percent int) bool { return m.rand.IntN(100) < percent }

func pick[T any](m *maker, list []T) T { return list[m.rand.IntN(len(list))] }

// line writes a line.
func (m *maker) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

// on writes a line of a stream, some time after the one before.
func (m *maker) on(t *talk, format string, args ...any) {
	at := ""
	switch {
	case m.chance(m.mood.slow):
		at = fmt.Sprintf("t=+%ds ", 1+m.rand.IntN(20))
	case m.chance(60):
		at = fmt.Sprintf("t=+%dms ", 1+m.rand.IntN(80))
	}
	m.line(at+"@"+t.label+" "+format, args...)
}

// allTypes are those that conversations are about.
func allTypes() []string { return []string{"LDS", "CDS", "RDS", "EDS", "SRDS", "SDS"} }

func (m *maker) newClient() {
	a := &actor{
		id: fmt.Sprintf("n%d", len(m.clients)+1), has: make(map[string]map[string]string),
		version: make(map[string]int), holds: make(map[string]string), polls: make(map[string]*sub),
	}
	switch m.rand.IntN(6) {
	case 0:
		a.rest = true
	case 1, 2:
		a.delta = true
	}
	a.perType = m.chance(30)
	a.types = allTypes()
	m.rand.Shuffle(len(a.types), func(i, j int) { a.types[i], a.types[j] = a.types[j], a.types[i] })
	a.types = a.types[:1+m.rand.IntN(3)]
	for _, typ := range a.types {
		a.has[typ] = make(map[string]string)
		for _, name := range m.namesOf(typ) {
			if m.chance(60) {
				a.has[typ][name] = m.content()
			}
		}
	}
	m.clients = append(m.clients, a)
	m.connect(a)
}

// connect opens the streams of a client.
func (m *maker) connect(a *actor) {
	a.conn = ""
	switch {
	case a.rest, !a.perType:
		m.open(a, "")
		if m.mood.two && !a.rest {
			m.open(a, "")
		}
	default:
		for _, typ := range a.types {
			m.open(a, typ)
		}
	}
}

// methods are the streams of one type.
func methods() map[string]string {
	return map[string]string{
		"LDS": "Listeners", "CDS": "Clusters", "RDS": "Routes", "EDS": "Endpoints", "SRDS": "ScopedRoutes", "SDS": "Secrets",
	}
}

func (m *maker) open(a *actor, typ string) *talk {
	m.nlabels++
	t := &talk{label: strconv.Itoa(m.nlabels), of: a, typ: typ, subs: make(map[string]*sub)}
	words := "-- stream " + t.label + " node=" + a.id
	kind := "Stream"
	if a.delta {
		kind = "Delta"
	}
	switch {
	case a.rest:
		words += " method=/v3/discovery:clusters"
	case typ != "":
		words += " method=" + kind + methods()[typ]
	default:
		words += " method=" + kind + "AggregatedResources"
	}
	if !a.rest && a.conn != "" && m.mood.sharedConnections {
		words += " conn=" + a.conn
	}
	m.line("%s", words)
	a.conn = t.label
	m.streams = append(m.streams, t)
	return t
}

// namesOf are the names that resources of a type may have.
func (m *maker) namesOf(typ string) (names []string) {
	prefix := map[string]string{"LDS": "l", "CDS": "c", "RDS": "r", "EDS": "e", "SRDS": "s", "SDS": "k"}[typ]
	for i := range 4 {
		name := prefix + strconv.Itoa(i+1)
		if m.mood.xdstp && i == 3 {
			name = strconv.Quote("xdstp://a/" + xdstpTypes()[typ] + "/" + name + "?a=1&b=2")
		}
		names = append(names, name)
	}
	return names
}

func xdstpTypes() map[string]string {
	return map[string]string{
		"LDS": "envoy.config.listener.v3.Listener", "CDS": "envoy.config.cluster.v3.Cluster",
		"RDS": "envoy.config.route.v3.RouteConfiguration", "EDS": "envoy.config.endpoint.v3.ClusterLoadAssignment",
		"SRDS": "envoy.config.route.v3.ScopedRouteConfiguration", "SDS": "envoy.extensions.transport_sockets.tls.v3.Secret",
	}
}

// written is a name as it may be written: the parameters of one in xdstp form
// have no order.
func (m *maker) written(name string) string {
	if m.chance(50) {
		return strings.Replace(name, "?a=1&b=2", "?b=2&a=1", 1)
	}
	return name
}

// content is one of few, so that old ones come again.
func (m *maker) content() string { return fmt.Sprintf("h%d", m.rand.IntN(3)) }

// node is what a request says of its sender: the first one on a stream does, and
// some that follow.
func (t *talk) node(m *maker) string {
	if m.mood.anonymous && m.mood.sharedConnections && !t.of.rest && m.chance(90) {
		if first := t.of.conn == t.label || t.named; !first {
			return ""
		}
	}
	if t.named && !t.of.rest && m.chance(80) {
		return ""
	}
	t.named = true
	return " node=" + t.of.id
}

// something is what happens next.
func (m *maker) something() {
	if len(m.streams) == 0 {
		m.connect(pick(m, m.clients))
		return
	}
	t := pick(m, m.streams)
	if m.chance(m.mood.gap) {
		m.line(lostFrom)
		defer m.line(lostTo)
	}
	switch {
	case m.chance(m.mood.late) && len(m.ended) > 0:
		if old := pick(m, m.ended); len(old.subs) > 0 {
			m.answer(old, old.any(m), false)
		}
	case m.chance(m.mood.end):
		m.end(t)
	case t.of.rest:
		m.poll(t)
	case len(t.subs) == 0 || m.chance(10):
		m.ask(t)
	case m.chance(m.mood.loop):
		m.loop(t)
	default:
		m.talk(t, t.any(m))
	}
}

// any is one of the types on a stream.
func (t *talk) any(m *maker) *sub {
	types := make([]string, 0, len(t.subs))
	for typ := range t.subs {
		types = append(types, typ)
	}
	slices.Sort(types)
	return t.subs[pick(m, types)]
}

// ask is the first request of a type.
func (m *maker) ask(t *talk) {
	typ := t.typ
	if typ == "" {
		typ = pick(m, t.of.types)
	}
	if t.subs[typ] != nil {
		m.talk(t, t.subs[typ])
		return
	}
	s := &sub{typ: typ}
	t.subs[typ] = s
	whole := wholeState(typ)
	switch {
	case whole && m.chance(60): // everything, the old way
	case whole && m.chance(30):
		s.star = true
	default:
		s.names = m.someNames(typ)
	}
	if t.of.delta {
		m.on(t, "D> type=%s N= sub=%s%s%s", typ, list(m, s.asked()), m.initial(t, s), t.node(m))
		return
	}
	version := ""
	if m.chance(50) {
		version = t.of.holds[typ]
	}
	m.on(t, "C> type=%s V=%s N= R=%s%s", typ, version, list(m, s.asked()), t.node(m))
}

// initial are the versions that a delta client says it has.
func (m *maker) initial(t *talk, s *sub) string {
	if t.of.holds[s.typ] == "" || m.chance(40) {
		return ""
	}
	var parts []string
	for _, name := range sorted(t.of.has[s.typ]) {
		if s.wants(name) {
			parts = append(parts, strconv.Quote(strings.Trim(name, `"`))+":"+t.of.has[s.typ][name])
		}
	}
	return " init={" + strings.Join(parts, ",") + "}"
}

// asked are the names in a request.
func (s *sub) asked() []string {
	if s.star {
		return append([]string{`"*"`}, s.names...)
	}
	return s.names
}

// wants says whether a server would send a resource.
func (s *sub) wants(name string) bool {
	return len(s.names) == 0 || s.star || slices.Contains(s.names, name)
}

func (m *maker) someNames(typ string) (some []string) {
	for _, name := range m.namesOf(typ) {
		if m.chance(60) {
			some = append(some, name)
		}
	}
	return some
}

// list is a list of names.
func list(m *maker, names []string) string {
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = m.written(n)
	}
	return "[" + strings.Join(written, ",") + "]"
}

func sorted[V any](of map[string]V) (keys []string) {
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
