package e2e

import (
	"flag"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
)

var updates = flag.Int("updates", 40, "how many updates TestHealthyStaysSilent makes")

// effects reads a recording, which may still be written, and says what came of what
// Envoy was sent.
func effects(t *testing.T, path string, timers check.Timers) (*effect.Account, []check.Finding) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow(false)
	rules, unknown := check.Select([]string{"accepted-not-effective", "effective-not-sent"}, []string{"all"})
	if unknown != "" {
		t.Fatalf("no rule %q", unknown)
	}
	k := check.NewChecker(check.Options{Timers: timers, Rules: rules})
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		k.Step(&e)
	}
	return k.Effects(), k.Findings()
}

// impatient lets nothing warm for long.
func impatient() check.Timers {
	timers := check.DefaultTimers()
	timers.Warm = 1
	return timers
}

// butWarming leaves out that something was warming: without patience that is true of
// whatever the client was asked for in the moment after it had accepted it.
func butWarming(all []check.Finding) []check.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f check.Finding) bool {
		return f.Rule.ID == "accepted-not-effective" && strings.Contains(f.Message, "the client says that it is: warming")
	})
}

// askedScene is a scene of an Envoy that is asked what it holds.
func askedScene(t *testing.T, v variant, o func(bootstrap object), prepare func(m *mesh)) *scene {
	t.Helper()
	m := newMesh(t, v.source)
	if prepare != nil {
		prepare(m)
	}
	c := startControlPlaneAs(t, envoyNode, careful(v))
	c.set(t, m.world())
	admin := freeAddr(t)
	s := &scene{mesh: m, control: c, proxy: startProxyWith(t, c.Addr(), setup{args: []string{"--envoy-admin", admin, "--held-interval", "200ms"}})}
	text := envoyBootstrap(t, v, envoyNode, s.proxy.addr)
	text["admin"] = object{"address": addressFor(t, admin)}
	if o != nil {
		o(text)
	}
	e, path := launchEnvoyWith(t, text)
	e.await(t, path)
	s.envoy = e
	return s
}

// becomes waits until a resource is in a state.
func (s *scene) becomes(t *testing.T, typ, name string, want effect.State) (e effect.Effect) {
	t.Helper()
	eventually(t, typ+" "+name+" "+want.String(), func() bool {
		a, _ := effects(t, s.proxy.file, impatient())
		e, _ = a.Of(envoyNode, typ, name)
		return e.State == want
	})
	return e
}

func foundBy(all []check.Finding, rule string) (names []string) {
	for _, f := range all {
		if f.Rule.ID == rule {
			names = append(names, f.Names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// What became of what a real Envoy accepted is what it says itself.
func TestEffective(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			const hidden = "hidden"
			s := askedScene(t, v, func(bootstrap object) {
				static, _ := bootstrap["static_resources"].(object)
				static["listeners"] = []object{{
					"name": hidden, "address": addressFor(t, "127.0.0.1:0"),
					"filter_chains": []object{{"filters": []object{{
						"name":         "envoy.filters.network.tcp_proxy",
						"typed_config": object{"@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", "stat_prefix": "x", "cluster": xdsCluster},
					}}}},
				}}
			}, func(m *mesh) {
				m.certify("cert")
				m.secretCluster(t, "sealed", "cert")
				m.endpointsOf(t, "sealed", 1)
			})
			for _, of := range [][2]string{{"CDS", "web"}, {"EDS", "web"}, {"LDS", "ingress"}, {"RDS", "routes"}, {"CDS", "sealed"}, {"SDS", "cert"}} {
				e := s.becomes(t, of[0], of[1], effect.InEffect)
				if !e.Sent.Known() || !e.Accepted.Known() || !e.Effective.Known() {
					t.Errorf("%+v", e)
				}
			}

			// A change of routes, and of what they lead to.
			s.route("routes", "sealed")
			s.cluster("api", 1) // and no endpoints: it warms, for as long as it takes
			eds := s.clusters["api"].EdsClusterConfig
			eds.EdsConfig = proto.Clone(eds.EdsConfig).(*corev3.ConfigSource)
			eds.EdsConfig.InitialFetchTimeout = &durationpb.Duration{}
			s.listener(t, hidden, "routes")
			s.control.set(t, s.world())
			if e := s.becomes(t, "CDS", "api", effect.Warming); !slices.Contains(e.Waits, "EDS api") {
				t.Errorf("api waits for %q", e.Waits)
			}
			r := s.becomes(t, "RDS", "routes", effect.InEffect)
			if took, ok := r.Took(); !ok || took < 0 {
				t.Errorf("%+v", r)
			}
			// It cannot come in the place of a static listener. Envoy accepts it all the same.
			if e := s.becomes(t, "LDS", hidden, effect.Absent); !e.Accepted.Known() || e.Why != "there is a static one of this name" {
				t.Errorf("%+v", e)
			}
			// On a stream of its own a cluster is accepted before it is warm. On an aggregated
			// one Envoy says nothing of clusters until all are.
			a, _ := effects(t, s.proxy.file, impatient())
			if e, _ := a.Of(envoyNode, "CDS", "api"); v.ads() && e.Accepted.Known() {
				t.Errorf("%+v", e)
			}

			s.endpointsOf(t, "api", 1)
			delete(s.listeners, hidden)
			delete(s.listeners, "ingress")
			s.control.set(t, s.world())
			s.becomes(t, "CDS", "api", effect.InEffect)
			eventually(t, "the end of ingress", func() bool {
				a, _ := effects(t, s.proxy.file, impatient())
				e, is := a.Of(envoyNode, "LDS", "ingress")
				return !is || e.Removed && (e.State == effect.Draining || e.State == effect.InEffect)
			})
			_, all := effects(t, s.proxy.file, impatient())
			if got := foundBy(all, "accepted-not-effective"); !slices.Contains(got, hidden) || v.ads() && slices.Contains(got, "api") {
				t.Errorf("not in effect: %q", got)
			}
			if got := foundBy(all, "effective-not-sent"); len(got) > 0 {
				t.Errorf("never sent: %q", got)
			}
			s.close(t)
		})
	}
}

// An Envoy that cannot bind the port of a listener rejects it: what became of it is not
// left open, and it is not said to be accepted and not in effect.
func TestTakenPort(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := askedScene(t, v, nil, nil)
	s.becomes(t, "LDS", "ingress", effect.InEffect)
	l := xdstest.Listener("taken", taken.Addr().String(), "routes", v.source)
	s.listeners["taken"] = l
	s.control.set(t, s.world())
	if why := s.control.nack(t).Error; !strings.Contains(why, "taken") {
		t.Errorf("rejected with %q", why)
	}
	if e := s.becomes(t, "LDS", "taken", effect.Failed); !e.Rejected.Known() || e.Accepted.Known() {
		t.Errorf("%+v", e)
	}
	_, all := effects(t, s.proxy.file, impatient())
	if wrong := butWarming(all); len(wrong) > 0 || slices.Contains(foundBy(all, "accepted-not-effective"), "taken") {
		t.Errorf("%+v", all)
	}
	s.close(t)
}

// Of an Envoy to which nothing is done that is wrong nothing is said, however often it
// is changed, and in the end all is in effect.
func TestHealthyStaysSilent(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := askedScene(t, v, nil, func(m *mesh) {
				m.certify("cert")
				m.secretCluster(t, "sealed", "cert")
				m.endpointsOf(t, "sealed", 1)
			})
			s.control.rest(t, quiet)
			life := &life{mesh: s.mesh, random: rand.New(rand.NewPCG(7, uint64(*updates)))}
			for n := range *updates {
				what := life.step(t)
				if c := s.clusters["sealed"]; c != nil { // however it was changed, it has its certificate, which is renewed
					s.secretCluster(t, "sealed", "cert")
					s.clusters["sealed"].ConnectTimeout = c.ConnectTimeout
					if n%10 == 9 {
						s.certify("cert")
					}
				}
				s.control.pushThen(t, func() { s.control.set(t, s.world()) }, 50*time.Millisecond)
				if t.Failed() {
					t.Fatalf("update %d: %s", n+1, what)
				}
			}
			var left []string
			eventually(t, "all in effect", func() bool {
				a, _ := effects(t, s.proxy.file, check.DefaultTimers())
				left = nil
				n := 0
				for _, e := range a.Client(envoyNode) {
					if n++; e.State != effect.InEffect && !(e.Removed && e.State == effect.Draining) { // it drains for ten minutes
						left = append(left, e.Type+" "+e.Name+" "+e.State.String()+" "+e.Why)
					}
				}
				return n > 6 && len(left) == 0
			})
			a, all := effects(t, s.close(t), check.DefaultTimers())
			for _, f := range all {
				if strings.Contains(f.Rule.ID, "effective") {
					t.Errorf("%s: %s", f.Rule.ID, f.Message)
				}
			}
			if a.Forgotten() > 0 {
				t.Errorf("%d contents were forgotten", a.Forgotten())
			}
		})
	}
}
