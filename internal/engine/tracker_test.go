package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	adsMethod   = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	deltaMethod = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
)

var typeURLs = map[string]string{
	"CDS":    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	"CDSv2":  "type.googleapis.com/envoy.api.v2.Cluster",
	"EDS":    "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	"LDS":    "type.googleapis.com/envoy.config.listener.v3.Listener",
	"RDS":    "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
	"Health": "type.googleapis.com/istio.v1.HealthInformation",
	"Addr":   "type.googleapis.com/istio.workload.Address",
}

func lenField(num protowire.Number, v string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), v))
}

func opt(num protowire.Number, v string) string {
	if v == "" {
		return ""
	}
	return lenField(num, v)
}

func status(msg string) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 13)) + opt(2, msg)
}

// encode turns one line of a conversation into protobuf. The notation: "C>"
// and "S<" for state-of-the-world, "D>" and "d<" for delta, then key=value.
func encode(t testing.TB, line string) (session.Side, []byte) {
	t.Helper()
	dir, rest, _ := strings.Cut(line, " ")
	get := func(key string) (string, bool) {
		for _, f := range strings.Fields(rest) {
			if v, ok := strings.CutPrefix(f, key+"="); ok {
				return v, true
			}
		}
		return "", false
	}
	val := func(key string) string { v, _ := get(key); return v }
	list := func(num protowire.Number, key string) (out string) {
		v := strings.Trim(val(key), "[]")
		if v == "" {
			return ""
		}
		for _, n := range strings.Split(v, ",") {
			out += lenField(num, n)
		}
		return out
	}
	typ := val("type")
	url, known := typeURLs[typ]
	if typ != "" && !known {
		t.Fatalf("%q: no such type", line)
	}
	node, errd := "", ""
	if n := val("node"); n != "" {
		node = lenField(1, n)
	}
	if e, ok := get("err"); ok {
		errd = status(e)
	}
	var out string
	side := session.Client
	switch dir {
	case "C>":
		out = opt(1, val("V")) + opt(2, node) + list(3, "R") + opt(4, url) + opt(5, val("N")) + opt(6, errd)
	case "D>":
		out = opt(1, node) + opt(2, url) + list(3, "sub") + list(4, "unsub") + opt(6, val("N")) + opt(7, errd)
	case "S<", "d<":
		side = session.Server
		out = opt(1, val("V"))
		for _, n := range strings.Split(strings.Trim(val("res"), "[]"), ",") {
			a := lenField(1, url) + lenField(2, lenField(1, n))
			if n == "" {
				continue
			}
			if dir == "d<" {
				a = lenField(3, n) + lenField(2, a)
			}
			out += lenField(2, a)
		}
		out += opt(4, url) + opt(5, val("N")) + list(6, "rm")
	default:
		t.Fatalf("%q: no such direction", line)
	}
	return side, []byte(out)
}

// script plays lines through a Tracker. A line may begin with "@2 " for stream
// 2 of connection 1; "-- word" are events.
type script struct {
	t       testing.TB
	tracker *Engine
	seq     session.Seq
	stream  session.StreamID
	opened  map[session.StreamID]bool
}

func newScript(t testing.TB) *script {
	return &script{t: t, tracker: New(Options{}), stream: 1, opened: map[session.StreamID]bool{}}
}

func (s *script) step(e session.Entry) Change {
	s.seq++
	e.Seq, e.Conn = s.seq, 1
	return s.tracker.Step(&e)
}

func (s *script) open(id session.StreamID, method string) {
	s.stream, s.opened[id] = id, true
	s.step(session.Entry{
		Kind: session.KindOpen, Side: session.Client, Stream: id, Method: method,
		Headers: []session.Field{{Name: "content-type", Value: "application/grpc"}},
	})
}

func (s *script) line(line string) Change {
	if !s.opened[s.stream] {
		m := adsMethod
		if strings.HasPrefix(line, "D>") {
			m = deltaMethod
		}
		s.open(s.stream, m)
	}
	side, data := encode(s.t, line)
	return s.step(message(s.stream, side, data))
}

func message(id session.StreamID, side session.Side, data []byte) session.Entry {
	return session.Entry{
		Kind: session.KindMessage, Side: side, Stream: id,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	}
}

func describe(c Change) string {
	out := strings.Join(append([]string{c.What}, c.Also...), "+")
	if len(c.Added) > 0 {
		out += " +" + strings.Join(c.Added, ",")
	}
	if len(c.Removed) > 0 {
		out += " -" + strings.Join(c.Removed, ",")
	}
	if c.Answers != 0 {
		out += fmt.Sprintf(" #%d", c.Answers)
	}
	if c.Uncertain {
		out += " ?"
	}
	return out
}

// Each line is a message and, after the bar, what it means. Numbers count
// entries; the opening of a stream is one.
func TestConversations(t *testing.T) {
	for name, lines := range map[string]string{
		"envoy first sync": `
C> type=CDS V= N= R=[] node=n1              | SUB
S< type=CDS V=1 N=a res=[c1,c2]             | RESP
C> type=EDS V= N= R=[c1,c2] node=n1         | SUB +c1,c2
C> type=CDS V=1 N=a R=[] node=n1            | ACK #3
S< type=EDS V=1 N=b res=[c1,c2]             | RESP
C> type=EDS V=1 N=b R=[c1,c2] node=n1       | ACK #6
C> type=EDS V=1 N=b R=[c1,c2] node=n1       | REQ
C> type=EDS V=1 N=b R=[c1,c2,c3] node=n1    | SUB +c3
C> type=EDS V=1 N=b R=[c1] node=n1          | UNSUB -c2,c3
C> type=EDS V=1 N=b R=[c4] node=n1          | SUB +c4 -c1
C> type=EDS V=1 N=b R=[] node=n1            | UNSUB -c4`,
		"nack, and a later use of its nonce": `
C> type=EDS V= N= R=[e1] node=n1            | SUB +e1
S< type=EDS V=1 N=a res=[e1]                | RESP
C> type=EDS V=1 N=a R=[e1]                  | ACK #3
S< type=EDS V=2 N=b res=[e1]                | RESP
C> type=EDS V=1 N=b R=[e1] err=bad          | NACK #5
C> type=EDS V=1 N=b R=[e1,e2]               | SUB +e2
C> type=EDS V=2 N=b R=[e1,e2]               | REQ`,
		"nack with the accepted version, and a change of names": `
C> type=EDS V= N= R=[e1] node=n1            | SUB +e1
S< type=EDS V=1 N=a res=[e1]                | RESP
C> type=EDS V=1 N=a R=[e1,e2] err=bad       | NACK+SUB +e2 #3`,
		"ack with a change of names": `
C> type=CDS V= N= R=[c1]                    | SUB +c1
S< type=CDS V=1 N=1 res=[c1]                | RESP
C> type=CDS V=1 N=1 R=[]                    | ACK+UNSUB -c1 #3`,
		"two responses folded into one ack": `
C> type=CDS V= N= R=[c1]                    | SUB +c1
S< type=CDS V=1 N=1 res=[c1]                | RESP
S< type=CDS V=2 N=2 res=[c1]                | RESP
C> type=CDS V=2 N=2 R=[c1]                  | ACK #4`,
		"neither ack nor nack": `
C> type=EDS V= N= R=[e1]                    | SUB +e1
S< type=EDS V=1 N=a res=[e1]                | RESP
C> type=EDS V=0 N=a R=[e1]                  | REQ
C> type=EDS V=1 N=a R=[e1]                  | REQ`,
		"a nonce used twice stands for its latest response": `
C> type=EDS V= N= R=[e1]                    | SUB +e1
S< type=EDS V=7 N=7 res=[e1]                | RESP
C> type=EDS V=7 N=7 R=[e1,e2]               | ACK+SUB +e2 #3
S< type=EDS V=7 N=7 res=[e2]                | RESP
C> type=EDS V=7 N=7 R=[e1,e2]               | ACK #5`,
		"nonces do not leak between types": `
C> type=CDS V= N= R=[]                      | SUB
C> type=LDS V= N= R=[]                      | SUB
S< type=CDS V=1 N=a res=[c1]                | RESP
C> type=LDS V=1 N=a R=[]                    | REQ
C> type=CDS V=1 N=a R=[]                    | ACK #4`,
		"versions 2 and 3 of a type share their state": `
C> type=CDSv2 V= N= R=[]                    | SUB
S< type=CDS V=1 N=a res=[c1]                | RESP
C> type=CDSv2 V=1 N=a R=[]                  | ACK #3`,
		"a reconnecting client says what it has": `
C> type=CDS V=5 N= R=[] node=n1             | SUB
S< type=CDS V=5 N=1 res=[c1]                | RESP
C> type=CDS V=5 N=1 R=[]                    | ACK #3`,
		"a nonce from a previous stream": `
C> type=CDS V=1 N=a R=[] node=n1            | SUB
S< type=CDS V=1 N=b res=[c1]                | RESP
C> type=CDS V=1 N=b R=[]                    | ACK #3`,
		"an error that rejects nothing": `
C> type=Health V= N= R=[]                   | SUB
C> type=Health V= N= R=[] err=down          | REQ`,
		"an error after a response without nonce": `
C> type=CDS V= N= R=[]                      | SUB
S< type=CDS V=1 N= res=[c1]                 | RESP
C> type=CDS V= N= R=[] err=bad              | NACK #3`,
		"delta": `
D> type=CDS N= sub=[] node=n1               | SUB
d< type=CDS N=a V=1 res=[c1,c2]             | DELTA
D> type=EDS N= sub=[c1,c2]                  | SUB +c1,c2
D> type=CDS N=a sub=[]                      | ACK #3
d< type=EDS N=b res=[c1,c2]                 | DELTA
D> type=EDS N=b sub=[e2]                    | ACK+SUB +e2 #6
D> type=EDS N=b sub=[e3]                    | SUB +e3
d< type=CDS N=e V=2 rm=[c2]                 | DELTA -c2
D> type=EDS N= unsub=[c2]                   | UNSUB -c2
D> type=CDS N=e sub=[] err=no               | NACK #9
D> type=CDS N=e sub=[]                      | REQ`,
		"delta, one verdict for each response": `
D> type=EDS N= sub=[e1] node=n1             | SUB +e1
d< type=EDS N=a res=[e1]                    | DELTA
d< type=EDS N=b res=[e1]                    | DELTA
D> type=EDS N=a sub=[e2]                    | ACK+SUB +e2 #3
D> type=EDS N=b unsub=[e1]                  | ACK+UNSUB -e1 #4`,
		"delta, connected and subscribed to nothing": `
D> type=Addr N= sub=[*] unsub=[*] node=n1   | SUB +* -*`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
				line, want, _ := strings.Cut(l, "|")
				if got := describe(s.line(strings.TrimSpace(line))); got != strings.TrimSpace(want) {
					t.Errorf("%s\n got %s\nwant %s", line, got, want)
				}
			}
		})
	}
}

func TestClientOfStreamAndConnection(t *testing.T) {
	s := newScript(t)
	if c := s.line("C> type=CDS V= N= R=[] node=n1"); c.Client != "n1" || c.Type != "CDS" || c.Variant != xds.VariantSotwADS {
		t.Errorf("%+v", c)
	}
	s.open(2, "/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints")
	// The second stream has not named its node yet: that of the connection.
	c := s.step(session.Entry{Kind: session.KindHeader, Side: session.Server, Stream: 2})
	if c.Client != "n1" || c.Type != "EDS" || c.Variant != xds.VariantSotw || c.What != "" || c.Message != nil {
		t.Errorf("%+v", c)
	}
	if c := s.line("C> V= N= R=[e1] node=n2"); c.Client != "n2" || c.Type != "EDS" || c.What != SUB {
		t.Errorf("%+v", c)
	}
	s.stream = 1
	if c := s.line("S< type=CDS V=1 N=a res=[c1]"); c.Client != "n1" || !slices.Equal(c.Names(), []string{"c1"}) {
		t.Errorf("%+v", c)
	}
	// A message that crosses the end of its stream is still understood.
	if c := s.step(session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: 1}); c.Client != "n1" || c.Variant != xds.VariantSotwADS {
		t.Errorf("%+v", c)
	}
	if c := s.line("C> type=CDS V=1 N=a R=[]"); c.Client != "n1" || c.Variant != xds.VariantSotwADS || !c.Uncertain {
		t.Errorf("%+v", c)
	}
	if c := s.step(session.Entry{Kind: session.KindDisconnect, Side: session.Client}); c.Client != "n2" {
		t.Errorf("%+v", c)
	}
	if n := len(s.tracker.Streams) + len(s.tracker.late) + len(s.tracker.conns); n != 0 {
		t.Errorf("%d streams and connections left", n)
	}
}

// An answer says how long it took, and every entry of a stream who its client
// said it was.
func TestWaitedAndNode(t *testing.T) {
	s := newScript(t)
	at := time.Unix(1e9, 0)
	line := func(after time.Duration, line string) Change {
		side, data := encode(t, line)
		at = at.Add(after)
		e := message(s.stream, side, data)
		e.Time = at
		return s.step(e)
	}
	s.open(1, adsMethod)
	line(0, "C> type=CDS V= N= R=[] node=n1")
	line(0, "S< type=CDS V=1 N=a res=[c1]")
	line(0, "S< type=EDS V=1 N=b res=[c1]")
	if c := line(7*time.Millisecond, "C> type=CDS V=1 N=a R=[]"); c.What != ACK || c.Waited != 7*time.Millisecond {
		t.Errorf("%+v", c)
	}
	if c := line(time.Millisecond, "C> type=EDS V= N=b R=[c1] err=bad"); c.What != NACK || c.Waited != 8*time.Millisecond {
		t.Errorf("%+v", c)
	}
	if c := line(time.Millisecond, "C> type=EDS V= N=b R=[c1,c2]"); c.What != SUB || c.Waited != 0 {
		t.Errorf("%+v", c)
	}
	line(0, "S< type=CDS V=2 N=c res=[c1]")
	if c := line(0, "C> type=CDS V=2 N=c R=[]"); c.Waited != 1 {
		t.Errorf("an answer at once took %v", c.Waited)
	}
	s.open(2, "/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints")
	if c := s.line("C> V= N= R=[e1]"); c.Node == nil || c.Node.ID != "n1" {
		t.Errorf("%+v", c)
	}
	if c := s.line("C> V= N= R=[e1] node=" + strings.Repeat("n", maxNode+1)); c.Node != nil || len(c.Client) != maxNode+1 {
		t.Errorf("a node of %d bytes is remembered", len(c.Node.ID))
	}
	s.stream = 1
	if c := s.line("S< type=CDS V=3 N=d res=[c1]"); c.Node == nil || c.Node.ID != "n1" {
		t.Errorf("%+v", c)
	}
}

func TestGapMakesUncertain(t *testing.T) {
	s := newScript(t)
	s.line("C> type=CDS V= N= R=[] node=n1")
	s.step(session.Entry{Kind: session.KindGap, Gap: &session.Gap{First: 3, Last: 9, Entries: 7, Streams: []session.StreamID{1}}})
	// The response is in the gap: its verdict is taken at its word.
	if got := describe(s.line("C> type=CDS V=7 N=x R=[]")); got != "ACK ?" {
		t.Error(got)
	}
	if got := describe(s.line("C> type=CDS V=7 N=x R=[]")); got != "REQ ?" {
		t.Error(got)
	}
	// So may be the first request of another type.
	if got := describe(s.line("C> type=EDS V=7 N=y R=[e1] err=bad")); got != "NACK ?" {
		t.Error(got)
	}
	if got := describe(s.line("C> type=EDS V=7 N=y R=[e1,e2]")); got != "SUB +e2 ?" {
		t.Error(got)
	}
}

func TestStreamWithoutHeaders(t *testing.T) {
	s := newScript(t)
	s.opened[9], s.stream = true, 9
	if got := describe(s.line("C> type=EDS V= N= R=[e1] node=n1")); got != "SUB +e1 ?" {
		t.Error(got)
	}
	s.line("S< type=EDS V=1 N=a res=[e1]")
	c := s.line("C> type=EDS V=1 N=a R=[e1]")
	if got := describe(c); got != "ACK #2 ?" || c.Client != "n1" || c.Variant != "" {
		t.Errorf("%s %+v", got, c)
	}
}

// Each poll is a stream; the conversation is that of the connection.
func TestREST(t *testing.T) {
	s := newScript(t)
	poll := func(id session.StreamID, body string) Change {
		s.step(session.Entry{
			Kind: session.KindOpen, Side: session.Client, Stream: id, Method: "/v3/discovery:endpoints",
			Headers: []session.Field{{Name: "content-type", Value: "application/json"}},
		})
		c := s.step(message(id, session.Client, []byte(body)))
		s.step(message(id, session.Server, []byte(`{"version_info":"1","resources":[]}`)))
		s.step(session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: id})
		return c
	}
	if got := describe(poll(1, `{"node":{"id":"n1"},"resource_names":["e1"]}`)); got != "SUB +e1" {
		t.Error(got)
	}
	c := poll(2, `{"node":{"id":"n1"},"version_info":"1","resource_names":["e1"]}`)
	if got := describe(c); got != "ACK #3" || c.Type != "EDS" || c.Variant != xds.VariantREST {
		t.Error(got)
	}
	if got := describe(poll(3, `{"node":{"id":"n1"},"version_info":"1","resource_names":["e1","e2"]}`)); got != "ACK+SUB +e2 #7" {
		t.Error(got)
	}
}

func TestOtherStreams(t *testing.T) {
	s := newScript(t)
	s.open(1, "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats")
	c := s.step(message(1, session.Client, []byte(lenField(1, lenField(1, "n1")))))
	if c.What != REQ || c.Variant != xds.VariantLRS || c.Client != "n1" || c.Type != "" {
		t.Errorf("%+v", c)
	}
	if c := s.step(message(1, session.Server, nil)); c.What != RESP {
		t.Errorf("%+v", c)
	}
}

func TestCompressedAndTruncated(t *testing.T) {
	s := newScript(t)
	s.line("C> type=CDS V= N= R=[] node=n1")
	e := message(1, session.Server, []byte{0x1f, 0x8b})
	e.Message.Compressed = true
	if c := s.step(e); c.What != RESP || !c.Uncertain || len(c.Message.Problems) != 1 {
		t.Errorf("%+v", c)
	}
	if got := describe(s.line("C> type=CDS V=1 N=a R=[]")); got != "ACK ?" {
		t.Error(got)
	}
}

// A peer that invents names, types, nonces and streams costs no more than the
// bounds allow, and equal lists of names are kept once.
func TestMemoryIsBounded(t *testing.T) {
	s := newScript(t)
	for i := range maxTypes + 10 {
		s.open(session.StreamID(i+1), adsMethod)
		s.line("C> type=EDS V= N= R=[e1,e2,e3] node=n1")
	}
	if n := len(s.tracker.lists.byHash); n != 1 {
		t.Errorf("%d lists of names, want 1", n)
	}
	for i := range maxTypes + 10 {
		s.step(message(1, session.Client, []byte(lenField(4, fmt.Sprintf("a.b/T%d", i)))))
	}
	if n := len(s.tracker.Streams[1].Subs); n != maxTypes {
		t.Errorf("%d types, want %d", n, maxTypes)
	}
	for i := range MaxNonces + 10 {
		s.step(message(2, session.Server, []byte(lenField(4, typeURLs["EDS"])+lenField(5, fmt.Sprint(strings.Repeat("x", 9000), i)))))
	}
	ts := s.tracker.Streams[2].Sub("EDS")
	if n := len(ts.Sent); n != MaxNonces || len(ts.Sent[0].Nonce) > 2*maxKey || !ts.Forgotten {
		t.Errorf("%d nonces, first of %d bytes", n, len(ts.Sent[0].Nonce))
	}
	for i := range maxTypes + 10 {
		s.step(session.Entry{Kind: session.KindCancel, Side: session.Client, Stream: session.StreamID(i + 1)})
	}
	s.tracker.settle()
	if l := s.tracker.lists; l.bytes != 0 || len(l.byHash) > 2 {
		t.Errorf("%d lists, %d bytes left after the streams ended", len(l.byHash), l.bytes)
	}
	for i := range maxLate * 2 {
		id := session.StreamID(i + 10_000)
		s.step(session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: id, Method: adsMethod})
		s.step(session.Entry{Kind: session.KindCancel, Side: session.Client, Stream: id})
	}
	if n := len(s.tracker.late); n != maxLate {
		t.Errorf("%d streams are remembered after their end, want %d", n, maxLate)
	}
}

// A connection that opens streams without end leaves room to follow those of
// others, however many are open.
func TestStreamsOfOneConnectionLeaveRoom(t *testing.T) {
	k := New(Options{})
	open := func(conn session.ConnID, id session.StreamID) bool {
		k.Step(&session.Entry{Seq: session.Seq(id), Conn: conn, Stream: id, Side: session.Client, Kind: session.KindOpen, Method: adsMethod})
		return k.Streams[id] != nil
	}
	for i := range session.StreamID(maxStreams) {
		open(1, i+1)
	}
	if n := len(k.Streams); n >= maxStreams*3/4 {
		t.Errorf("one connection has %d streams", n)
	}
	for i := range session.StreamID(1000) {
		if !open(session.ConnID(i+2), maxStreams+i+1) {
			t.Fatalf("there is no room for stream %d of the others", i+1)
		}
	}
}
