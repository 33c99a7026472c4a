package e2e

import (
	"fmt"
	"net"
	"strings"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// tally counts what was held against each other.
type tally struct {
	episodes, conns, compared, streams, messages, arrived int
	bytes                                                 int64
	ends                                                  [4]int
	notes                                                 map[session.NoteCode]int
	peak                                                  int64
}

func (n *tally) String() string {
	return fmt.Sprintf("%d episodes, %d connections (%d of them compared byte by byte, %d bytes), %d streams, %d messages recorded, %d arrived; ended by client %d, server %d, proxy %d; notes %v; peak memory %d MB",
		n.episodes, n.conns, n.compared, n.bytes, n.streams, n.messages, n.arrived, n.ends[session.Client], n.ends[session.Server], n.ends[session.Proxy], n.notes, n.peak>>20)
}

func (n *tally) add(o *tally) {
	n.episodes++
	n.conns, n.compared, n.streams = n.conns+o.conns, n.compared+o.compared, n.streams+o.streams
	n.messages, n.arrived, n.bytes = n.messages+o.messages, n.arrived+o.arrived, n.bytes+o.bytes
	for i := range n.ends {
		n.ends[i] += o.ends[i]
	}
	if n.notes == nil {
		n.notes = map[session.NoteCode]int{}
	}
	for c, k := range o.notes {
		n.notes[c] += k
	}
	n.peak = max(n.peak, o.peak)
}

// recordedStream is a stream as the recording has it.
type recordedStream struct {
	conn  session.ConnID
	grpc  bool
	name  string
	ended int
	last  [2]int  // the newest message of each end
	cut   [2]bool // what comes after it is not whole
}

type recordedConn struct {
	connect    session.Entry
	connected  int
	disconnect []session.Entry
}

// verify holds the recordings against what both ends know.
func (w *chaosWorld) verify() {
	t := w.t
	t.Helper()
	sum := &tally{notes: map[session.NoteCode]int{}, peak: w.peak}
	for _, problem := range w.accounts.faulty {
		t.Errorf("seed %d: %s", w.seed, problem)
	}
	recorded := map[string][2]int{} // by stream: the newest message of each end
	for _, run := range w.runs {
		w.verifyRun(run, recorded, sum)
	}
	for name, talk := range w.accounts.talks {
		r := recorded[name]
		for end, side := range []string{"client", "server"} {
			arrived := talk[1-end].got
			sum.arrived += arrived
			if r[end] > talk[end].sent {
				t.Errorf("seed %d: stream %s: message %d of the %s is recorded, %d were sent", w.seed, name, r[end], side, talk[end].sent)
			}
			if arrived > r[end] {
				t.Errorf("seed %d: stream %s: message %d of the %s arrived, %d are recorded", w.seed, name, arrived, side, r[end])
			}
		}
	}
	if sum.messages == 0 || sum.compared == 0 || sum.arrived == 0 {
		t.Errorf("seed %d: nothing was held against anything: %s", w.seed, sum)
	}
	if sum.peak > chaosMemory {
		t.Errorf("seed %d: the proxy has taken %d MB", w.seed, sum.peak>>20)
	}
	w.tally.add(sum)
	sum.episodes = 1
	w.summary = fmt.Sprintf("%s; faults before it:%s, behind it:%s", sum, w.nearGRPC.counts(), w.farGRPC.counts())
}

// handshakes is more than the time in which the proxy opens both legs. The time
// of an entry is never before that of the entry before it.
const handshakes = 15 * time.Second

// chaosMemory is more than the proxy may ever take here, in bytes.
const chaosMemory = 400 << 20

func (w *chaosWorld) verifyRun(run *chaosRun, recorded map[string][2]int, sum *tally) {
	t := w.t
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("seed %d, %s: %s", w.seed, run.file, fmt.Sprintf(format, args...))
	}
	r, err := recorder.Open(run.file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conns, streams := map[session.ConnID]*recordedConn{}, map[session.StreamID]*recordedStream{}
	var last session.Seq
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			fail("after entry %d: %v", last, err)
			return
		}
		if e.Seq != last+1 {
			fail("entry %d follows entry %d", e.Seq, last)
		}
		last = e.Seq
		switch e.Kind {
		case session.KindGap:
			fail("entry %d: a gap: %+v", e.Seq, e.Gap)
		case session.KindNote:
			sum.notes[e.Note.Code]++
		case session.KindConnect:
			c := connOf(conns, e.Conn)
			c.connect = e
			c.connected++
		case session.KindDisconnect:
			c := connOf(conns, e.Conn)
			c.disconnect = append(c.disconnect, e)
		case session.KindOpen:
			if streams[e.Stream] != nil {
				fail("entry %d: stream %d is opened again", e.Seq, e.Stream)
			}
			streams[e.Stream] = &recordedStream{conn: e.Conn, grpc: strings.HasPrefix(e.Method, "/envoy.service.discovery.v3.")}
		case session.KindMessage:
			if s := streams[e.Stream]; s != nil && s.grpc {
				sum.messages++
				if problem := s.message(&e); problem != "" {
					fail("entry %d: %s", e.Seq, problem)
				}
			}
		case session.KindTrailer, session.KindCancel:
			s := streams[e.Stream]
			if s == nil {
				fail("entry %d: the end of stream %d, which was not opened", e.Seq, e.Stream)
				continue
			}
			s.ended++
		}
	}
	if f := r.Facts(); !f.Complete || f.Damaged || f.Gaps != 0 {
		fail("%+v; want it complete", f)
	}
	for id, s := range streams {
		if s.ended == 0 {
			fail("stream %d (%s) has no end", id, s.name)
		}
		sum.streams++
		had := recorded[s.name]
		recorded[s.name] = [2]int{max(had[0], s.last[0]), max(had[1], s.last[1])}
	}
	from := map[string][]*recordedConn{}
	for _, c := range conns {
		if p := c.connect.Peer; p != nil {
			from[p.Local] = append(from[p.Local], c)
		}
	}
	for id, c := range conns {
		sum.conns++
		if c.connected != 1 || len(c.disconnect) != 1 {
			fail("connection %d was connected %d times and disconnected %d times", id, c.connected, len(c.disconnect))
			continue
		}
		sum.ends[c.disconnect[0].Side]++
		if problem := w.verifyConn(run, c, from[c.connect.Peer.Local], sum); problem != "" {
			fail("connection %d from %s: %s (ended by the %s: %s)", id, c.connect.Peer.Client, problem, c.disconnect[0].Side, c.disconnect[0].Status.Message)
		}
	}
}

func connOf(conns map[session.ConnID]*recordedConn, id session.ConnID) *recordedConn {
	if conns[id] == nil {
		conns[id] = &recordedConn{}
	}
	return conns[id]
}

// message takes the next message of the stream and says what is wrong with it.
func (s *recordedStream) message(e *session.Entry) string {
	var m labelled
	end := atClient
	if e.Side == session.Server {
		end = atServer
	}
	switch {
	case e.Message.Truncated:
		s.cut[end] = true
		return ""
	case s.cut[end]:
		return "a message after one that was cut off"
	case end == atClient:
		m = &discovery.DiscoveryRequest{}
	default:
		m = &discovery.DiscoveryResponse{}
	}
	if err := proto.Unmarshal(e.Message.Data.Bytes(), m.(proto.Message)); err != nil {
		return err.Error()
	}
	name, n, problem := readLabel(m)
	switch {
	case problem != "":
		return problem
	case s.name != "" && s.name != name:
		return fmt.Sprintf("a message of stream %s on stream %s", name, s.name)
	case n != s.last[end]+1:
		return fmt.Sprintf("message %d of the %s comes after message %d", n, e.Side, s.last[end])
	}
	s.name, s.last[end] = name, n
	return ""
}

// mayHave says whether a connection that was accepted behind the proxy at this
// time may be the other leg of this one, by the time.
func (c *recordedConn) mayHave(began time.Time) bool {
	return len(c.disconnect) == 1 &&
		!began.Before(c.connect.Time.Add(-handshakes)) && !began.After(c.disconnect[0].Time)
}

// verifyConn compares the bytes of a connection, and who ended it. Same are those
// that were dialled on from the same address, itself among them.
func (w *chaosWorld) verifyConn(run *chaosRun, c *recordedConn, same []*recordedConn, sum *tally) string {
	peer, end := c.connect.Peer, c.disconnect[0]
	near, far := w.nearGRPC, w.farGRPC
	if peer.Listen == w.listenRaw {
		near, far = w.nearRaw, w.farRaw
	}
	host, _, err := net.SplitHostPort(peer.Client)
	if err != nil {
		return err.Error()
	}
	number := numberOf(nearBase, net.ParseIP(host))
	before := near.numbered(number)
	if before == nil {
		return fmt.Sprintf("no client %d is known", number)
	}
	if peer.Local == "" {
		return "" // there was nobody behind
	}
	behind := far.find(peer.Local, c.connect.Time.Add(-handshakes), end.Time)
	if behind == nil {
		return "" // its listener was closed before it had accepted that, or it is not clear which it is
	}
	for _, other := range same {
		if other != c && other.mayHave(behind.began) {
			return "" // it is not clear whose it is
		}
	}
	client, server := w.accounts.clients[number], w.accounts.servers[behind.number]
	if client != nil && server != nil {
		if problem := carried(client, server); problem != "" {
			return "to the server: " + problem
		}
		if problem := carried(server, client); problem != "" {
			return "to the client: " + problem
		}
		sum.compared++
		sum.bytes += int64(len(server.got) + len(client.got))
	}
	first := [2]actor{actor(before.first.Load()), actor(behind.first.Load())}
	for i, end := range []*flow{client, server} {
		// Under TLS an end says that it leaves in bytes that a middleman cannot
		// read, and the proxy may act on them before the socket is closed.
		if w.secure != nil && end != nil && end.left {
			first[i] = theOther
		}
	}
	switch {
	case end.Side == session.Proxy:
		if !end.Time.Before(run.stopped.Add(-time.Millisecond)) && !run.quiet {
			return ""
		}
	case end.Side == session.Client && first[0] == theOther, end.Side == session.Server && first[1] == theOther:
		return ""
	}
	return fmt.Sprintf("before it %s ended it first, behind it %s", first[0], first[1])
}

func (a actor) String() string { return [...]string{"nobody", "the proxy", "the peer"}[a] }
