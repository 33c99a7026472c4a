package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// kind is what a client is. Resources that kinds share have the same bytes.
type kind int

const (
	gateway kind = iota
	sidecar
	grpcClient
)

var types = [...]string{"CDS", "EDS", "LDS", "RDS", "SDS"}

func urlOf(short string) string { return xds.TypeURL(short) }

// track is what changes together: the resources of a type for clients of a kind.
// Endpoints and clusters are the same for all.
type track struct {
	typ string
	of  kind
}

func trackOf(typ string, of kind) track {
	switch {
	case typ == "CDS" || typ == "EDS":
		return track{typ, sidecar}
	default:
		return track{typ, of}
	}
}

// change is that a resource gets new content.
type change struct {
	track
	name string
}

// world is the configuration of the mesh through the day. Nobody changes it once
// it is made.
type world struct {
	options
	steps    int
	services []string // names of their clusters
	secrets  []string // of the gateways
	// changes has those of each step, in the order in which they are pushed.
	changes [][]change
	bad     int // the step at which the gateways' routes get a content that some reject
	mended  int
	late    string // the service that is added in the middle of the day
	lateAt  int
	certs   *authority

	mu       sync.Mutex
	contents map[contentKey]*anypb.Any
}

// newWorld makes up a day.
func newWorld(o options) *world {
	w := &world{options: o, steps: int(o.length / o.every), certs: newAuthority(o.seed), contents: make(map[contentKey]*anypb.Any)}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	for i := range o.services {
		w.services = append(w.services, clusterName(i))
	}
	for i := range 5 {
		w.secrets = append(w.secrets, fmt.Sprintf("kubernetes://shop-ingress-tls-%d", i))
	}
	w.late, w.lateAt = w.services[len(w.services)-1], w.at(0.3)
	w.bad, w.mended = w.at(0.55), w.at(0.55)+2
	w.changes = make([][]change, w.steps)
	for step := range w.changes {
		if step > 0 {
			w.changes[step] = w.changesAt(step, rng)
		}
	}
	return w
}

// at is a step by its place in the day.
func (w *world) at(part float64) int { return int(part * float64(w.steps)) }

// changesAt are those of a step: some services get other endpoints, one of them
// from the few that are restarted all day; a version is rolled out now and then.
func (w *world) changesAt(step int, rng *rand.Rand) (out []change) {
	clusters := track{"CDS", sidecar}
	if step == w.lateAt {
		out = append(out, change{clusters, w.late}, change{track{"EDS", sidecar}, w.late})
	}
	if step%(w.steps/12) == w.steps/24 {
		name := w.services[rng.IntN(len(w.services)-1)]
		out = append(out, change{clusters, name}, change{track{"EDS", sidecar}, name})
	}
	churn := []string{w.services[step%3]}
	for len(churn) < w.churn {
		name := w.services[3+rng.IntN(len(w.services)-4)]
		if !slices.Contains(churn, name) {
			churn = append(churn, name)
		}
	}
	for _, name := range churn {
		if c := (change{track{"EDS", sidecar}, name}); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if step%(w.steps/6) == w.steps/9 {
		out = append(out, change{track{"LDS", gateway}, gatewayListener})
	}
	if step == w.bad || step == w.mended || step%(w.steps/8) == w.steps/10 {
		out = append(out, change{track{"RDS", gateway}, gatewayRoutes})
	}
	if step == w.lateAt+2 || step%(w.steps/8) == w.steps/11 {
		out = append(out, change{track{"RDS", sidecar}, sidecarRoutes})
	}
	if step == w.at(0.7) {
		out = append(out, change{track{"SDS", gateway}, w.secrets[1]})
	}
	if step == w.at(0.45) {
		out = append(out, change{track{"SDS", sidecar}, "default"})
	}
	return out
}

// state is the configuration at a moment: how often each resource has changed, and
// when each track did.
type state struct {
	w     *world
	step  int
	revs  map[change]int
	moved map[track]int
}

func (w *world) start() *state {
	return &state{w: w, revs: make(map[change]int), moved: make(map[track]int)}
}

// next goes on by a step, and says what changed.
func (s *state) next() []change {
	s.step++
	for _, c := range s.w.changes[s.step] {
		s.revs[c] = s.step
		s.moved[c.track] = s.step
	}
	return s.w.changes[s.step]
}

// version is that of a track: when it changed last, and with which push.
func (s *state) version(t track) string {
	step := s.moved[t]
	return fmt.Sprintf("%s/%d", s.w.timeOf(step).Format(time.RFC3339), step)
}

func (s *state) rev(t track, name string) int { return s.revs[change{t, name}] }

func (w *world) timeOf(step int) time.Time { return w.begin.Add(time.Duration(step) * w.every) }

// names are the resources of a type that there are for a kind.
func (s *state) names(typ string, of kind) []string {
	switch typ {
	case "CDS", "EDS":
		if of == grpcClient {
			return s.w.services[:few]
		}
		if s.step < s.w.lateAt {
			return s.w.services[:len(s.w.services)-1]
		}
		return s.w.services
	case "LDS":
		switch of {
		case gateway:
			return []string{gatewayListener}
		case sidecar:
			return []string{"0.0.0.0_8080", "virtualInbound"}
		}
		return []string{grpcListener}
	case "RDS":
		switch of {
		case gateway:
			return []string{gatewayRoutes}
		case sidecar:
			return []string{sidecarRoutes}
		}
		return []string{grpcRoutes}
	case "SDS":
		if of == gateway {
			return append([]string{"default"}, s.w.secrets...)
		}
		return []string{"default"}
	}
	return nil
}

// clusterName has 86 characters, and differs in the middle.
func clusterName(i int) string {
	words := [...]string{"checkout", "payments", "shipment", "accounts", "invoices", "searches", "ratings-", "sessions"}
	return fmt.Sprintf("outbound|8080||%s-%04d-backend-replica.shop-production-tenant.svc.cluster.local", words[i%len(words)], i)
}

const (
	gatewayListener = "0.0.0.0_8443"
	gatewayRoutes   = "https.8443.https-shop.storefront-gateway.shop-production-tenant"
	sidecarRoutes   = "8080"
	grpcListener    = "xds.shop.example.com:8080"
	grpcRoutes      = "grpc.8080.shop-production-tenant"
	// few is how many services the routes of gateways and of gRPC clients lead to.
	few = 8
)
