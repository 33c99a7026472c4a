package e2e

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// The sessions are fixtures of package check: recordings of real clients and
// servers, and of scripted ones that err in one way each. Beside NAME.xdsp,
// NAME.txt says in a few lines what happened, and in lines "expect: RULE" of
// which rules a finding is true that is a warning or an error. No others are.
// They are recorded anew, one after the other, in about a quarter of an hour, with
//
//	go test ./internal/e2e -run TestSessions -timeout 1h -update
//
// or one of them with -run TestSessions/NAME.
var update = flag.Bool("update", false, "record the sessions anew")

const (
	sessionsDir = "../../check/testdata/sessions"

	sessionLimit  = 100_000   // bytes of one recording
	sessionsLimit = 2_000_000 // and of all of them

	// idle is longer than every period after which a rule may complain of
	// silence, and quiet is how long an Envoy or a gRPC takes at most before it
	// goes on by itself.
	idle  = 32 * time.Second
	quiet = 500 * time.Millisecond
)

// recordedSession is one fixture.
type recordedSession struct {
	name   string
	story  string   // what happened, in lines
	expect []string // rules
	// record plays the session through a proxy and returns its recording. It
	// skips the test if it cannot.
	record func(t *testing.T) string

	// Of an Envoy, how it differs from that of its variant, and the requests that it
	// serves, without which it does not ask for all.
	differs func(v *variant)
	traffic func(t *testing.T, e *envoy)
}

func sessions() []recordedSession {
	return slices.Concat(envoySessions(), secretSessions(), snapshotSessions(), linearSessions(), sideSessions(), nameSessions(),
		grpcSessions(), restSessions(), serverFaults(), clientFaults(), []recordedSession{demoSession()})
}

func TestSessions(t *testing.T) {
	var total int64
	known := map[string]bool{}
	for _, s := range sessions() {
		if known[s.name] {
			t.Fatalf("two sessions are called %s", s.name)
		}
		known[s.name] = true
		t.Run(s.name, func(t *testing.T) {
			file := filepath.Join(sessionsDir, s.name+".xdsp")
			if *update {
				keepSession(t, s, s.record(t), file)
			}
			total += checkSession(t, s, file)
		})
	}
	if total > sessionsLimit {
		t.Errorf("the sessions have %d bytes; they may have %d", total, sessionsLimit)
	}
	found, err := filepath.Glob(filepath.Join(sessionsDir, "*.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if name := strings.TrimSuffix(filepath.Base(f), ".xdsp"); !known[name] {
			t.Errorf("nothing here records %s", f)
		}
	}
}

func (s recordedSession) text() string {
	b := &strings.Builder{}
	b.WriteString(strings.TrimSpace(s.story) + "\n")
	for _, rule := range s.expect {
		b.WriteString("expect: " + rule + "\n")
	}
	return b.String()
}

func keepSession(t *testing.T, s recordedSession, recording, file string) {
	t.Helper()
	data, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(file, ".xdsp")+".txt", []byte(s.text()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var ruleID = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)

// checkSession requires of a fixture what holds of all of them, and returns its size.
func checkSession(t *testing.T, s recordedSession, file string) int64 {
	t.Helper()
	for _, rule := range s.expect {
		if !ruleID.MatchString(rule) {
			t.Errorf("%q is no rule", rule)
		}
	}
	text, err := os.ReadFile(strings.TrimSuffix(file, ".xdsp") + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != s.text() {
		t.Errorf("the text beside it is\n%s\nwant\n%s", text, s.text())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > sessionLimit {
		t.Errorf("%d bytes; a session may have %d", len(data), sessionLimit)
	}

	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	methods := map[session.StreamID]xds.Method{}
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Problems) > 0 {
			t.Errorf("entry %d: %q", e.Seq, e.Problems)
		}
		switch e.Kind {
		case session.KindOpen:
			methods[e.Stream] = xds.LookupMethod(e.Method)
		case session.KindMessage:
			method, data := methods[e.Stream], e.Message.Data.Bytes()
			switch {
			case method.Variant == xds.VariantLRS:
				if m := decode.PeekLoadStats(e.Side, data); len(m.Problems) > 0 {
					t.Errorf("entry %d is a report of load with problems %q", e.Seq, m.Problems)
				}
				continue
			case method.Variant == xds.VariantCSDS && e.Side == session.Client:
				continue
			case method.Variant == xds.VariantCSDS:
				if m := decode.PeekClientStatus(data); len(m.Problems) > 0 || len(m.Configs) == 0 {
					t.Errorf("entry %d is the status of %d clients with problems %q", e.Seq, len(m.Configs), m.Problems)
				}
				continue
			}
			if m := decode.Peek(method, e.Side, "", data); len(m.Problems) > 0 || m.TypeURL == "" {
				t.Errorf("entry %d is of type %q, with problems %q", e.Seq, m.TypeURL, m.Problems)
			}
		}
	}
	if f := r.Facts(); !f.Complete || f.Damaged || f.Gaps != 0 || f.Messages == 0 || !f.Masked {
		t.Errorf("%+v; want messages in a complete, masked recording", f)
	}
	for _, trace := range traces(t) {
		if found := trace.Find(decompressed(t, data)); found != nil {
			t.Errorf("the recording has %q in it", found)
		}
	}
	return int64(len(data))
}

// traces are what only this machine, or a secret, could leave in a recording.
func traces(t *testing.T) []*regexp.Regexp {
	t.Helper()
	words := []string{"/root", "/home", "/work", os.TempDir() + "/", "BEGIN PRIVATE KEY"}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
			words = append(words, n.IP.String())
		}
	}
	var out []*regexp.Regexp
	for _, w := range words {
		out = append(out, regexp.MustCompile(regexp.QuoteMeta(w)))
	}
	// A short name turns up in any bytes.
	if name, err := os.Hostname(); err == nil && len(name) > 3 && name != "localhost" {
		out = append(out, regexp.MustCompile(`(?i)[^a-z0-9]`+regexp.QuoteMeta(name)+`[^a-z0-9]`))
	}
	return out
}
