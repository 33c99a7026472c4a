package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// live is a client that says what a script says, whatever the server makes of it, and holds what comes against
// what the script has. It does not wait for what the script does not have.
type live struct {
	t       *testing.T
	polls   *http.Transport
	conn    *grpc.ClientConn
	streams map[session.StreamID]*liveStream
	left    sync.WaitGroup // polls that get no answer
}

type liveStream struct {
	method xds.Method
	ss     grpc.ClientStream
	cancel context.CancelFunc
	nonces map[string]string // of the script, as they came
	reply  *http.Response
}

// serveTo plays a recording to the client of a script, until the play ends by itself, or else, when the client is
// through with its script, until this was said.
func serveTo(t *testing.T, recorded *replay.Plan, script, until string, o replay.Options) (*replay.Report, []string) {
	t.Helper()
	l := replaytest.Listen()
	begun := time.Now()
	said := make(chan string, 1000)
	if o.Idle == 0 {
		o.Idle = time.Minute
	}
	// net/http looks after a millisecond and more whether a connection is idle when it shuts down.
	o.Say = func(s string) { said <- fmt.Sprintf("%-6v %s", time.Since(begun).Round(10*time.Millisecond), s) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var report *replay.Report
	served := make(chan struct{})
	go func() {
		defer close(served)
		var err error
		if report, err = server.Serve(ctx, l, recorded, o); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	conn, err := grpc.NewClient("passthrough:///xds", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()), replay.Bytes(replay.MostResponse))
	if err != nil {
		t.Fatal(err)
	}
	polls := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.DialContext(ctx) }}
	defer polls.CloseIdleConnections()
	c := &live{t: t, polls: polls, conn: conn, streams: map[session.StreamID]*liveStream{}}
	live, stop := context.WithCancel(t.Context())
	c.play(live, script)
	var heard []string
	late := time.After(time.Hour)
	for waits := until != ""; waits; {
		select {
		case s := <-said:
			heard = append(heard, s)
			waits = !strings.Contains(s, until)
		case <-late:
			t.Errorf("%q was never said", until)
			waits = false
		}
	}
	if until != "" {
		cancel()
	}
	<-served
	stop()
	c.left.Wait()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for len(said) > 0 {
		heard = append(heard, <-said)
	}
	slices.Sort(heard)
	return report, heard
}

func (c *live) play(ctx context.Context, text string) {
	c.t.Helper()
	s, err := script.Parse("live", []byte(text))
	if err != nil {
		c.t.Fatal(err)
	}
	all := slices.Collect(s.Entries())
	for i := range all {
		e := &all[i]
		if e.Stream == 0 {
			continue
		}
		if e.Kind == session.KindOpen {
			c.streams[e.Stream] = &liveStream{method: xds.LookupMethod(e.Method), nonces: map[string]string{}}
			continue
		}
		if st := c.streams[e.Stream]; st.method.Variant == xds.VariantREST {
			c.poll(ctx, st, e, all[i:])
		} else {
			c.converse(ctx, st, e)
		}
	}
}

func (c *live) converse(ctx context.Context, st *liveStream, e *session.Entry) {
	c.t.Helper()
	if st.ss == nil {
		ctx, st.cancel = context.WithCancel(ctx)
		ss, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, st.method.Path)
		if err != nil {
			c.t.Fatal(err)
		}
		st.ss = ss
	}
	switch {
	case e.Kind == session.KindMessage && e.Side == session.Client:
		out := e.Message.Data.Bytes()
		m := decode.Peek(st.method, session.Client, "", out)
		if nonce, is := st.nonces[m.Nonce]; is {
			field := edit.Set{edit.NonceOfRequest: nonce}
			if st.method.Variant.Delta() {
				field = edit.Set{edit.NonceOfDeltaRequest: nonce}
			}
			out, _ = field.Apply(out)
		}
		if err := st.ss.SendMsg(&out); err != nil && !errors.Is(err, io.EOF) { // EOF: the end says why
			c.t.Errorf("entry %d cannot be sent: %v", e.Seq, err)
		}
		synctest.Wait() // until it was heard
	case e.Kind == session.KindMessage:
		var b []byte
		if err := st.ss.RecvMsg(&b); err != nil {
			c.t.Errorf("instead of entry %d: %v", e.Seq, err)
			return
		}
		want, got := decode.Peek(st.method, session.Server, "", e.Message.Data.Bytes()), decode.Peek(st.method, session.Server, "", b)
		if a, b := contentOf(&want), contentOf(&got); a != b {
			c.t.Errorf("instead of entry %d, %s, came %s", e.Seq, a, b)
		}
		st.nonces[want.Nonce] = got.Nonce
	case e.Kind == session.KindTrailer: // by the server
		var b []byte
		if err := st.ss.RecvMsg(&b); int32(status.Code(err)) != e.Status.Code && !(errors.Is(err, io.EOF) && e.Status.Code == 0) {
			c.t.Errorf("instead of an end with %d: %v", e.Status.Code, err)
		}
	case e.Kind == session.KindHalfClose, e.Kind == session.KindCancel:
		if err := st.ss.CloseSend(); err != nil {
			c.t.Error(err)
		}
		for err := error(nil); err == nil; {
			var b []byte
			if err = st.ss.RecvMsg(&b); err == nil {
				m := decode.Peek(st.method, session.Server, "", b)
				c.t.Errorf("%s came, which the script does not have", contentOf(&m))
			}
		}
		st.cancel()
	}
}

func contentOf(m *decode.Message) string {
	return fmt.Sprintf("%s version %s of %s, without %s", m.TypeURL, m.Version, m.ResourceNames(), m.Removed)
}

// poll sends a poll, and compares its reply, if the rest of the script has one.
func (c *live) poll(ctx context.Context, st *liveStream, e *session.Entry, rest []session.Entry) {
	c.t.Helper()
	switch {
	case e.Kind == session.KindMessage && e.Side == session.Client:
		ask := func() (*http.Response, error) {
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://xds"+st.method.Path, bytes.NewReader(e.Message.Data.Bytes()))
			if err != nil {
				return nil, err
			}
			q.Header.Set("Content-Type", "application/json")
			return c.polls.RoundTrip(q)
		}
		if !slices.ContainsFunc(rest, func(o session.Entry) bool {
			return o.Stream == e.Stream && o.Kind == session.KindHeader && o.Side == session.Server
		}) {
			c.left.Go(func() {
				if w, err := ask(); err == nil {
					w.Body.Close()
					c.t.Errorf("entry %d was answered with status %d", e.Seq, w.StatusCode)
				}
			})
			return
		}
		w, err := ask()
		if err != nil {
			c.t.Fatal(err)
		}
		st.reply = w
	case e.Kind == session.KindHeader && e.Side == session.Server:
		if want := session.Get(e.Headers, ":status"); fmt.Sprint(st.reply.StatusCode) != want {
			c.t.Errorf("entry %d: status %d, want %s", e.Seq, st.reply.StatusCode, want)
		}
	case e.Kind == session.KindMessage:
		b, err := io.ReadAll(st.reply.Body)
		if err != nil || !bytes.Equal(b, e.Message.Data.Bytes()) {
			c.t.Errorf("instead of entry %d, %s, came %s, %v", e.Seq, e.Message.Data.Bytes(), b, err)
		}
	case e.Kind == session.KindTrailer:
		if st.reply != nil {
			_ = st.reply.Body.Close()
		}
	}
}

// told is a report as text: what was expected and came of it, then what differed, then what was noted.
func told(r *replay.Report) string {
	var b strings.Builder
	sent, toSend := 0, 0
	for _, p := range r.Played {
		sent, toSend = sent+p.Sent, toSend+p.ToSend
	}
	fmt.Fprintf(&b, "%d of %d streams, %d of %d sent, %d heard, %d of %d as recorded\n", r.Streams, len(r.Played), sent, toSend, r.Received, r.Matched, r.Expected)
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s: %s\n", d.Where(), d)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if r.TurnedAway != "" {
		fmt.Fprintf(&b, "turned away: %s\n", r.TurnedAway)
	}
	return b.String()
}

type liveCase struct {
	name, recorded, live string
	until                string // what is said last; "": the play ends by itself
	faults               []string
	pace                 string
}

// theyAreTold requires that plays to live clients are told as a file of testdata has it.
func theyAreTold(t *testing.T, file string, cases []liveCase) {
	t.Helper()
	reports := make([]string, len(cases))
	t.Run("play", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				o := replay.Options{Faults: replaytest.Faults(t, true, c.recorded, c.faults...)}
				if c.pace != "" {
					var err error
					if o.Pace, err = replay.ParsePace(c.pace); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Test(t, func(t *testing.T) {
					if c.pace != "" {
						step := make(chan struct{})
						close(step) // somebody leans on Enter
						o.Step = step
					}
					report, said := serveTo(t, replaytest.PlanOfScript(t, c.recorded), c.live, c.until, o)
					reports[i] = c.name + ": " + told(report) + strings.Join(said, "\n") + "\n"
				})
			})
		}
	})
	golden.Is(t, filepath.Join("testdata", file), strings.Join(reports, "\n"))
}

// What both sides say to each other, and of each other, of recordings that are the same and that are not.
func TestPairs(t *testing.T) { replaytest.Pairs(t, "../client/testdata/pairs") }

// What a live client does otherwise is told in these words, and what it does the same is counted.
func TestLiveClients(t *testing.T) {
	const (
		begins = "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\n"
		acks   = "C> type=EDS V=1 N=a R=[a,b]\n"
		named  = "C> type=EDS V= N= R=[cluster-a,cluster-b] node=n1\nS< type=EDS V=1 N=a res=[cluster-a,cluster-b]\n"
		goes   = "-- client-end\n"
		second = "S< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V=2 N=b R=[a,b]\n"
	)
	theyAreTold(t, "streams.txt", []liveCase{
		{name: "the same", recorded: begins + acks, live: begins + acks},
		{name: "no answer", recorded: begins + acks, live: begins + goes, until: "is over"},
		{name: "a rejection", recorded: begins + acks, live: begins + "C> type=EDS V= N=a R=[a,b] err=\"no such locality\"\n", until: "is over"},
		{name: "no rejection", recorded: begins + "C> type=EDS V= N=a R=[a,b] err=\"no such locality\"\n", live: begins + acks, until: "is over"},
		{name: "a rejection in other words", recorded: begins + "C> type=EDS V= N=a R=[a,b] err=\"a: no such locality\"\n", live: begins + "C> type=EDS V= N=a R=[a,b] err=\"a is bad\"\n"},
		{name: "a rejection of another resource", recorded: strings.ReplaceAll(begins+"C> type=EDS V= N=a R=[a,b] err=\"cluster-a: no such locality\"\n", "[a,b]", "[cluster-a,cluster-b]"), live: strings.ReplaceAll(begins+"C> type=EDS V= N=a R=[a,b] err=\"cluster-b is bad\"\n", "[a,b]", "[cluster-a,cluster-b]"), until: "is over"},
		{name: "a rejection that named nothing", recorded: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"no such locality\"\n", live: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"cluster-b is bad\"\n"},
		{name: "a rejection that names nothing now", recorded: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"cluster-a is bad\"\n", live: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"no such locality\"\n"},
		{name: "a rejection of one resource of two", recorded: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"cluster-a is bad, cluster-b is bad\"\n", live: named + "C> type=EDS V= N=a R=[cluster-a,cluster-b] err=\"cluster-b is bad\"\n"},
		{name: "the same silence", recorded: begins + "t=+41s -- tick\n", live: begins, until: "is over"},
		{name: "fewer names", recorded: begins + acks, live: "C> type=EDS V= N= R=[a] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a]\n" + goes, until: "is over"},
		{name: "more names", recorded: begins + acks, live: "C> type=EDS V= N= R=[a,b,c] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a,b,c]\n" + goes, until: "is over"},
		{name: "other names", recorded: begins + acks, live: "C> type=EDS V= N= R=[a,c] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a,c]\n" + goes, until: "is over"},
		{name: "none of the names", recorded: begins + acks, live: "C> type=EDS V= N= R=[c,d] node=n1\n" + goes, until: "is over"},
		{name: "another type", recorded: begins + acks, live: "C> type=CDS V= N= R=[] node=n1\n" + goes, until: "is over"},
		{name: "another type, too", recorded: begins + acks, live: begins + "C> type=CDS V= N= R=[]\nC> type=CDS V= N= R=[]\n" + acks, until: "is over"},
		{name: "goes before an update", recorded: begins + acks + second, live: begins + goes, until: "is over"},
		{name: "gives a name up", recorded: begins + acks + second, live: begins + "C> type=EDS V=1 N=a R=[b]\nS< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V=2 N=b R=[b]\nC> type=EDS V=2 N=b R=[b]\n" + goes, until: "is over"},
		{name: "keeps a name", recorded: begins + "C> type=EDS V=1 N=a R=[b]\n" + "S< type=EDS V=2 N=b res=[b#2]\nC> type=EDS V=2 N=b R=[b]\n", live: begins + acks + "S< type=EDS V=2 N=b res=[b#2]\nC> type=EDS V=2 N=b R=[a,b]\n" + goes, until: "is over"},
		{name: "answers only the last", recorded: begins + "S< type=EDS V=2 N=b res=[a#2,b]\n" + acks + "C> type=EDS V=2 N=b R=[a,b]\n", live: begins + "S< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V=2 N=b R=[a,b]\n"},
		{name: "passes over a rejection", recorded: begins + "S< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V= N=a R=[a,b] err=\"no\"\nC> type=EDS V=2 N=b R=[a,b]\n", live: begins + "S< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V=2 N=b R=[a,b]\n", until: "is over"},
		{name: "the server goes", recorded: begins + acks + "-- server-end code=14 msg=\"draining\"\n", live: begins + acks + "-- server-end code=14\n"},
		{name: "the server is done", recorded: begins + acks + "-- server-end code=0\n", live: begins + acks + "-- server-end code=0\n"},
		{name: "the connection breaks", recorded: begins + acks + "-- cut by=server\n", live: begins + acks + "-- server-end code=14\n"},
		{name: "a client of another name", recorded: begins + acks, live: strings.ReplaceAll(begins+acks, "node=n1", "node=n2")},
		{name: "nobody", recorded: begins + acks, live: "L> node=n1\n-- server-end code=12\n", until: "is not played"},
		{name: "another method", recorded: begins + acks, live: "D> type=EDS sub=[a,b] node=n1\n", until: "expected no stream"},
		{name: "a stream too many", recorded: begins + acks + "-- stream 2 node=n1 method=StreamClusters\nC> type=CDS V= N= R=[] node=n1\n", live: begins + acks + "-- stream 2\nC> type=EDS V= N= R=[a,b] node=n1\n-- server-end code=14\n", until: "opened another stream"},
		{name: "a client too many", recorded: begins + acks + "-- stream 2\n" + strings.ReplaceAll(begins, "node=n1", "node=n2"), live: "C> type=EDS V= N= R=[a,b] node=n3\n-- server-end code=14\n", until: "a client"},
		{name: "the same twice", recorded: begins + acks, live: begins + "-- stream 2\nC> type=EDS V= N= R=[a,b] node=n2\n-- server-end code=14\n", until: "while"},
		{name: "a stream of one type for other names", recorded: "-- stream 1 method=StreamEndpoints\n" + begins + acks, live: "-- stream 1 method=StreamEndpoints\nC> type=EDS V= N= R=[x] node=n1\n", until: "expected a request"},
		{name: "in delta", recorded: "D> type=EDS sub=[a] node=n1\nd< type=EDS N=1 res=[a@1]\nD> type=EDS N=1 sub=[b] unsub=[a]\nd< type=EDS N=2 res=[b@1] rm=[a]\nD> type=EDS N=2\n", live: "D> type=EDS sub=[a] node=n1\nd< type=EDS N=1 res=[a@1]\nD> type=EDS N=1 sub=[b]\nd< type=EDS N=2 res=[b@1] rm=[a]\nD> type=EDS N=2\n" + goes, until: "is over"},
		{name: "clusters on demand", recorded: "D> type=CDS sub=[*] node=n1 ua=envoy/1.30.0\nd< type=CDS N=1 res=[a@1]\nD> type=CDS N=1 sub=[b]\nd< type=CDS N=2 res=[b@1]\nD> type=CDS N=2\n", live: "D> type=CDS sub=[*] node=n1 ua=envoy/1.30.0\nd< type=CDS N=1 res=[a@1]\nD> type=CDS N=1\n" + goes, until: "is over"},
	})
}

// What is done wrong on purpose to a live client is told, and what it does then is no difference.
func TestLiveClientsWithFaults(t *testing.T) {
	const (
		begins  = "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a,b]\n"
		updates = "S< type=EDS V=2 N=b res=[a#2,b]\nC> type=EDS V=2 N=b R=[a,b]\n"
		anew    = "-- stream 2\n"
		again   = anew + "C> type=EDS V=1 N= R=[a,b] node=n1\n" + updates
		delta   = "D> type=EDS sub=[a] node=n1\nd< type=EDS N=1 res=[a@1]\nD> type=EDS N=1\nd< type=EDS N=2 res=[a@2,b@1]\nD> type=EDS N=2\n"
		two     = "C> type=CDS V= N= R=[] node=n1\nC> type=EDS V= N= R=[a]\nS< type=CDS V=1 N=a res=[a]\nS< type=EDS V=1 N=b res=[a]\nC> type=CDS V=1 N=a R=[]\nC> type=EDS V=1 N=b R=[a]\n"
	)
	theyAreTold(t, "faults.txt", []liveCase{
		{name: "drop", recorded: begins + updates, live: begins, until: "is over", faults: []string{"drop#2"}},
		{name: "drop the first", recorded: begins + updates, live: "C> type=EDS V= N= R=[a,b] node=n1\n" + updates, until: "is over", faults: []string{"drop"}},
		{name: "duplicate", recorded: begins + updates, live: begins + "S< type=EDS V=2 N=b res=[a#2,b]\n" + updates, faults: []string{"duplicate#2"}},
		{name: "version-reused", recorded: begins + updates, live: begins + strings.ReplaceAll(updates, "V=2", "V=1"), faults: []string{"version-reused#2"}},
		{name: "version-reused, of the first", recorded: begins, live: begins, faults: []string{"version-reused"}},
		{name: "version-reused in delta", recorded: delta, live: strings.ReplaceAll(delta, "a@2", "a@1#2"), faults: []string{"version-reused#2"}},
		{name: "version-reused in delta, of the first", recorded: delta, live: delta, faults: []string{"version-reused"}},
		{name: "cut", recorded: begins + updates, live: begins + "-- server-end code=14\n" + again, faults: []string{"cut#2"}},
		{name: "cut before it was answered", recorded: "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\n" + updates, live: "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\n-- server-end code=14\n" + strings.ReplaceAll(again, "V=1", "V="), faults: []string{"cut#2"}},
		{name: "goaway", recorded: begins + updates, live: begins + "-- server-end code=14\n" + again, faults: []string{"goaway#2"}},
		{name: "reset", recorded: begins + updates, live: begins + "-- server-end code=13\n" + again, faults: []string{"reset=2#2"}},
		{name: "refuse", recorded: begins, live: "C> type=EDS V= N= R=[a,b] node=n1\n-- server-end code=8\n" + anew + begins, faults: []string{"refuse=8"}},
		{name: "delay", recorded: begins + updates, live: begins + updates, faults: []string{"delay=10ms#2"}},
		{name: "reorder", recorded: two, live: "C> type=CDS V= N= R=[] node=n1\nC> type=EDS V= N= R=[a]\nS< type=EDS V=1 N=b res=[a]\nC> type=EDS V=1 N=b R=[a]\nS< type=CDS V=1 N=a res=[a]\nC> type=CDS V=1 N=a R=[]\n", faults: []string{"reorder"}},
	})
}

// The same for clients that poll.
func TestLivePolls(t *testing.T) {
	const (
		cds   = "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 200 type=CDS V=1 res=[c1]\n"
		same  = "P> path=/v3/discovery:clusters type=CDS V=1 node=n1\np< 304\n"
		news  = "P> path=/v3/discovery:clusters type=CDS V=1 node=n1\np< 200 type=CDS V=2 res=[c1,c2]\n"
		acks  = "P> path=/v3/discovery:clusters type=CDS V=2 node=n1\np< 304\n"
		eds   = "P> path=/v3/discovery:endpoints type=EDS V= R=[c1,c2] node=n1\np< 200 type=EDS V=1 res=[c1]\n"
		whole = cds + same + news + acks
	)
	theyAreTold(t, "polls.txt", []liveCase{
		{name: "the same", recorded: whole, live: whole},
		{name: "the same, step by step", recorded: whole, live: whole, pace: "step"},
		{name: "the same, in time", recorded: whole, live: whole, pace: "x1000"},
		{name: "fewer polls", recorded: whole, live: cds, until: "begins"},
		{name: "fewer polls for names", recorded: eds + "P> path=/v3/discovery:endpoints type=EDS V=1 R=[c1,c2] node=n1\np< 200 type=EDS V=2 res=[c1#2]\n" + cds, live: eds, until: "begins"},
		{name: "no polls for names", recorded: cds + eds, live: cds, until: "is over"},
		{name: "does not take it", recorded: whole, live: cds + same + news + "P> path=/v3/discovery:clusters type=CDS V=1 node=n1\np< 200 type=CDS V=2 res=[c1,c2]\n"},
		{name: "takes it now", recorded: cds + same + news + news, live: cds + same + news + acks},
		{name: "begins anew", recorded: whole, live: cds + cds + same + news + acks},
		{name: "forgets", recorded: whole, live: cds + cds + cds + cds, until: "begins"},
		{name: "other names", recorded: eds, live: "P> path=/v3/discovery:endpoints type=EDS V= R=[c7] node=n1\n", until: "expected no poll"},
		{name: "one of the names", recorded: eds, live: "P> path=/v3/discovery:endpoints type=EDS V= R=[c2] node=n1\np< 200 type=EDS V=1 res=[c1]\n"},
		{name: "everything", recorded: eds, live: "P> path=/v3/discovery:listeners type=LDS V= node=n1\n", until: "expected no poll"},
		{name: "another client", recorded: cds, live: strings.ReplaceAll(cds, "n1", "n2")},
		{name: "a client too many", recorded: cds + strings.ReplaceAll(cds, "n1", "n2"), live: "P> path=/v3/discovery:clusters type=CDS V= node=n3\np< 503\n", until: "came, but"},
		{name: "errors", recorded: "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 404\nP> path=/v3/discovery:clusters type=CDS V= node=n1\np< 503 body=\"no healthy upstream\"\n" + cds, live: "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 404\nP> path=/v3/discovery:clusters type=CDS V= node=n1\np< 503 body=\"no healthy upstream\"\n" + cds},
		{name: "no answer", recorded: cds + "P> path=/v3/discovery:clusters type=CDS V=1 node=n1\n", live: cds + "P> path=/v3/discovery:clusters type=CDS V=1 node=n1\n"},
		{name: "streams, too", recorded: cds + "-- stream 9 node=n1\nC> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[l1]\nC> type=LDS V=1 N=a R=[]\n", live: cds + "-- stream 9 node=n1\nC> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[l1]\nC> type=LDS V=1 N=a R=[]\n"},
	})
}
