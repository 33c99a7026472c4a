package e2e

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

var (
	chaosFor  = flag.Duration("chaos", 0, "how long TestChaos goes on, in episodes of half a minute from ten minutes on, else of a few seconds; only one if 0")
	chaosSeed = flag.Uint64("chaos-seed", 0, "the seed of TestChaos; a random one if 0")
)

// Whatever happens on both legs: what arrives is the beginning of what was
// sent, what is recorded is what was sent and holds all that arrived, ends are
// told of whom they came from, and nothing is left over.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plaintext", true: "TLS"}[secure], func(t *testing.T) {
			t.Parallel()
			end, life := time.Now().Add(*chaosFor), 4*time.Second
			if *chaosFor >= 10*time.Minute {
				life = 30 * time.Second
			}
			var total tally
			for episode := uint64(0); episode == 0 || time.Now().Before(end); episode++ {
				w := &chaosWorld{t: t, seed: seed + episode, life: life, tally: &total}
				if secure {
					w.secure, w.args = chaosPKI(t)
				}
				w.episode()
				if t.Failed() {
					t.Fatalf("episode %d: go test ./internal/e2e -run TestChaos/%s -chaos-seed %d", episode, t.Name()[len("TestChaos/"):], w.seed)
				}
				t.Logf("episode %d, seed %d: %s", episode, w.seed, w.summary)
				for _, run := range w.runs { // a long run leaves many
					if err := os.Remove(run.file); err != nil {
						t.Error(err)
					}
				}
			}
			t.Logf("total: %s", total.String())
		})
	}
}

// chaosPKI makes certificates for both legs, and the flags that name them.
func chaosPKI(t *testing.T) (*secureEnds, []string) {
	t.Helper()
	ca, dir := xdstest.NewAuthority("chaos"), t.TempDir()
	leaf := ca.Issue(xdstest.Leaf{DNS: []string{"chaos.test"}, IPs: []string{"127.0.0.1"}})
	cert, key, err := leaf.Write(dir, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := ca.Write(dir, "root")
	if err != nil {
		t.Fatal(err)
	}
	ends := &secureEnds{
		client: &tls.Config{RootCAs: ca.Pool(), ServerName: "chaos.test", NextProtos: []string{"h2"}},
		server: &tls.Config{Certificates: []tls.Certificate{leaf.TLS()}, NextProtos: []string{"h2"}},
	}
	return ends, []string{
		"--tls-cert", cert, "--tls-key", key, "--upstream-tls", "--upstream-ca", root, "--upstream-server-name", "chaos.test",
	}
}

// chaosWorld is one proxy after the other between the same clients and servers.
type chaosWorld struct {
	t      *testing.T
	seed   uint64
	life   time.Duration
	secure *secureEnds
	args   []string

	accounts                           *accounts
	numbers                            atomic.Int64 // of client connections
	behind                             atomic.Int64 // of connections to servers
	nearGRPC, nearRaw, farGRPC, farRaw *injector
	listenGRPC, listenRaw, admin       string
	mu                                 sync.Mutex
	random                             *rand.Rand
	runs                               []*chaosRun
	peak                               int64 // of the resident set, in bytes
	summary                            string
	tally                              *tally
}

// chaosRun is one process of the proxy.
type chaosRun struct {
	*proxy
	stopped  time.Time // when it was told to stop
	quiet    bool      // nobody was connected then
	fds      int       // when it had just begun
	routines int
}

func (w *chaosWorld) account() *accounts { return w.accounts }

// rng returns a generator of its own.
func (w *chaosWorld) rng() *rand.Rand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return rand.New(rand.NewPCG(w.random.Uint64(), w.random.Uint64()))
}

func (w *chaosWorld) episode() {
	t := w.t
	w.random, w.accounts = rand.New(rand.NewPCG(w.seed, 0)), newAccounts()
	serverGRPC, serverRaw := freeAddr(t), freeAddr(t)
	w.listenGRPC, w.listenRaw = freeAddr(t), freeAddr(t)
	plan := func() func() fault {
		var mu sync.Mutex
		r := w.rng()
		return func() fault {
			mu.Lock()
			defer mu.Unlock()
			return anyFault(r)
		}
	}
	fromClient := func(a net.Addr) int { return numberOf(nearBase, a.(*net.TCPAddr).IP) }
	next := func(net.Addr) int { return int(w.behind.Add(1)) }
	w.nearGRPC = newInjector(t, w.listenGRPC, true, plan(), fromClient)
	w.nearRaw = newInjector(t, w.listenRaw, true, plan(), fromClient)
	w.farGRPC = newInjector(t, serverGRPC, false, plan(), next)
	w.farRaw = newInjector(t, serverRaw, false, plan(), next)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var servers, clients sync.WaitGroup
	s := &chaosServer{world: w, rng: w.rng}
	servers.Go(func() {
		if err := s.serveGRPC(ctx, serverGRPC); err != nil {
			t.Error(err)
		}
	})
	servers.Go(func() {
		if err := s.serveRaw(ctx, serverRaw); err != nil {
			t.Error(err)
		}
	})
	run := w.start()
	for n := range 14 {
		r := w.rng()
		clients.Go(func() {
			for ctx.Err() == nil {
				if n < 10 {
					if err := w.client(ctx, r); err != nil {
						t.Error(err)
						return
					}
				} else {
					w.rawClient(ctx, r)
				}
				rest(ctx, time.Duration(r.IntN(300))*time.Millisecond)
			}
		})
	}
	w.harass(ctx, run, w.life/2)
	run.stopped = time.Now()
	run.stop(t)
	run = w.start()
	w.harass(ctx, run, w.life/2)
	// Two of three handshakes may be hit by a fault, and a busy machine makes
	// few of them: go on until something can be held against something.
	for end := time.Now().Add(patience); !w.accounts.arrived() && time.Now().Before(end); {
		w.harass(ctx, run, time.Second)
	}
	stop()
	clients.Wait()
	for _, i := range []*injector{w.nearGRPC, w.nearRaw, w.farGRPC, w.farRaw} {
		i.close()
	}
	servers.Wait()
	run.quiet = true
	w.nothingLeft(run)
	run.stopped = time.Now()
	run.stop(t)
	w.verify()
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

var adminLine = regexp.MustCompile(`health and metrics on (http://\S+)$`)

func (w *chaosWorld) start() *chaosRun {
	w.t.Helper()
	p := startProxyWith(w.t, w.farGRPC.addr, setup{listen: w.listenGRPC, args: append([]string{
		"--listen", w.listenRaw, "--upstream", w.farRaw.addr, "--admin", "127.0.0.1:0", "--admin-pprof", "--log-format", "json",
	}, w.args...)})
	w.admin = p.stderr.find(w.t, adminLine, p.exited)[1]
	r := &chaosRun{proxy: p}
	if len(w.runs) > 0 { // clients have come already
		r.fds, r.routines = w.runs[0].fds, w.runs[0].routines
	}
	// It says that it listens before all of it has begun.
	for same := 0; len(w.runs) == 0 && same < 20; time.Sleep(50 * time.Millisecond) {
		fds, routines := r.descriptors(w.t), w.goroutines()
		if same++; fds != r.fds || routines != r.routines {
			r.fds, r.routines, same = fds, routines, 0
		}
	}
	w.runs = append(w.runs, r)
	return r
}

// harass stops and continues the proxy now and then, and lets upstreams be
// unreachable.
func (w *chaosWorld) harass(ctx context.Context, run *chaosRun, d time.Duration) {
	r, end := w.rng(), time.Now().Add(d)
	for time.Now().Before(end) {
		rest(ctx, time.Duration(300+r.IntN(1500))*time.Millisecond)
		w.peak = max(w.peak, run.resident(w.t))
		switch r.IntN(6) {
		case 0:
			_ = run.cmd.Process.Signal(syscall.SIGSTOP)
			rest(ctx, time.Duration(50+r.IntN(700))*time.Millisecond)
			_ = run.cmd.Process.Signal(syscall.SIGCONT)
		case 1:
			far := []*injector{w.farGRPC, w.farRaw}[r.IntN(2)]
			if err := far.refuse(time.Duration(r.IntN(700)) * time.Millisecond); err != nil {
				w.t.Error(err)
			}
		}
		select {
		case <-run.exited:
			w.t.Fatalf("seed %d: the proxy is gone: %v", w.seed, run.err)
		default:
		}
	}
}

// nothingLeft waits until a proxy without clients holds what it held when it
// had just begun.
func (w *chaosWorld) nothingLeft(run *chaosRun) {
	w.t.Helper()
	if w.t.Failed() {
		return
	}
	end := time.Now().Add(patience)
	for run.descriptors(w.t) > run.fds || w.goroutines() > run.routines {
		if time.Now().After(end) {
			w.t.Fatalf("seed %d: %d descriptors and %d goroutines, which were %d and %d:\n%s\n%s", w.seed,
				run.descriptors(w.t), w.goroutines(), run.fds, run.routines, w.stacks(), sockets(w.t, run.cmd.Process.Pid))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sockets tells what files a process has open.
func sockets(t *testing.T, pid int) string {
	t.Helper()
	text := ""
	for _, n := range descriptors(t, pid) {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, n))
		text += fmt.Sprintf("%d %s\n", n, name)
	}
	tcp, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		t.Fatal(err)
	}
	return text + string(tcp)
}

func (r *chaosRun) descriptors(t *testing.T) int { return len(descriptors(t, r.cmd.Process.Pid)) }

// resident is the peak of the memory that it takes, in bytes.
func (r *chaosRun) resident(t *testing.T) int64 { return peakMemory(t, r.cmd.Process.Pid) }

func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// stacks are the goroutines of the proxy.
func (w *chaosWorld) stacks() string {
	w.t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := c.Get(w.admin + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *chaosWorld) goroutines() int {
	w.t.Helper()
	var n int
	if _, err := fmt.Sscanf(w.stacks(), "goroutine profile: total %d", &n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
