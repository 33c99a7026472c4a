package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldEntries are the held entries of a recording, which may still be written.
func heldEntries(t *testing.T, path string) (all []session.Entry) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow(false)
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == session.KindHeld {
			all = append(all, e)
		}
	}
	return all
}

// holding is what a client holds, as all held entries say together: by type and name,
// the states.
type holding map[string][]string

// holdings reads held entries, and whose they are.
func holdings(t *testing.T, all []session.Entry) (h holding, node string) {
	t.Helper()
	h = holding{}
	for _, e := range all {
		if e.Message == nil {
			continue
		}
		var said statusv3.ClientStatusResponse
		if err := proto.Unmarshal(e.Message.Data.Bytes(), &said); err != nil || len(said.Config) != 1 {
			t.Fatalf("entry %d: %v, %d configs", e.Seq, err, len(said.Config))
		}
		if e.Held.Whole {
			h = holding{}
		}
		node = said.Config[0].Node.GetId()
		if node != e.Held.Node {
			t.Errorf("entry %d is of %q, and has %q", e.Seq, e.Held.Node, node)
		}
		met := holding{}
		for _, g := range said.Config[0].GenericXdsConfigs {
			name := g.TypeUrl[strings.LastIndexByte(g.TypeUrl, '.')+1:] + " " + g.Name
			state := g.ClientStatus.String()
			if g.XdsConfig == nil {
				state += " without"
			}
			if g.IsStaticResource {
				state += " static"
			}
			met[name] = append(met[name], state)
		}
		for name, states := range met {
			if delete(h, name); !slices.Equal(states, []string{"DOES_NOT_EXIST without"}) {
				slices.Sort(states)
				h[name] = states
			}
		}
	}
	return h, node
}

var metricsAt = regexp.MustCompile(`health and metrics on (\S+)`)

// askedOf is how often the proxy has asked clients so far.
func askedOf(t *testing.T, url string) int {
	t.Helper()
	text, err := get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^xdsproxy_held_asked_total (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no count in\n%s", text)
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// What an Envoy holds is in the recording: all of it once, then what changed, and
// nothing where nothing changes. No private key is in it.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t, v.source)
			m.certify("web-cert")
			m.secretCluster(t, "sealed", "web-cert")
			m.endpointsOf(t, "sealed", 1)
			c := startControlPlaneAs(t, envoyNode, careful(v))
			c.set(t, m.world())
			admin := freeAddr(t)
			p := startProxyWith(t, c.Addr(), setup{args: []string{"--envoy-admin", envoyNode + "=" + admin, "--held-interval", "200ms", "--admin", "127.0.0.1:0"}})
			eventually(t, "that nobody listens", func() bool {
				all := heldEntries(t, p.file)
				return len(all) == 1 && all[0].Held.Failed == "nobody listens there" && all[0].Message == nil
			})
			text := envoyBootstrap(t, v, envoyNode, p.addr)
			text["admin"] = object{"address": addressFor(t, admin)}
			e, path := launchEnvoyWith(t, text)
			e.await(t, path)
			has := func(what string, want map[string]string) {
				t.Helper()
				eventually(t, what, func() bool {
					h, _ := holdings(t, heldEntries(t, p.file))
					for name, states := range want {
						if strings.Join(h[name], ", ") != states {
							return false
						}
					}
					return true
				})
			}
			has("what it holds at first", map[string]string{
				"Cluster " + xdsCluster: "ACKED static", "Cluster sealed": "ACKED", "ClusterLoadAssignment sealed": "ACKED", "Cluster web": "ACKED",
				"Listener ingress": "ACKED", "RouteConfiguration routes": "ACKED", "Secret web-cert": "ACKED", "UnreadyTargetsDumps init_dump": "",
			})
			m.cluster("api", 1) // and no endpoints: it warms
			c.set(t, m.world())
			has("a cluster that warms", map[string]string{"Cluster api": "REQUESTED", "Cluster web": "ACKED"})
			m.endpointsOf(t, "api", 1)
			delete(m.clusters, "sealed")
			delete(m.endpoints, "sealed")
			c.set(t, m.world())
			has("the end of it", map[string]string{"Cluster api": "ACKED", "Cluster sealed": "", "ClusterLoadAssignment sealed": ""})
			c.settle(t)

			// From some look on nothing changes any more.
			url := p.stderr.find(t, metricsAt, p.exited)[1]
			still := func() bool {
				before, n := len(heldEntries(t, p.file)), askedOf(t, url)
				eventually(t, "more looks", func() bool { return askedOf(t, url) >= n+5 })
				return len(heldEntries(t, p.file)) == before
			}
			eventually(t, "rest", still)
			e.stop(t)
			eventually(t, "that it is gone", func() bool {
				all := heldEntries(t, p.file)
				return all[len(all)-1].Held.Failed != ""
			})
			p.stop(t)
			checkHeld(t, p.file, admin)
		})
	}
}

// checkHeld holds the held entries of a recording against what they promise.
func checkHeld(t *testing.T, file, admin string) {
	t.Helper()
	all := heldEntries(t, file)
	wholes, changes := 0, 0
	broken := true
	for _, e := range all {
		h := e.Held
		if h.Source != session.HeldAdmin || h.Address != admin || e.Side != session.Client || e.Conn != 0 || (h.Failed != "") != (e.Message == nil) {
			t.Errorf("entry %d is %+v", e.Seq, h)
		}
		switch {
		case h.Failed != "":
			broken = true
		case h.Whole:
			broken = false
			wholes++
		case broken:
			t.Errorf("entry %d tells of changes, and nothing of which", e.Seq)
		default:
			changes++
		}
		if e.Message != nil && (h.Node != envoyNode || e.Start.IsZero() || e.Start.After(e.Time)) {
			t.Errorf("entry %d is of %q, %s to %s", e.Seq, h.Node, e.Start, e.Time)
		}
	}
	if wholes == 0 || changes < 2 {
		t.Errorf("%d whole entries and %d changes", wholes, changes)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Message != nil {
			data = append(data, e.Message.Data.Bytes()...)
		}
	}
	if strings.Contains(string(data), "PRIVATE KEY") {
		t.Error("a private key is in the recording")
	}
}

// The admin endpoint that the bootstrap names is asked without a word.
func TestHeldByWrap(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			path := tool(t, "envoy", "envoy", "_bin", "envoy")
			v := variants()[0]
			m := newMesh(t, v.source)
			c := startControlPlaneAs(t, envoyNode, careful(v))
			c.set(t, m.world())
			admin, dir := freeAddr(t), t.TempDir()
			text := envoyBootstrap(t, v, envoyNode, c.Addr())
			text["admin"] = object{"address": addressFor(t, admin)}
			config, at := filepath.Join(dir, "envoy.json"), filepath.Join(dir, "admin")
			writeBootstrap(t, config, text)
			args := []string{path, "-c", config, "--admin-address-path", at, "--concurrency", "1", "--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning"}
			if on {
				args = append([]string{"--held-interval", "200ms"}, args...)
			} else {
				args = append([]string{"--held-interval", "off"}, args...)
			}
			p, out := startWrap(t, nil, args...)
			e := &envoy{output: out, exited: p.exited}
			e.await(t, at)
			if on {
				eventually(t, "what it holds", func() bool {
					h, node := holdings(t, heldEntries(t, p.file))
					return node == envoyNode && len(h["Listener ingress"]) > 0 && len(h["Cluster web"]) > 0
				})
			}
			c.settle(t)
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := p.ended(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if all := heldEntries(t, p.file); on != (len(all) > 0) {
				t.Errorf("%d held entries", len(all))
			}
		})
	}
}
