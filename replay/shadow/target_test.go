package shadow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what clusters consist of
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

const clusters = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

func lenField(num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

// response is one in the state of the world, with clusters of these names.
func response(version string, names ...string) (out []byte) {
	out = append(lenField(versionOfResponse, []byte(version)), lenField(typeOfResponse, []byte(clusters))...)
	for _, n := range names {
		out = append(out, lenField(resourcesOfResponse, append(lenField(1, []byte(clusters)), lenField(2, lenField(1, []byte(n)))...))...)
	}
	return append(out, lenField(nonceOfResponse, []byte(version))...)
}

// plane is a control plane that gives what it is told to, and freezes.
type plane struct {
	l      *bufconn.Listener
	out    chan []byte // to whoever takes it
	mu     sync.Mutex
	only   map[string]chan []byte // to the client of a node
	heard  chan []byte            // requests, as far as there is room
	ends   chan error             // with which it ends its stream
	freeze chan struct{}          // full: what is connected to it hears nothing
}

func newPlane(t *testing.T, first []byte) *plane {
	p := &plane{
		l: bufconn.Listen(1 << 16), out: make(chan []byte, 16), heard: make(chan []byte, 100), ends: make(chan error, 1), freeze: make(chan struct{}, 1),
	}
	if first != nil {
		p.out <- first
	}
	g := grpc.NewServer(replay.ServerOptions(func(_ any, ss grpc.ServerStream) error {
		var b []byte
		if path, _ := grpc.MethodFromServerStream(ss); path == health {
			return errors.New("never heard of it")
		}
		if err := ss.RecvMsg(&b); err != nil {
			return err
		}
		p.heard <- b
		path, _ := grpc.MethodFromServerStream(ss)
		only := make(chan []byte)
		if m := decode.Peek(xds.LookupMethod(path), session.Client, "", b); m.Node != nil {
			only = p.of(m.Node.ID)
		}
		go func() { // ends with the stream
			for b := range replay.Listen(ss.Context(), ss) {
				p.heard <- b
			}
		}()
		for {
			select {
			case err := <-p.ends:
				return err
			case b := <-only:
				if err := ss.SendMsg(&b); err != nil {
					return err
				}
			case b := <-p.out:
				if err := ss.SendMsg(&b); err != nil {
					return err
				}
			case <-ss.Context().Done():
				return nil
			}
		}
	})...)
	served := make(chan struct{})
	go func() { defer close(served); _ = g.Serve(p.l) }()
	t.Cleanup(func() { g.Stop(); <-served })
	return p
}

// of takes what is for the client of a node.
func (p *plane) of(node string) chan []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.only[node] == nil {
		if p.only == nil {
			p.only = map[string]chan []byte{}
		}
		p.only[node] = make(chan []byte, 16)
	}
	return p.only[node]
}

type freezing struct {
	net.Conn
	p *plane
}

func (f freezing) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.p.freeze <- struct{}{}
	<-f.p.freeze
	return n, err
}

func (p *plane) target(name string) Target {
	return Target{Name: name, Dial: func(ctx context.Context) (net.Conn, error) {
		c, err := p.l.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		return freezing{c, p}, nil
	}}
}

// trial is a shadow of one client, which asks for all clusters.
type trial struct {
	t       *testing.T
	entries chan session.Entry
	seq     session.Seq
	mu      sync.Mutex
	events  []Event
	sum     *Summary
	stop    context.CancelFunc
	over    chan struct{}
}

func (r *trial) Next(ctx context.Context) (e session.Entry, err error) {
	select {
	case e := <-r.entries:
		return e, nil
	case <-ctx.Done():
		return e, ctx.Err()
	}
}

func (r *trial) add(e session.Entry) {
	if e.Stream == 0 {
		e.Stream = 1
	}
	r.seq++
	time.Sleep(time.Millisecond) // of a bubble: it comes after what was there
	e.Seq, e.Conn, e.Time = r.seq, session.ConnID(e.Stream), time.Now()
	r.entries <- e
}

func (r *trial) say(side session.Side, data []byte) { r.sayOn(1, side, data) }

func (r *trial) sayOn(stream session.StreamID, side session.Side, data []byte) {
	r.add(session.Entry{Kind: session.KindMessage, Stream: stream, Side: side, Message: &session.Message{
		Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
	}})
}

func runs(o Options) func(context.Context, *trial) (*Summary, error) {
	return func(ctx context.Context, r *trial) (*Summary, error) {
		o.Event = r.event
		return Run(ctx, r, o)
	}
}

func startWith(t *testing.T, run func(context.Context, *trial) (*Summary, error)) *trial {
	ctx, stop := context.WithCancel(t.Context())
	r := &trial{t: t, entries: make(chan session.Entry), stop: stop, over: make(chan struct{})}
	go func() {
		defer close(r.over)
		var err error
		if r.sum, err = run(ctx, r); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { stop(); <-r.over })
	return r
}

func (r *trial) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func start(t *testing.T, o Options, first []byte) *trial {
	r := startWith(t, runs(o))
	r.add(session.Entry{Kind: session.KindConnect, Side: session.Client, Peer: &session.Peer{}})
	r.add(session.Entry{Kind: session.KindOpen, Side: session.Client, Method: "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"})
	r.say(session.Client, (&request{url: clusters, node: lenField(1, []byte("n1"))}).encode())
	r.say(session.Server, first)
	return r
}

func (r *trial) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.events {
		fmt.Fprintf(&b, "%s: %s\n", e.What, e.Text)
	}
	return b.String()
}

func (r *trial) until(what string) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(r.text(), what); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("no %q in\n%s", what, r.text())
		}
	}
}

func (r *trial) end() *Summary {
	r.stop()
	<-r.over
	return r.sum
}

// What a frozen target does not give is no difference. It is decided when the
// target lives again, or told as undecided.
func TestFrozen(t *testing.T) {
	for _, thaws := range []bool{true, false} {
		t.Run(fmt.Sprint(thaws), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t, response("1", "a"))
				r := start(t, Options{Target: p.target("B"), Idle: 10 * time.Second}, response("1", "a", "x"))
				r.until(`"x" of "n1": B does not give it`) // one that lives is not silent for want of life
				p.freeze <- struct{}{}
				thaw := sync.OnceFunc(func() { <-p.freeze })
				defer thaw()
				r.say(session.Server, response("2", "a", "x", "b"))
				r.until("B: it has not answered for ")
				if !thaws {
					r.stop()
					time.AfterFunc(2*lastWords, thaw) // else nothing that reads can be closed
					if sum := r.end(); len(sum.Differences) != 1 || len(sum.Undecided) != 1 || !strings.Contains(sum.Undecided[0], `CDS "b": not decided, since B did not answer`) {
						t.Errorf("%+v", sum)
					}
					return
				}
				thaw()
				r.until("B answers again")
				r.until(`"b" of "n1": B does not give it`)
				p.out <- response("2", "a", "b")
				r.until("both servers give the same")
				if sum := r.end(); len(sum.Differences) != 1 || len(sum.Undecided) != 0 {
					t.Errorf("%+v\n%s", sum, r.text())
				}
				if n := strings.Count(r.text(), "trouble"); n != 1 {
					t.Errorf("told %d times:\n%s", n, r.text())
				}
			})
		})
	}
}

// With a second instance that is away, what is unlike counts at the end.
func TestNoSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t, response("1", "a"))
		away := Target{Name: "A2", Dial: func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}}
		r := start(t, Options{Target: p.target("B"), Noise: &away, Idle: time.Minute}, response("1", "a", "b"))
		r.until("trouble")
		time.Sleep(2 * time.Second) // the time of what is not decided
		sum := r.end()
		if len(sum.Differences) != 1 || !strings.Contains(sum.Differences[0].Got, "A2 does not answer") || len(sum.Undecided) > 0 {
			t.Errorf("%+v\n%s", sum, r.text())
		}
		if !strings.Contains(r.text(), "cannot be reached") || strings.Contains(r.text(), "desc =") {
			t.Error(r.text())
		}
	})
}

// Of a target that gives nothing, or nothing that decodes, one thing is told.
func TestNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprint("c", i))
		}
		garbage := response("1")
		for range 30 {
			garbage = append(garbage, lenField(resourcesOfResponse, append(lenField(1, []byte("type.googleapis.com/no.such.Type")), lenField(2, []byte{0xff})...))...)
		}
		for _, c := range []struct {
			gives []byte
			want  string
		}{
			{response("1"), `CDS of "n1": B gives none of the 30 CDS resources`},
			{garbage, `CDS of "n1": B gives none of the 30 CDS resources; 30 that it sent do not decode as such`},
		} {
			r := start(t, Options{Target: newPlane(t, c.gives).target("B"), Idle: time.Minute}, response("1", names...))
			r.until(c.want)
			if sum := r.end(); len(sum.Differences) != 1 || sum.Differences[0].Streams != 1 || strings.Count(r.text(), "difference") != 1 {
				t.Errorf("%+v\n%s", sum, r.text())
			}
		}
	})
}

// cluster is a response with a cluster of this alt_stat_name and connect_timeout.
func cluster(stat string, seconds byte) []byte {
	c := append(lenField(1, []byte("a")), lenField(4, []byte{1 << 3, seconds})...)
	c = append(c, lenField(28, []byte(stat))...)
	out := append(lenField(versionOfResponse, []byte("1")), lenField(typeOfResponse, []byte(clusters))...)
	out = append(out, lenField(resourcesOfResponse, append(lenField(1, []byte(clusters)), lenField(2, c)...))...)
	return append(out, lenField(nonceOfResponse, []byte("1"))...)
}

// Noise is where the second instance and the live server differ. In what the target
// gives, another field counts beside it.
func TestNoiseIsOfTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := newPlane(t, cluster("second", 5)).target("A2")
		r := start(t, Options{Target: newPlane(t, cluster("target", 7)).target("B"), Noise: &second, Idle: time.Minute}, cluster("live", 5))
		r.until("B gives another content")
		sum := r.end()
		if len(sum.Differences) != 1 || !strings.Contains(r.text(), "alt_stat_name is noise") || strings.Contains(r.text(), "connect_timeout is noise") {
			t.Fatalf("%+v\n%s", sum, r.text())
		}
		if d := sum.Differences[0].Detail; !strings.Contains(d, "connect_timeout") || strings.Contains(d, "alt_stat_name") {
			t.Errorf("it differs in\n%s", d)
		}
	})
}

// Of contents that are too large to keep it is not known in which fields they differ, and whether that is noise.
func TestLargeContents(t *testing.T) {
	const unknown = `CDS "a": not known whether it is noise, since its contents were let go (more than 64 MiB of them)`
	large := func(c string) []byte { return cluster(strings.Repeat(c, mostBodies/8), 5) }
	synctest.Test(t, func(t *testing.T) {
		second := newPlane(t, large("s")).target("A2")
		r := start(t, Options{Target: newPlane(t, large("t")).target("B"), Noise: &second, Idle: time.Minute}, large("l"))
		r.until(unknown)
		if sum := r.end(); len(sum.Differences) != 0 || sum.Untold != 1 {
			t.Errorf("%+v\n%s", sum, r.text())
		}
		r = start(t, Options{Target: newPlane(t, large("t")).target("B"), Idle: time.Minute}, large("l"))
		r.until("B gives another content; in which fields is not known, since contents were let go")
		if sum := r.end(); len(sum.Differences) != 1 || sum.Untold != 0 {
			t.Errorf("%+v\n%s", sum, r.text())
		}
	})
}
