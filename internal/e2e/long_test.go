package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

var (
	minutes = flag.Float64("minutes", 0, "how long the sessions of TestLong are, with 500 updates; ten seconds with 20 if 0")
	keep    = flag.String("keep", "", "leave the recordings of TestLong in this directory")
)

// A real Envoy at a control plane that makes no mistakes, for a long time: in
// the recording there is nothing to find.
func TestLong(t *testing.T) {
	t.Parallel()
	updates, last := 20, 10*time.Second
	if *minutes > 0 {
		updates, last = 500, time.Duration(*minutes*float64(time.Minute))
	}
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			life := &life{mesh: s.mesh, random: rand.New(rand.NewPCG(7, uint64(updates)))}
			begin := time.Now()
			for n := range updates {
				what := life.step(t)
				s.control.pushThen(t, func() { s.control.set(t, s.world()) }, 50*time.Millisecond)
				if t.Failed() {
					t.Fatalf("update %d: %s", n+1, what)
				}
				time.Sleep(time.Until(begin.Add(last * time.Duration(n+1) / time.Duration(updates))))
			}
			for _, r := range s.control.account.Records() {
				if r.Kind == session.KindMessage && r.Error != "" {
					t.Errorf("Envoy rejects %s: %s", r.Nonce, r.Error)
				}
			}
			recording := s.close(t)
			compare(t, s.control.account, s.proxy)
			checkClean(t, recording)
			if *keep != "" {
				copyFile(t, recording, filepath.Join(*keep, "long-"+v.name+".xdsp"))
			}
		})
	}
}

// checkClean requires a whole recording of a conversation without mistakes.
func checkClean(t *testing.T, recording string) {
	t.Helper()
	if f := factsOf(t, recording); !f.Complete || f.Damaged || f.Gaps != 0 || f.Messages == 0 {
		t.Errorf("info of %s: %+v; want messages in a complete recording", recording, f)
	}
	// It must end with exit code 0: nothing that is a warning or worse.
	runProgram(t, "check", recording, "--fail-on", "warning")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// life changes a mesh, one push at a time, and never so that something refers to
// what is not there, or that something goes to which something refers.
type life struct {
	*mesh
	random *rand.Rand
	born   int               // names given so far
	leads  map[string]string // by route configuration: the cluster
}

const (
	mostClusters  = 12
	mostListeners = 5
)

// step makes the next change and says which.
func (l *life) step(t *testing.T) string {
	t.Helper()
	if l.leads == nil {
		l.leads = map[string]string{"routes": "web"}
	}
	for {
		switch l.random.IntN(7) {
		case 0:
			if len(l.clusters) < mostClusters {
				name := l.name("cluster")
				l.cluster(name, 1)
				l.endpointsOf(t, name, 1)
				return "add " + name
			}
		case 1:
			name := l.pick(slices.Collect(maps.Keys(l.clusters)))
			l.moreEndpoints(t, name)
			return "endpoints of " + name
		case 2:
			// Its endpoints change with it: see updates.
			name := l.pick(slices.Collect(maps.Keys(l.clusters)))
			l.cluster(name, 1+l.clusters[name].GetConnectTimeout().GetSeconds()%5)
			l.moreEndpoints(t, name)
			return "change " + name
		case 3:
			name, to := l.pick(slices.Collect(maps.Keys(l.routes))), l.pick(slices.Collect(maps.Keys(l.clusters)))
			if l.leads[name] != to {
				l.route(name, to)
				l.leads[name] = to
				return "lead " + name + " to " + to
			}
		case 4:
			if free := l.unused(); len(free) > 0 {
				name := l.pick(free)
				delete(l.clusters, name)
				delete(l.endpoints, name)
				return "remove " + name
			}
		case 5:
			if len(l.listeners) < mostListeners {
				name, to := l.name("listener"), l.pick(slices.Collect(maps.Keys(l.clusters)))
				l.listener(t, name, name+"-routes")
				l.route(name+"-routes", to)
				l.leads[name+"-routes"] = to
				return "add " + name
			}
		case 6:
			if len(l.listeners) > 1 {
				name := l.pick(slices.Collect(maps.Keys(l.listeners)))
				if name == "ingress" {
					continue
				}
				delete(l.listeners, name)
				delete(l.routes, name+"-routes")
				delete(l.leads, name+"-routes")
				return "remove " + name
			}
		}
	}
}

func (l *life) name(kind string) string {
	l.born++
	return fmt.Sprintf("%s-%d", kind, l.born)
}

func (l *life) pick(names []string) string {
	slices.Sort(names)
	return names[l.random.IntN(len(names))]
}

func (l *life) moreEndpoints(t *testing.T, cluster string) {
	t.Helper()
	l.endpointsOf(t, cluster, 1+len(l.endpoints[cluster].GetEndpoints()[0].GetLbEndpoints())%4)
}

// unused are the clusters to which nothing leads.
func (l *life) unused() []string {
	used := slices.Collect(maps.Values(l.leads))
	return slices.DeleteFunc(slices.Collect(maps.Keys(l.clusters)), func(name string) bool {
		return slices.Contains(used, name)
	})
}
