package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// operable is a proxy with an admin endpoint.
type operable struct {
	*running
	url string
}

var adminLine = regexp.MustCompile(`^health and metrics on (http://\S+)\n$`)

func startOperable(t *testing.T, args ...string) *operable {
	t.Helper()
	r := startRun(t, append([]string{"--admin", ":0"}, args...)...)
	line, err := r.stderr.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	m := adminLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not where the metrics are: %q", line)
	}
	return &operable{r, m[1]}
}

func (o *operable) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(o.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// scraped are the metrics of one scrape, which is held against the linter.
type scraped map[string]*dto.MetricFamily

func (o *operable) scrape(t *testing.T) scraped {
	t.Helper()
	code, text := o.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter says: %v, %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// by sums a metric for each value of a label; "" is all of it.
func (s scraped) by(name, label string) map[string]float64 {
	out := make(map[string]float64)
	for _, m := range s["xdsproxy_"+name].GetMetric() {
		key := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				key = l.GetValue()
			}
		}
		out[key] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return out
}

func (s scraped) sum(name string) float64 { return s.by(name, "")[""] }

func (s scraped) series() (n int) {
	for name, f := range s {
		if strings.HasPrefix(name, "xdsproxy_") {
			n += len(f.GetMetric())
		}
	}
	return n
}

// settled scrapes when all clients are gone and all of what passed is counted.
func (o *operable) settled(t *testing.T, connections float64) scraped {
	t.Helper()
	var s scraped
	for range 6000 {
		s = o.scrape(t)
		if s.sum("connections_ended_total") >= connections && s.sum("connections_open") == 0 && s.sum("metrics_lag_entries") == 0 {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never settled: %v", s["xdsproxy_connections_ended_total"])
	return nil
}

func nonzero(m map[string]float64) map[string]float64 {
	out := make(map[string]float64)
	for k, v := range m {
		if v != 0 {
			out[k] = v
		}
	}
	return out
}

func unmarshal(t *testing.T, cmd *exec.Cmd, v any) {
	t.Helper()
	out, err := cmd.Output()
	if exit := cmd.ProcessState.ExitCode(); err != nil && exit != console.ExitFindings {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if g, w := fmt.Sprint(nonzero(got)), fmt.Sprint(nonzero(want)); g != w {
		t.Errorf("%s: the metrics say %s, the recording %s", what, g, w)
	}
}

// What the metrics of a proxy say is what its recording says, with rules and
// without, on segments, and in memory.
func TestMetricsAgreeWithTheRecording(t *testing.T) {
	for name, args := range map[string][]string{
		"rules": nil, "segments": {"--max-size", "4KiB"}, "no-check": {"--no-check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story, err := xdstest.NewStory("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer story.Close()
			o := startOperable(t, append([]string{"--upstream", story.Addr()}, args...)...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := story.Play(ctx, o.addr, func(string) {}); err != nil {
				t.Fatal(err)
			}
			m := o.settled(t, 5)
			o.signal(t, syscall.SIGTERM)
			if stderr, code := o.end(t); code != console.ExitDone {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			agree(t, m, o.path, name != "no-check")
		})
	}
}

func agree(t *testing.T, m scraped, path string, checked bool) {
	t.Helper()
	var info struct {
		Messages, Streams, Connections, Gaps, Lost float64
		MessageBytes                               float64 `json:"message_bytes"`
	}
	unmarshal(t, command(t, "info", path, "-o", "json"), &info)
	for metric, want := range map[string]float64{
		"messages_total": info.Messages, "message_bytes_total": info.MessageBytes, "streams_total": info.Streams,
		"connections_total": info.Connections, "recorder_gaps_total": info.Gaps, "recorder_lost_entries_total": info.Lost,
		"streams_open": 0, "connections_ended_total": info.Connections, "recorder_failing": 0, "recorder_queue_limit_bytes": 64 << 20,
	} {
		if got := m.sum(metric); got != want {
			t.Errorf("%s is %v, and the recording says %v", metric, got, want)
		}
	}
	acks, nacks, sides, wire := map[string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
	out, err := command(t, "watch", path, "--no-follow", "-o", "jsonl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var e struct {
			Kind, Type, Side, What string
			WireSize               float64 `json:"wire_size"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		wire += e.WireSize
		if e.Kind == "message" {
			sides[e.Side]++
		}
		switch e.What {
		case "ACK":
			acks[e.Type]++
		case "NACK":
			nacks[e.Type]++
		}
	}
	if len(acks) < 5 || len(nacks) == 0 {
		t.Fatalf("the story has too little to compare: %v, %v", acks, nacks)
	}
	same(t, "ACKs", m.by("acks_total", "type"), acks)
	same(t, "NACKs", m.by("nacks_total", "type"), nacks)
	same(t, "messages by side", m.by("messages_total", "side"), sides)
	if got := m.sum("message_wire_bytes_total"); got != wire {
		t.Errorf("%v bytes on the wire, and the recording says %v", got, wire)
	}
	answers := map[string]float64{}
	for _, of := range []map[string]float64{acks, nacks} {
		for typ, n := range of {
			answers[typ] += n
		}
	}
	for typ, n := range m.by("answer_duration_seconds", "type") { // of an answer on another stream the time is not known
		if n > answers[typ] || n < answers[typ]/2 {
			t.Errorf("%v answers about %s took their time, and the recording has %v", n, typ, answers[typ])
		}
	}

	var report struct{ Findings []struct{ Rule string } }
	unmarshal(t, command(t, "check", path, "-o", "json"), &report)
	findings := map[string]float64{}
	for _, f := range report.Findings {
		findings[f.Rule]++
	}
	switch {
	case len(findings) == 0:
		t.Fatal("the story has no findings to compare")
	case !checked && m["xdsproxy_findings_total"] != nil:
		t.Error("findings are counted, and nothing looks for them")
	case checked:
		same(t, "findings", m.by("findings_total", "rule"), findings)
	}
}

// Hostile clients make up types, nodes and methods. The number of series does
// not depend on that.
func TestMetricsOfHostileClients(t *testing.T) {
	var parts []xdstest.Part
	url := func(i, j int) string {
		return fmt.Sprintf("type.googleapis.com/%s.T%d-%d", strings.Repeat("x", i), i, j)
	}
	for i := range 40 {
		parts = append(parts, xdstest.Part{xdstest.Hear(url(i, 19), ""), xdstest.End(0, "")})
	}
	server, err := xdstest.StartScript("127.0.0.1:0", parts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop() }()
	o := startOperable(t, "--upstream", server.Addr())
	play := func(from, to int) scraped {
		for i := from; i < to; i++ {
			var part xdstest.Part
			for j := range 20 {
				part = append(part, xdstest.Say(&discovery.DiscoveryRequest{
					TypeUrl: url(i, j), Node: &corev3.Node{Id: fmt.Sprintf("secret-node-%d", i)}, ResourceNames: []string{fmt.Sprintf("secret-name-%d", j)},
				}))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			method := xdstest.SotWStream
			if i%2 == 0 {
				method = fmt.Sprintf("/made.up%d/Method%d", i, i)
			}
			if err := xdstest.PlayClient(ctx, o.addr, method, part); err != nil {
				t.Error(err)
			}
			cancel()
		}
		return o.settled(t, float64(to))
	}
	few := play(0, 5)
	many := play(5, 40)
	if few.series() != many.series() {
		t.Errorf("%d series after 5 clients, %d after 40", few.series(), many.series())
	}
	if n := many.by("messages_total", "type"); n["none"]+n["other"] < 40 {
		t.Errorf("messages by type: %v", n)
	}
	if _, text := o.get(t, "/metrics"); strings.Contains(text, "secret-") || strings.Contains(text, "made.up") || strings.Contains(text, "xxx") {
		t.Error("the metrics hold what clients said")
	}
}

func TestUnreadyWhileDraining(t *testing.T) {
	o := startOperable(t, "--upstream", echo(t), "--drain", "24h")
	if code, body := o.get(t, "/readyz"); code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	// The beginning of a frame that never comes to its end.
	o.pass(t, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x06\x04\x00")
	o.signal(t, syscall.SIGTERM)
	if line, err := o.stderr.ReadString('\n'); err != nil || line != "stopping; again to stop at once\n" {
		t.Fatalf("%q, %v", line, err)
	}
	code, body := o.get(t, "/readyz")
	for range 6000 { // the signal was seen by one who need not be first
		if code != http.StatusOK {
			break
		}
		time.Sleep(10 * time.Millisecond)
		code, body = o.get(t, "/readyz")
	}
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
		t.Errorf("%d: %s", code, body)
	}
	if code, body := o.get(t, "/healthz"); code != http.StatusOK {
		t.Errorf("%d: %s", code, body)
	}
	if n := o.scrape(t).sum("connections_open"); n != 1 {
		t.Errorf("%v connections are open", n)
	}
	o.signal(t, syscall.SIGTERM)
	if stderr, code := o.end(t); code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// A recording that cannot be written makes the proxy unready, and what is lost
// is counted.
func TestUnreadyWithoutRecording(t *testing.T) {
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("prlimit is not installed: ", err)
	}
	story, err := xdstest.NewStory("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer story.Close()
	o := startOperable(t, "--upstream", story.Addr())
	limit := func(size string) {
		out, err := exec.Command("prlimit", "--pid", fmt.Sprint(o.Process.Pid), "--fsize="+size).CombinedOutput()
		if err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	limit("2048:")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := story.Play(ctx, o.addr, func(string) {}); err != nil {
		t.Fatal(err)
	}
	await := func(want int) (body string) {
		code := 0
		for range 6000 {
			if code, body = o.get(t, "/readyz"); code == want {
				return body
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("/readyz: %d %s", code, body)
		return ""
	}
	if body := await(http.StatusServiceUnavailable); !strings.Contains(body, "the recording cannot be written") {
		t.Errorf("%s", body)
	}
	m := o.scrape(t)
	if m.sum("recorder_failing") != 1 || m.sum("recorder_lost_entries_total") == 0 {
		t.Errorf("failing %v, lost %v", m.sum("recorder_failing"), m.sum("recorder_lost_entries_total"))
	}
	limit("unlimited:")
	if c, err := net.Dial("tcp", o.addr); err != nil { // something to write
		t.Error(err)
	} else {
		c.Close()
	}
	await(http.StatusOK)
	if m := o.scrape(t); m.sum("recorder_failing") != 0 {
		t.Error("it is still failing")
	}
}

// A recording that somebody else takes away is told of within a second or so, and
// goes on beside it; the end says what is true. What a client that was there
// before does wrong after that is found in the new file, in the default settings.
func TestRecordingTakenAway(t *testing.T) {
	const cds = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	response := func(n string) xdstest.Move {
		return xdstest.Say(&discovery.DiscoveryResponse{TypeUrl: cds, VersionInfo: n, Nonce: n})
	}
	server, err := xdstest.StartScript("127.0.0.1:0", xdstest.Part{
		xdstest.Hear(cds, ""), response("1"), xdstest.Hear(cds, "1"), xdstest.Hear(cds, "1"), response("2"), xdstest.Hear(cds, "2"), xdstest.End(0, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop() }()
	o := startOperable(t, "--upstream", server.Addr())
	path, next := o.path, strings.TrimSuffix(o.path, ".xdsp")+"-2.xdsp"
	before := uint64(0)
	loss := func() {
		var facts struct{ Entries uint64 }
		for range 6000 { // until all that was said is there
			if unmarshal(t, command(t, "info", "-o", "json", path), &facts); facts.Entries > 0 && facts.Entries == before {
				break
			}
			before = facts.Entries
			time.Sleep(100 * time.Millisecond)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
		body := ""
		for range 6000 {
			if _, body = o.get(t, "/readyz"); strings.Contains(body, "took away: 1") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(body, "took away: 1") {
			t.Errorf("/readyz: %q", body)
		}
		if n := o.scrape(t).sum("recorder_files_lost_total"); n != 1 {
			t.Errorf("%v files lost", n)
		}
	}
	ask := func(version, nonce string, e *statuspb.Status) xdstest.Move {
		return xdstest.Say(&discovery.DiscoveryRequest{
			Node: &corev3.Node{Id: "old-client"}, TypeUrl: cds, VersionInfo: version, ResponseNonce: nonce, ErrorDetail: e,
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := xdstest.PlayClient(ctx, o.addr, xdstest.SotWStream, xdstest.Part{
		ask("", "", nil), xdstest.Hear(cds, "1"), ask("1", "1", nil), xdstest.Do(loss), ask("1", "1", nil),
		xdstest.Hear(cds, "2"), ask("1", "2", &statuspb.Status{Code: 3, Message: "it is bad"}), xdstest.Alone(),
	}); err != nil {
		t.Fatal(err)
	}
	o.signal(t, syscall.SIGTERM)
	stderr, code := o.end(t)
	// Entries that tell of the time may have come since.
	lost := regexp.MustCompile(`, with (\d+) entries that no other file has; `).FindStringSubmatch(stderr)
	if lost == nil {
		t.Fatal(stderr)
	}
	if n, err := strconv.ParseUint(lost[1], 10, 64); err != nil || n < before {
		t.Errorf("%s entries were lost, and there were %d", lost[1], before)
	}
	entries := "with " + lost[1] + " entries that no other file has"
	for _, want := range []string{
		"the recording " + path + " was removed or renamed, " + entries + "; recording goes on in " + next,
		"lost " + path + ": it was removed or renamed at ", entries + "\n",
		"recorded " + next + ", ", "read it with: xdsproxy watch " + next,
	} {
		if code != 0 || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, stderr)
		}
	}
	out, err := command(t, "check", "--fail-on", "warning", next).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != console.ExitFindings ||
		!strings.Contains(string(out), "nack-received") || !strings.Contains(string(out), "old-client") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = command(t, "info", next).CombinedOutput()
	if want := "none, but " + lost[1] + " entries before it"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, no %q in\n%s", err, want, out)
	}
}

func TestAdminOnASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	r := startRun(t, "--upstream", echo(t), "--admin", "unix:"+path)
	if line, err := r.stderr.ReadString('\n'); err != nil || line != "health and metrics on unix:"+path+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
