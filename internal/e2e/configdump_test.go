package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldDiff is what diff -o json says of a config_dump.
type heldDiff struct {
	Client string `json:"client"`
	Same   bool   `json:"same"`
	Types  []struct {
		Type string `json:"type"`
		Same int    `json:"same"`
	} `json:"types"`
	Resources []struct {
		Type, Name, State, Why string
		Difference             bool
		Changes                []struct{ Path string }
	} `json:"resources"`
}

// states are "TYPE name state" of what is not simply the same.
func (d *heldDiff) states() (out []string) {
	for _, r := range d.Resources {
		out = append(out, r.Type+" "+r.Name+" "+r.State)
	}
	return out
}

func (d *heldDiff) same() (n int) {
	for _, t := range d.Types {
		n += t.Same
	}
	return n
}

// playedDump is the end of a replay that compares.
func (r *replaying) playedDump(t *testing.T) (int, replayReport, heldDiff) {
	t.Helper()
	code, report := r.end(t)
	var facts struct {
		ConfigDump heldDiff `json:"config_dump"`
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &facts); err != nil {
		t.Fatal(err)
	}
	return code, report, facts.ConfigDump
}

// replayDumped plays a recording to a fresh Envoy, and compares what that holds
// then.
func replayDumped(t *testing.T, v variant, recording string, args ...string) (*replaying, *envoy) {
	t.Helper()
	admin := freeAddr(t)
	r := startReplay(t, recording, append([]string{"--as", "server", "--listen", freeAddr(t), "--compare-config-dump=" + admin}, args...)...)
	bootstrap := envoyBootstrap(t, v, envoyNode, r.addr)
	bootstrap["admin"] = object{"address": addressFor(t, admin)}
	e, _ := launchEnvoyWith(t, bootstrap)
	e.admin = admin
	return r, e
}

// An Envoy holds what it accepted, in every variant; what it rejected is named, and
// is no difference.
func TestCompareConfigDump(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			r, _ := replayDumped(t, v, rejectedSession(t, v))
			code, report, d := r.playedDump(t)
			if code != 0 || len(report.Differences) > 0 || !d.Same || d.Client != envoyNode || !slices.Equal(d.states(), []string{"CDS bad rejected"}) {
				t.Errorf("exit code %d, %+v, %+v", code, report, d)
			}
			if d.same() < 6 { // a listener, routes, two clusters and their endpoints
				t.Errorf("only %d were compared", d.same())
			}
		})
	}
}

// Where the session goes on behind what Envoy holds, or Envoy holds what did not come
// in it, that is what is said, and nothing else.
func TestDiffConfigDump(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) { m.certify("web-cert") })
			for _, name := range []string{"api", "pay", "ship"} {
				s.cluster(name, 1)
				s.endpointsOf(t, name, 2)
			}
			s.secretCluster(t, "sealed", "web-cert")
			s.endpointsOf(t, "sealed", 1)
			s.push(t)
			var dump string
			eventually(t, "the clusters", func() bool {
				var err error
				dump, err = get("http://" + s.envoy.admin + "/config_dump?include_eds")
				return err == nil && strings.Contains(dump, `"dynamic_active_secrets"`) && !strings.Contains(dump, "warming")
			})
			recording := s.close(t)
			code, d := diffDump(t, recording, dump)
			if code != 0 || !d.Same || len(d.Resources) > 0 || d.same() < 13 {
				t.Fatalf("exit code %d, %+v", code, d)
			}
			imported := filepath.Join(t.TempDir(), "held.xdsp")
			file := filepath.Join(t.TempDir(), "config_dump.json")
			if err := os.WriteFile(file, []byte(dump), 0o600); err != nil {
				t.Fatal(err)
			}
			said(t, "import", file, "-w", imported)
			var again heldDiff
			if err := json.Unmarshal(said(t, "diff", recording, imported, "-o", "json"), &again); err != nil || !again.Same || again.same() != d.same() {
				t.Errorf("of the imported dump: %v, %+v", err, again)
			}
			var tree object
			if err := json.Unmarshal([]byte(dump), &tree); err != nil {
				t.Fatal(err)
			}
			spoil(t, tree)
			edited, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			code, d = diffDump(t, recording, string(edited))
			want := []string{"CDS api not-held", "CDS pay differs", "CDS ship warming", "CDS stray not-sent", "EDS pay differs", "EDS ship unknown"}
			if got := d.states(); code != 11 || d.Same || !slices.Equal(got, want) {
				t.Errorf("exit code %d, %q, want %q", code, got, want)
			}
			for _, r := range d.Resources {
				if r.State == "differs" && (len(r.Changes) != 1 || r.Changes[0].Path != "connect_timeout" && !strings.HasSuffix(r.Changes[0].Path, "[address=127.0.0.1:9001].load_balancing_weight")) {
					t.Errorf("%s %s differs in %+v", r.Type, r.Name, r.Changes)
				}
			}
		})
	}
}

// spoil edits a dump by hand: one cluster is gone, one has another timeout and its
// endpoints another weight, one warms, and one was never sent.
func spoil(t *testing.T, dump object) {
	t.Helper()
	for _, c := range dump["configs"].([]any) {
		section := c.(object)
		if list, is := section["dynamic_active_clusters"].([]any); is {
			var kept, warming []any
			for _, e := range list {
				cluster := e.(object)["cluster"].(object)
				switch cluster["name"] {
				case "api":
					copied, err := json.Marshal(e)
					if err != nil {
						t.Fatal(err)
					}
					var stray object
					if err := json.Unmarshal([]byte(strings.ReplaceAll(string(copied), `"api"`, `"stray"`)), &stray); err != nil {
						t.Fatal(err)
					}
					stray["cluster"].(object)["eds_cluster_config"].(object)["service_name"] = "api"
					e = stray
				case "pay":
					cluster["connect_timeout"] = "7s"
				case "ship":
					warming = append(warming, e)
					continue
				}
				kept = append(kept, e)
			}
			section["dynamic_active_clusters"], section["dynamic_warming_clusters"] = kept, warming
		}
		list, _ := section["dynamic_endpoint_configs"].([]any)
		var kept []any
		for _, e := range list {
			of := e.(object)["endpoint_config"].(object)
			switch of["cluster_name"] {
			case "ship":
				continue // not dumped while the cluster is warming
			case "pay":
				of["endpoints"].([]any)[0].(object)["lb_endpoints"].([]any)[0].(object)["load_balancing_weight"] = 9
			}
			kept = append(kept, e)
		}
		if list != nil {
			section["dynamic_endpoint_configs"] = kept
		}
	}
}

func diffDump(t *testing.T, recording, dump string) (code int, d heldDiff) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config_dump.json")
	if err := os.WriteFile(file, []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t), "diff", recording, file, "-o", "json", "--exit-code")
	cmd.Env = quietEnv(t)
	out, err := cmd.Output()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return code, d
}

// Listeners that cannot have their addresses on this machine are put where they
// can, said, and accepted; one that does not bind stays as it was.
func TestReplayMovesListeners(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				m.listener(t, "busy", "routes")
				m.listener(t, "virtual", "routes")
				for _, name := range []string{"busy", "virtual"} {
					place(t, m.listeners[name], freeAddr(t))
				}
				m.listeners["virtual"].BindToPort = wrapperspb.Bool(false)
			})
			s.listeners["busy"].ListenerFiltersTimeout = durationpb.New(7e9) // it comes again
			s.push(t)
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			at := map[string]string{"ingress": "10.1.2.3:80", "busy": taken.Addr().String(), "virtual": "10.9.9.9:15001"}
			elsewhere := filepath.Join(t.TempDir(), "elsewhere.xdsp")
			withListeners(t, s.close(t), elsewhere, func(l *listenerv3.Listener) {
				place(t, l, at[l.Name])
			})
			r, e := replayDumped(t, v, elsewhere, "-w", filepath.Join(t.TempDir(), "again.xdsp"))
			eventually(t, "Envoy's admin endpoint", func() bool { _, err := get("http://" + e.admin + "/ready"); return err == nil })
			code, report, d := r.playedDump(t)
			if code != 0 || len(report.Differences) > 0 || !d.Same {
				t.Errorf("exit code %d, %+v, %+v", code, report, d)
			}
			said := strings.Join(report.Notes, "\n")
			for name, why := range map[string]string{"ingress": at["ingress"] + " is no address of this machine", "busy": at["busy"] + " is in use"} {
				if !strings.Contains(said, fmt.Sprintf("listener %q is sent with the address 127.0.0.1:", name)) || strings.Count(said, why) != 1 {
					t.Errorf("of %s the notes say %q", name, said)
				}
			}
			dump, err := get("http://" + e.admin + "/config_dump")
			if err != nil || strings.Contains(said, "virtual") || !strings.Contains(dump, "10.9.9.9") || strings.Contains(dump, "10.1.2.3") {
				t.Errorf("%v; the notes say %q", err, said)
			}
		})
	}
}

// place puts a listener at an address.
func place(t *testing.T, l *listenerv3.Listener, addr string) {
	t.Helper()
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	to := l.Address.GetSocketAddress()
	to.Address, to.PortSpecifier = at.Addr().String(), &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port())}
}

// withListeners copies a recording with other listeners.
func withListeners(t *testing.T, from, to string, change func(*listenerv3.Listener)) {
	t.Helper()
	out, err := recorder.Create(to, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	edit := func(a *anypb.Any) {
		var l listenerv3.Listener
		if a.UnmarshalTo(&l) != nil {
			return
		}
		change(&l)
		changed++
		if err := a.MarshalFrom(&l); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range recordertest.Entries(t, from) {
		if e.Kind == session.KindMessage && e.Side == session.Server {
			var sotw discovery.DiscoveryResponse
			var delta discovery.DeltaDiscoveryResponse
			var m proto.Message = &sotw
			before := changed
			if proto.Unmarshal(e.Message.Data.Bytes(), &delta) == nil {
				for _, r := range delta.Resources {
					edit(r.GetResource())
				}
				m = &delta
			}
			if changed == before && proto.Unmarshal(e.Message.Data.Bytes(), &sotw) == nil {
				for _, r := range sotw.Resources {
					edit(r)
				}
				m = &sotw
			}
			if changed > before {
				data, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				message := *e.Message
				message.Data, message.Size = session.Chunks{data}, int64(len(data))
				e.Message = &message
			}
		}
		out.Append(e)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if changed == 0 {
		t.Fatal("the recording has no listener")
	}
}
