package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// proxy is an xdsproxy beside a workload, and what it records.
type proxy struct {
	w       *world
	index   int
	cluster string
	name    string // of the proxy in the archive
	pod     string
	fault   string // that its first client has
	skew    time.Duration
	salt    uint32
	rng     *rand.Rand
	control *corev3.ControlPlane
	now     *state
	clients []*client
	truth   *truth
	done    bool // the fault has happened

	conns   uint64
	entries []session.Entry // of this step

	log   *recorder.Log
	path  string
	clock atomic.Int64 // of the log
	until time.Time    // the segment ends
	days  []string     // of the first entry of each segment
	fresh bool         // a segment has begun, and has no entry of its own
}

var agents = [...]struct {
	name, version string
	major, minor  uint32
	patch         uint32
}{
	{"envoy", "1.31.4", 1, 31, 4}, {"envoy", "1.33.0", 1, 33, 0}, {"envoy", "1.32.2", 1, 32, 2},
}

// oldEnvoy is the index in agents of the version that rejects what others take.
const oldEnvoy = 0

func newProxy(w *world, index int) *proxy {
	p := &proxy{w: w, index: index, rng: rand.New(rand.NewPCG(w.seed, uint64(index)+2)), now: w.start(), truth: newTruth()}
	p.cluster = "mesh-east"
	if index%5 > 2 {
		p.cluster = "mesh-west"
	}
	p.salt = p.rng.Uint32()
	p.skew = time.Duration(p.rng.IntN(8_000_000)-4_000_000) * time.Microsecond
	gateways, callers := max(4, w.proxies/10), max(2, w.proxies/10)
	of, number := sidecar, index-gateways
	switch {
	case index < gateways:
		of, number = gateway, index
	case index >= w.proxies-callers:
		of, number = grpcClient, index-(w.proxies-callers)
	}
	p.pod = fmt.Sprintf("%s-%04d-7d9c6f5b84-%s", [...]string{"storefront-gateway", "checkout-backend", "reports-job"}[of], index, suffix(p.rng))
	p.name = p.pod
	p.control = &corev3.ControlPlane{Identifier: fmt.Sprintf(`{"Component":"istiod","ID":"istiod-%d","Info":{"version":"1.24.1"}}`, index%3)}
	c := &client{p: p, of: of, delta: number%2 == 1, agent: "grpc-c++/1.66", held: make(map[string]map[string]int), accepted: make(map[string]string), frozen: make(map[string]bool)}
	if w.faults {
		p.plant(c, of, number)
	}
	agent := 1 + index%2
	if of == gateway && number < 3 {
		agent = oldEnvoy
	}
	c.node = p.node(of, agent)
	if of == grpcClient {
		c.agent = "grpc-go/1.66.0"
	}
	if p.fault == "" {
		for range 2 {
			c.again = append(c.again, 5+p.rng.IntN(w.steps-10))
		}
	}
	p.clients = append(p.clients, c)
	if w.faults {
		p.plantMore(of, number)
	}
	return p
}

func suffix(rng *rand.Rand) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, 5)
	for i := range out {
		out[i] = letters[rng.IntN(len(letters))]
	}
	return string(out)
}

func (p *proxy) node(of kind, agent int) *corev3.Node {
	text := structpb.NewStringValue
	role := [...]string{"router", "sidecar", "grpc"}[of]
	n := &corev3.Node{
		Id:      fmt.Sprintf("%s~10.%d.%d.%d~%s.shop-production-tenant~shop-production-tenant.svc.cluster.local", role, p.index>>8, p.index&255, 10+of, p.pod),
		Cluster: strings.SplitN(p.pod, "-7d9c", 2)[0] + ".shop-production-tenant",
		Locality: &corev3.Locality{
			Region: "eu-west-1", Zone: "eu-west-1" + string(rune('a'+p.index%3)),
		},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			"CLUSTER_ID": text(p.cluster), "ISTIO_VERSION": text("1.24.1"), "NAME": text(p.pod), "NAMESPACE": text("shop-production-tenant"),
			"MESH_ID": text("cluster.local"), "WORKLOAD_NAME": text(strings.SplitN(p.pod, "-7d9c", 2)[0]), "PILOT_SAN": text("istiod.istio-system.svc"),
			"PROXY_CONFIG": text(strings.Repeat("concurrency=2;drainDuration=45s;", 8)),
		}},
	}
	if of == grpcClient {
		n.UserAgentName, n.UserAgentVersionType = "gRPC Go", &corev3.Node_UserAgentVersion{UserAgentVersion: "1.66.0"}
		n.ClientFeatures = []string{"envoy.lb.does_not_support_overprovisioning", "xds.config.resource-in-sotw"}
		return n
	}
	a := agents[agent]
	n.UserAgentName = a.name
	n.UserAgentVersionType = &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: buildVersion(a.major, a.minor, a.patch)}
	return n
}

func (p *proxy) resourceVersion(rev int) string {
	return fmt.Sprintf("%s/%d", p.w.timeOf(rev%override).Format("20060102T150405Z"), rev)
}

// latency is how long a client takes to answer: some milliseconds, and now and then
// long.
func (p *proxy) latency(typ string) time.Duration {
	base := map[string]float64{"CDS": 40, "EDS": 6, "LDS": 60, "RDS": 12, "SDS": 3}[typ]
	ms := base * (0.5 + p.rng.ExpFloat64())
	if p.rng.IntN(200) == 0 {
		ms *= 15
	}
	return time.Duration(min(ms, 7000)*1000) * time.Microsecond
}

func (p *proxy) nextConn() (session.ConnID, session.StreamID) {
	p.conns++
	return session.ConnID(p.conns), session.StreamID(p.conns)
}

func (p *proxy) add(at time.Time, e session.Entry) {
	e.Time = at.Add(p.skew)
	p.entries = append(p.entries, e)
}

// run plays the day.
func (p *proxy) run(dir string) error {
	if err := p.record(dir, 0); err != nil {
		return err
	}
	for step := range p.w.steps {
		var changes []change
		if step > 0 {
			changes = p.now.next()
		}
		at := p.w.timeOf(step).Add(time.Duration(200+p.rng.IntN(1500)) * time.Millisecond)
		for _, c := range p.clients {
			p.play(c, step, at, changes)
		}
		if err := p.write(step); err != nil {
			return err
		}
		switch restart := p.w.at(0.5); {
		case p.fault == "restarts" && step == restart:
			if err := p.finish(); err != nil {
				return err
			}
		case p.fault == "restarts" && step == restart+2:
			p.conns = 0
			if err := p.record(dir, step+1); err != nil {
				return err
			}
		}
	}
	return p.finish()
}

// play is what a client does between two pushes.
func (p *proxy) play(c *client, step int, at time.Time, changes []change) {
	soon := p.w.timeOf(step).Add(8*time.Second + time.Duration(p.rng.IntN(4_000_000))*time.Microsecond)
	switch {
	case p.away(step):
		if c.subs != nil {
			c.leave(at, session.Client)
		}
		return
	case c.special(step, at):
		return
	case c.subs == nil:
		c.connect(soon)
		return
	}
	c.step(at, changes)
	c.afterwards(step, soon)
	if slices.Contains(c.again, step) {
		c.leave(soon.Add(10*time.Second), session.Client)
		c.connect(soon.Add(11 * time.Second))
	}
}

// away says whether the workload is not there: one is drained, one restarts with its
// proxy.
func (p *proxy) away(step int) bool {
	switch p.fault {
	case "leaves":
		return step >= p.w.at(0.4) && step < p.w.at(0.45)
	case "restarts":
		return step >= p.w.at(0.5) && step < p.w.at(0.5)+3
	}
	return false
}

// record begins a recording.
func (p *proxy) record(dir string, step int) error {
	at := p.w.timeOf(step).Add(p.skew)
	p.clock.Store(at.UnixNano())
	p.until = p.w.timeOf(step).Add(p.w.segment)
	p.path = filepath.Join(dir, fmt.Sprintf("%s-%s-%08x.xdsp", p.name, at.Format("20060102T150405Z"), p.salt^uint32(step)))
	o := store.Live(true, func(session.Chunks) {})
	carry, transform := engine.New(engine.Options{Envelopes: true, Past: 1 << 20}), o.Transform
	o.Transform = func(e *session.Entry) {
		transform(e)
		carry.Step(e)
	}
	o.Carry = carry.Needed
	o.Program, o.MaxAge, o.NoTicks, o.SyncEvery, o.Tail = "fleetday", p.w.segment, true, -1, -1
	o.Now = func() time.Time { return time.Unix(0, p.clock.Load()).UTC() }
	p.days, p.fresh = nil, true
	for _, c := range p.clients {
		c.shown = make(map[change]int)
	}
	log, err := recorder.Create(p.path, o)
	p.log = log
	return err
}

// write appends what happened in a step, in the order of time.
func (p *proxy) write(step int) error {
	if p.log == nil {
		return nil
	}
	slices.SortStableFunc(p.entries, func(a, b session.Entry) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	for _, e := range p.entries {
		if p.fresh {
			p.fresh = false
			p.days = append(p.days, e.Time.UTC().Format(time.DateOnly))
		}
		p.log.Append(e)
	}
	p.truth.entries += len(p.entries)
	clear(p.entries)
	p.entries = p.entries[:0]
	if next := p.w.timeOf(step + 1); !next.Before(p.until) && step+1 < p.w.steps {
		p.until = next.Add(p.w.segment)
		return p.rotate(next.Add(p.skew))
	}
	if step%64 == 63 {
		p.drain()
	}
	return nil
}

// drain waits until the log has written everything.
func (p *proxy) drain() {
	for p.log.Stats().Queued > 0 {
		time.Sleep(time.Millisecond)
	}
}

// rotate ends a segment: everything is written, then the clock goes on, and the log
// writes that much time has passed, as it does when nothing else happens.
func (p *proxy) rotate(at time.Time) error {
	p.drain()
	p.clock.Store(at.UnixNano())
	p.log.Append(session.Entry{Time: at, Kind: session.KindTime, Side: session.Proxy})
	p.truth.entries++
	older := fmt.Sprintf("%s.%06d.xdsp", strings.TrimSuffix(p.path, ".xdsp"), len(p.days))
	p.fresh = true
	for range 10_000 {
		if _, err := os.Stat(older); err == nil {
			return nil
		}
		if s := p.log.Stats(); s.Queued == 0 && s.Failing {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s begins no other segment", p.path)
}

// finish ends the recording, and puts its segments where an archive has them.
func (p *proxy) finish() error {
	if p.log == nil {
		return nil
	}
	err := p.log.Close()
	s := p.log.Stats()
	if err == nil && s.Lost > 0 {
		err = fmt.Errorf("%d entries of %s were lost", s.Lost, p.path)
	}
	p.log = nil
	if err != nil {
		return err
	}
	p.truth.archived(s)
	return p.archive()
}

// archive moves the segments of the recording to where an archive has them, below
// the day of their first entry.
func (p *proxy) archive() error {
	stem := strings.TrimSuffix(p.path, ".xdsp")
	for i, day := range p.days {
		from := fmt.Sprintf("%s.%06d.xdsp", stem, i+1)
		if i == len(p.days)-1 {
			from = p.path
		}
		to := filepath.Join(p.w.dir, "cluster="+p.cluster, "date="+day, "proxy="+p.name)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		name := fmt.Sprintf("%s.%06d.xdsp", strings.TrimPrefix(filepath.Base(stem), p.name+"-"), i+1)
		if err := os.Rename(from, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}
