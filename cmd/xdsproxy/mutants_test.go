package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/mutant"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

var (
	mutants      = flag.Int("mutants", 40, "mutated recordings in TestMutants")
	mutantSeed   = flag.Uint64("mutantseed", 1, "what TestMutants begins its chances with")
	mutantFirst  = flag.Int("mutantfirst", 0, "the first mutant of TestMutants, to have one again")
	mutantsOf    = flag.String("mutantsof", "", "a directory with more recordings to mutate in TestMutants")
	mutantsAside = flag.Int("mutantsaside", 4, "mutants that TestMutants reads at the same time")
	mutantHang   = flag.Duration("mutanthang", time.Minute, "how long a command may take in TestMutants when it runs alone")
)

// Whatever bytes a recording has, every command that reads one ends soon, with
// one of its exit codes, and prints no character that a terminal would obey. A
// mutant is made of the seed and its number alone.
func TestMutants(t *testing.T) {
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	t.Setenv("SHELL", "/bin/sh")
	m := &mutation{t: t, files: recordings(t), log: binaryLog(t), gone: goesAway(t), forms: forms(), slow: map[uint64]bool{}}
	m.knowsAll()
	var wait sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(*mutantFirst) - 1)
	for range *mutantsAside {
		wait.Go(func() {
			for n := next.Add(1); n < int64(*mutantFirst+*mutants); n = next.Add(1) {
				m.one(uint64(n))
			}
		})
	}
	wait.Wait()
	m.alone = true
	again := slices.Sorted(maps.Keys(m.slow))
	for _, n := range again {
		m.one(n)
	}
	var runs int64
	for name, of := range m.codes.Range {
		t.Logf("exit code %s", fmt.Sprint(name, " ", of.(*atomic.Int64).Load()))
		runs += of.(*atomic.Int64).Load()
	}
	t.Logf("%d mutants of %d files, %d with right checksums, seed %d: %d runs, %d MB printed; the longest took %v: %s",
		*mutants, len(m.files), m.sound.Load(), *mutantSeed, runs, m.printed.Load()>>20, m.longest.Round(time.Millisecond), m.longestWas)
	t.Logf("%d were slow beside others, and read again alone", len(again))
}

type mutation struct {
	t     *testing.T
	files []string
	log   []byte              // of gRPC
	gone  string              // where a peer listens that goes away
	forms map[string][]string // of each command's -o

	codes          sync.Map // string to *atomic.Int64
	sound, printed atomic.Int64
	mu             sync.Mutex
	slow           map[uint64]bool // what took too long while others were read
	alone          bool            // nothing else is read
	longest        time.Duration
	longestWas     string
}

// recordings are all whole ones that tests of this module read.
func recordings(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, dir := range []string{"../../check/testdata", "../../recorder/testdata", *mutantsOf} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".xdsp") {
				return err
			}
			b, err := os.ReadFile(path)
			if _, unsound := mutant.Sound(b, rand.New(rand.NewPCG(0, 0))); unsound == nil {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) < 50 {
		t.Fatalf("there are only %d recordings", len(paths))
	}
	return paths
}

// binaryLog is what a gRPC program wrote of its calls.
func binaryLog(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	cp, log := "unix:"+filepath.Join(dir, "cp"), filepath.Join(dir, "log")
	cmd := exec.Command("logged", log, cp, cp)
	cmd.Env = append(os.Environ(), "GRPC_BINARY_LOG_FILTER=*")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no binary log: %v: %s", err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// goesAway is where somebody listens who closes connections, at once or when
// something came, with or without an answer.
func goesAway(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if n%3 == 0 {
					return
				}
				_ = conn.SetDeadline(time.Now().Add(time.Second))
				_, _ = conn.Read(make([]byte, 1024))
				if n%3 == 1 {
					_, _ = conn.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x1b]0;x\x07"))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// forms are those of each command's -o.
func forms() map[string][]string {
	a := &cli{ctx: context.Background(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	a.config = settings.New()
	forms := map[string][]string{}
	for _, cmd := range newRoot(a).Commands() {
		forms[cmd.Name()] = nil
		if f := cmd.Flags().Lookup("output"); f != nil {
			forms[cmd.Name()] = f.Value.(settings.Choice).Of
		}
	}
	return forms
}

// knowsAll says of a command that reads a recording and is not run here.
func (m *mutation) knowsAll() {
	others := []string{"run", "wrap", "demo", "explain", "config", "version", "help", "completion", "reveal", "mcp", "serve-csds"}
	ways := m.ways(&subject{r: rand.New(rand.NewPCG(0, 0))})
	for name := range m.forms {
		if !slices.ContainsFunc(ways, func(w []string) bool { return w[0] == name }) && !slices.Contains(others, name) {
			m.t.Errorf("nobody says how %s reads a mutant", name)
		}
	}
}

// subject is a mutant as the commands find it.
type subject struct {
	n                      uint64
	dir, base, path, log   string
	name, client           string // that the recording knew before
	r                      *rand.Rand
	repaired, part, script string
}

// ways are the runs of a mutant, which differ by chance.
func (m *mutation) ways(s *subject) [][]string {
	r := s.r
	either := func(of ...string) string { return of[r.IntN(len(of))] }
	seq := func() string { return strconv.Itoa(1 + r.IntN(40)) }
	filter := either("kind:nack", "type:cds", "client:a", "seq:3..9", "at:12:00..12:01", "rule:nack-received", "kind:resp,delta", "name:a")
	past := "--memory-past=" + either("64MiB", "64MiB", "1MiB", "64KiB")
	ways := [][]string{
		{"open", s.path},
		{"watch", s.path, "--no-follow", past, either("--no-check", "--no-check=false"), either("--filter=", "--filter="+filter)},
		oneOf(r, []string{"show", s.path, "1.."}, []string{"show", s.path, "--filter", filter}, []string{"show", s.path, ".." + seq()}),
		{"info", s.path, either("--all", "--strict", "--all=false"), past},
		{"check", s.path, past, "--enable", "all", "--fail-on=" + either("error", "warning", "never"), either("--info", "--strict")},
		{"status", s.path, past, either("--quiet", "--at="+seq())},
		oneOf(r, []string{"tree", s.path, past}, []string{"tree", s.path, s.client}, []string{"tree", s.path, s.client, "--at", seq()}),
		oneOf(r, []string{"pushes", s.path, past}, []string{"pushes", s.path, seq(), past}, []string{"pushes", s.path, "-o=jsonl", either("--within=1h", "--within=1ms")},
			[]string{"pushes", s.path, "--filter=" + filter, "--type=cds"}),
		oneOf(r, []string{"diff", s.path, s.name, "--all"}, []string{"diff", s.path, s.name}, []string{"diff", s.path, seq(), seq()},
			[]string{"diff", s.path, s.base, "--all"}, []string{"diff", s.base, s.path, s.name}),
		{"export", s.path, "--repair", "-w", s.repaired, "-o=xdsp"},
		{"export", s.path, "--seq", seq() + "..", "-w", s.part, either("--no-context", "--no-context=false"), "-o=xdsp"},
		{"export", s.path, "-w", "-", either("--mask", "--mask=false"), either("--seq=1..", "--seq="+seq(), "--filter="+filter)},
		{"export", s.path, "-o=parquet", "-w", filepath.Join(s.dir, "tables"), "--keep-secrets"},
		{"report", s.path, "--yes", "-w", filepath.Join(s.dir, "report.zip"), either("nack-received", seq())},
		{"import", s.log, "-w", filepath.Join(s.dir, "imported.xdsp")},
		{"import", s.path, "-w", filepath.Join(s.dir, "not.xdsp")},
		{"__complete", either("tree", "watch", "show", "diff"), s.path, ""},
	}
	client := "--client=" + either("", s.client)
	pace := "--pace=" + either("cause", "x1000")
	switch r.IntN(4) {
	case 0:
		ways = append(ways, []string{"replay", s.path, "--as", "client", "--target", either("127.0.0.1:1", m.gone), "--idle=100ms", client, pace})
	case 1:
		ways = append(ways, []string{"replay", s.path, "--as", "server", "--listen", "127.0.0.1:0", "--idle=50ms", client, pace})
	case 2:
		ways = append(ways, []string{"bisect", s.path, "--listen", "127.0.0.1:0", "--wait=50ms", "--script", s.script})
	}
	if s.n == 0 && s.dir == "" { // asked for the names only
		ways = append(ways, []string{"replay"}, []string{"bisect"})
	}
	return ways
}

func oneOf(r *rand.Rand, of ...[]string) []string { return of[r.IntN(len(of))] }

// one makes a mutant and lets every command read it.
func (m *mutation) one(n uint64) {
	t := m.t
	r := rand.New(rand.NewPCG(*mutantSeed, n))
	base := m.files[r.IntN(len(m.files))]
	b, err := os.ReadFile(base)
	for err == nil && len(b) > 40<<10 && r.IntN(4) > 0 { // the small ones have all that there is, too
		base = m.files[r.IntN(len(m.files))]
		b, err = os.ReadFile(base)
	}
	if err != nil {
		t.Error(err)
		return
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	s := &subject{
		n: n, dir: dir, base: base, path: in("m.xdsp"), log: in("m.log"), r: r,
		repaired: in("repaired.xdsp"), part: in("part.xdsp"), script: in("found.xds"),
	}
	out, log := b, m.log
	if n%2 == 0 {
		out, log = mutant.Raw(b, r), mutant.Raw(log, r)
	} else {
		if !m.alone {
			m.sound.Add(1)
		}
		if out, err = mutant.Sound(b, r); err != nil {
			t.Errorf("%s: %v", base, err)
			return
		}
		log = mutant.Log(log, r)
	}
	for path, b := range map[string][]byte{s.path: out, s.log: log} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Error(err)
			return
		}
	}
	s.name, s.client = known(base, r)
	for _, args := range m.ways(s) {
		form := ""
		if forms := m.forms[args[0]]; forms != nil && !strings.HasPrefix(args[len(args)-1], "-o=") {
			if form = forms[r.IntN(len(forms))]; form == "xdsp" {
				form = "yaml"
			}
			args = append(args, "-o="+form)
		}
		code := m.run(s, form, args...)
		if code == console.ExitDone && (slices.Contains(args, s.repaired) || slices.Contains(args, s.part)) {
			if of := m.run(s, "", "info", args[slices.Index(args, "-w")+1], "--all"); of != console.ExitDone {
				t.Errorf("mutant %d: what %q wrote reads with %d", n, args, of)
			}
		}
	}
	if n%8 == 3 {
		m.playAgainst(s)
	}
}

// playAgainst lets a mutant play both sides, against each other.
func (m *mutation) playAgainst(s *subject) {
	socket := "unix:" + filepath.Join(s.dir, "s")
	server := []string{"replay", "--as", "server", s.path, "--idle=300ms", "-w", filepath.Join(s.dir, "again.xdsp")}
	if s.r.IntN(2) == 0 {
		server = []string{"bisect", "--timeout=100ms", "--wait=500ms", s.path, "--script", s.script}
	}
	var wait sync.WaitGroup
	wait.Go(func() { m.run(s, "json", append(server, "--listen", socket, "-o=json")...) })
	time.Sleep(50 * time.Millisecond) // if it does not listen by then, the other meets nobody, which is fine, too
	m.run(s, "", "replay", s.path, "--as", "client", "--target", socket, "--idle=200ms", "-o=table")
	wait.Wait()
}

var knownMu sync.Mutex

// known are a name and a client of a recording, by chance.
func known(path string, r *rand.Rand) (name, client string) {
	knownMu.Lock()
	defer knownMu.Unlock()
	var out bytes.Buffer
	main1([]string{"watch", path, "--no-follow", "--no-check", "-o", "jsonl"}, strings.NewReader(""), &out, io.Discard)
	names, clients := []string{"x"}, []string{"x"}
	for dec := json.NewDecoder(&out); ; {
		var line struct {
			Client string
			Names  []string
		}
		if dec.Decode(&line) != nil {
			return names[r.IntN(len(names))], clients[r.IntN(len(clients))]
		}
		names = append(names, line.Names...)
		if line.Client != "" {
			clients = append(clients, line.Client)
		}
	}
}

// run runs a command on a mutant and returns its exit code.
func (m *mutation) run(s *subject, form string, args ...string) int {
	colour := []string{"never", "always"}[s.n/2%2]
	args = append(args, "--color="+colour)
	if args[0] == "__complete" {
		args = args[:len(args)-1]
	}
	what := fmt.Sprintf("seed %d mutant %d of %s: %q", *mutantSeed, s.n, s.base, args)
	var out, said bytes.Buffer
	hang := time.AfterFunc(12**mutantHang, func() {
		debug.SetTraceback("all")
		panic(what + " hangs")
	})
	code, began := console.ExitInterrupted, time.Now()
	func() {
		defer func() {
			if p := recover(); p != nil {
				m.t.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
			}
		}()
		code = main1(args, strings.NewReader(""), &out, &said)
	}()
	hang.Stop()
	took := time.Since(began)
	m.count(what, args[0], code, took, out.Len()+said.Len())
	if took > *mutantHang && m.alone {
		m.t.Errorf("%s: it took %v", what, took)
	}
	if took > *mutantHang {
		m.mu.Lock()
		m.slow[s.n] = true
		m.mu.Unlock()
	}
	if !slices.Contains([]int{console.ExitDone, console.ExitFailed, console.ExitUsage, console.ExitFindings, console.ExitDifferences, console.ExitDamaged, console.ExitUnknownVersion}, code) {
		m.t.Errorf("%s: exit code %d", what, code)
	}
	for _, text := range []string{out.String(), said.String()} {
		if strings.Contains(text, "goroutine ") || strings.Contains(text, "runtime error") || strings.Contains(text, "panic:") {
			m.t.Errorf("%s: it prints a panic: %s", what, text[:min(len(text), 2000)])
		}
		if colour == "always" {
			text = ourColour.ReplaceAllString(text, "")
		}
		if form == "csv" {
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		if at, found := xdstest.Unprintable(text); found {
			m.t.Errorf("%s: it prints %s", what, at)
		}
	}
	if slices.Contains([]string{"json", "sarif", "jsonl"}, form) && code != console.ExitFailed && code != console.ExitUsage {
		for dec := json.NewDecoder(&out); ; {
			var v json.RawMessage
			if err := dec.Decode(&v); err == io.EOF {
				break
			} else if err != nil {
				m.t.Errorf("%s: no JSON: %v", what, err)
				break
			}
		}
	}
	return code
}

func (m *mutation) count(what, command string, code int, took time.Duration, printed int) {
	of, _ := m.codes.LoadOrStore(fmt.Sprint(command, " ", code), new(atomic.Int64))
	of.(*atomic.Int64).Add(1)
	m.printed.Add(int64(printed))
	m.mu.Lock()
	defer m.mu.Unlock()
	if took > m.longest {
		m.longest, m.longestWas = took, what
	}
}
