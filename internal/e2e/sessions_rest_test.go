package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// refresh is how long an Envoy waits at least between two polls; it waits up to
// twice as long.
const refresh = time.Second

// pollingVariant is an Envoy that polls.
func pollingVariant() variant {
	of := object{"resource_api_version": "V3", "api_config_source": object{
		"api_type": "REST", "transport_api_version": "V3", "cluster_names": []string{xdsCluster},
		"refresh_delay": refresh.String(), "request_timeout": "5s",
	}}
	return variant{
		name:    "rest",
		dynamic: object{"cds_config": of, "lds_config": of},
		source: &corev3.ConfigSource{
			ResourceApiVersion: corev3.ApiVersion_V3,
			ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
				ApiType: corev3.ApiConfigSource_REST, TransportApiVersion: corev3.ApiVersion_V3, ClusterNames: []string{xdsCluster},
				RefreshDelay: durationpb.New(refresh), RequestTimeout: durationpb.New(5 * time.Second),
			}},
		},
	}
}

// polled is go-control-plane lagging REST, an Envoy that polls it, and the proxy
// between them.
type polled struct {
	*mesh
	cache    cache.SnapshotCache
	versions map[string]int // by type URL
	proxy    *proxy
	envoy    *envoy

	mu     sync.Mutex
	begun  time.Time       // when the mesh changed last
	latest map[string]poll // by path and names
}

// poll is what a client asked for last.
type poll struct {
	path, version string
	at            time.Time
}

// answerer replies to a poll.
type answerer func(w http.ResponseWriter, r *http.Request, body []byte)

// openPolled starts all three, when change has said how the server differs from
// go-control-plane's.
func openPolled(t *testing.T, change func(s *polled, next answerer) answerer) *polled {
	t.Helper()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	v := pollingVariant()
	s := &polled{
		mesh: newMesh(t, v.source), cache: cache.NewSnapshotCache(false, cache.IDHash{}, nil),
		versions: map[string]int{}, latest: map[string]poll{},
	}
	s.set(t, cds, eds, lds, rds)
	gateway := server.HTTPGateway{Server: server.NewServer(t.Context(), s.cache, nil)}
	answer := func(w http.ResponseWriter, r *http.Request, body []byte) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		reply, code, err := gateway.ServeHTTP(r)
		if err != nil {
			reply = []byte(err.Error())
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(reply)
	}
	if change != nil {
		answer = change(s, answer)
	}
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.note(r.URL.Path, body)
		answer(w, r, body)
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)

	s.proxy = startProxy(t, h.Listener.Addr().String())
	text := envoyBootstrap(t, v, envoyNode, s.proxy.addr)
	hideAddress(text)
	e, admin := launchEnvoyWith(t, text)
	e.await(t, admin)
	s.envoy = e
	s.settle(t)
	return s
}

// hideAddress lets an Envoy leave out of its polls the address of the machine.
func hideAddress(bootstrap object) {
	const filters = "type.googleapis.com/envoy.extensions.filters.http."
	xds := bootstrap["static_resources"].(object)["clusters"].([]object)[0]
	for _, options := range xds["typed_extension_protocol_options"].(object) {
		options.(object)["http_filters"] = []object{
			{"name": "envoy.filters.http.header_mutation", "typed_config": object{
				"@type":     filters + "header_mutation.v3.HeaderMutation",
				"mutations": object{"request_mutations": []object{{"remove": "x-forwarded-for"}}},
			}},
			{"name": "envoy.filters.http.upstream_codec", "typed_config": object{"@type": filters + "upstream_codec.v3.UpstreamCodec"}},
		}
	}
}

func (s *polled) note(path string, body []byte) {
	var asked struct {
		Version string   `json:"version_info"`
		Names   []string `json:"resource_names"`
	}
	if json.Unmarshal(body, &asked) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest[path+" "+strings.Join(asked.Names, " ")] = poll{path, asked.Version, time.Now()}
}

// set makes the mesh as it is now known, with new versions of some types.
func (s *polled) set(t *testing.T, typeURLs ...string) {
	t.Helper()
	w := s.world()
	snapshot, err := cache.NewSnapshot("", map[resource.Type][]types.Resource{
		cds: items(w.Clusters), eds: items(w.Endpoints), lds: items(w.Listeners), rds: items(w.Routes),
		resource.SecretType: items(w.Secrets),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, typeURL := range typeURLs {
		s.versions[typeURL]++
	}
	for typeURL, n := range s.versions {
		snapshot.Resources[cache.GetResponseType(typeURL)].Version = strconv.Itoa(n)
	}
	if err := s.cache.SetSnapshot(t.Context(), envoyNode, snapshot); err != nil {
		t.Fatal(err)
	}
	s.begun = time.Now()
}

func items[T types.Resource](list []T) (out []types.Resource) {
	for _, r := range list {
		out = append(out, r)
	}
	return out
}

// push is set, and waits until Envoy has it all.
func (s *polled) push(t *testing.T, typeURLs ...string) {
	t.Helper()
	s.set(t, typeURLs...)
	s.settle(t)
}

// settle waits until what is polled for is polled for with the version that
// there is.
func (s *polled) settle(t *testing.T) {
	t.Helper()
	eventually(t, "polls with the present versions", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		asked := map[string]bool{}
		for _, p := range s.latest {
			typeURL := pathTypes()[p.path]
			// What was not polled for in two rounds is no longer wanted.
			if p.at.Before(s.begun) || time.Since(p.at) > 4*refresh {
				continue
			}
			if asked[typeURL] = true; p.version != strconv.Itoa(s.versions[typeURL]) {
				return false
			}
		}
		return len(asked) == len(s.versions) && time.Since(s.begun) > 4*refresh
	})
}

func pathTypes() map[string]string {
	return map[string]string{resource.FetchClusters: cds, resource.FetchEndpoints: eds, resource.FetchListeners: lds, resource.FetchRoutes: rds, resource.FetchSecrets: resource.SecretType}
}

// close ends Envoy first, and returns the recording.
func (s *polled) close(t *testing.T) string {
	t.Helper()
	s.envoy.stop(t)
	time.Sleep(quiet)
	s.proxy.stop(t)
	return s.proxy.file
}

// lagging is the node by whose name go-control-plane knows what the second
// replica has.
const lagging = "lagging"

// announced is the version that a poll says it has.
var announced = regexp.MustCompile(`"version_info":"[^"]*",?`)

func restSessions() []recordedSession {
	return []recordedSession{
		{
			name: "rest-envoy",
			story: "Envoy polls go-control-plane by REST, every second or two. A cluster is added, then a route to it;\n" +
				"endpoints change. Then nothing happens for a while.",
			record: func(t *testing.T) string {
				s := openPolled(t, nil)
				s.cluster("api", 1)
				s.endpointsOf(t, "api", 2)
				s.push(t, cds, eds)
				s.route("routes", "api")
				s.push(t, rds)
				s.endpointsOf(t, "web", 2)
				s.push(t, eds)
				time.Sleep(4 * refresh)
				return s.close(t)
			},
		},
		{
			name:  "rest-secrets",
			story: "Envoy polls for clusters, and for the certificate of one of them, which is renewed once.",
			record: func(t *testing.T) string {
				s := openPolled(t, nil)
				s.secretCluster(t, "payments", "payments-cert")
				s.endpointsOf(t, "payments", 1)
				s.certify("payments-cert")
				s.set(t, cds, eds, resource.SecretType)
				time.Sleep(3 * refresh)
				s.certify("payments-cert")
				s.set(t, resource.SecretType)
				time.Sleep(3 * refresh)
				long, short := s.close(t), filepath.Join(t.TempDir(), "short.xdsp")
				s.proxy.run(t, "export", long, "-w", short) // the nodes of polls are not shared, but they compress
				return short
			},
		},
		{
			name: "rest-nack",
			story: "Envoy polls, and does not take clusters one of which has no timeout: it polls with the version of\n" +
				"before. A few polls later there is a good one.",
			expect: []string{"rest-implicit-nack"},
			record: func(t *testing.T) string {
				s := openPolled(t, nil)
				s.clusters["broken"] = xdstest.BrokenCluster("broken", s.source)
				s.endpointsOf(t, "broken", 1)
				s.set(t, cds, eds)
				time.Sleep(8 * refresh)
				s.cluster("broken", 1)
				s.push(t, cds)
				return s.close(t)
			},
		},
		{
			name:   "rest-in-full",
			story:  "Envoy polls a server that does not look at the version: it sends all it has each time.",
			expect: []string{"rest-unchanged-body"},
			record: func(t *testing.T) string {
				s := openPolled(t, func(_ *polled, next answerer) answerer {
					return func(w http.ResponseWriter, r *http.Request, body []byte) {
						next(w, r, announced.ReplaceAll(body, nil))
					}
				})
				time.Sleep(8 * refresh)
				return s.close(t)
			},
		},
		{
			name: "rest-two-replicas",
			story: "Envoy polls two servers behind one address that take turns. One of them has not heard of the last\n" +
				"change of the clusters.",
			expect: []string{"rest-version-flap"},
			record: func(t *testing.T) string {
				var turn atomic.Int64
				s := openPolled(t, func(s *polled, next answerer) answerer {
					return func(w http.ResponseWriter, r *http.Request, body []byte) {
						if _, err := s.cache.GetSnapshot(lagging); err == nil && r.URL.Path == resource.FetchClusters && turn.Add(1)%2 == 0 {
							body = bytes.Replace(body, []byte(`"id":"`+envoyNode+`"`), []byte(`"id":"`+lagging+`"`), 1)
						}
						next(w, r, body)
					}
				})
				old, err := s.cache.GetSnapshot(envoyNode)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.cache.SetSnapshot(t.Context(), lagging, old); err != nil {
					t.Fatal(err)
				}
				s.cluster("web", 2)
				s.set(t, cds)
				time.Sleep(12 * refresh)
				return s.close(t)
			},
		},
	}
}
