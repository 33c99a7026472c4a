package report

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

const recordings = "../../check/testdata/"

// recording is one that is read from its file at each walk.
func recording(t testing.TB, name string) *part {
	t.Helper()
	p := &part{ctx: t.Context(), path: recordings + name + ".xdsp"}
	if err := p.walk(func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// unchosen is its walk: it chooses nothing.
func (p *part) unchosen(visit convert.Visit) error {
	return p.walk(func(e *session.Entry, c *check.Change, _ bool) error { return visit(e, c, false) })
}

func (p *part) options(rules []string, seqs ...session.Seq) *Options {
	return &Options{
		Program: "xdsproxy test", Facts: p.facts,
		Proof: convert.Proof{Findings: Choose(check.Fold(p.checker.Findings()), rules, seqs), Seqs: seqs, Way: MostWay},
	}
}

// zipped gathers and writes a zip, and gives back what is in it, by name.
func zipped(t testing.TB, p *part, o *Options) (map[string]string, *Bundle) {
	t.Helper()
	b, err := Gather(t.Context(), p.unchosen, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	path := filepath.Join(t.TempDir(), "report.zip")
	size, err := b.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, and %d bytes are said", info, err, size)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		in, err := z.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files, b
}

// Of each recording with a finding a zip is made, in which the rules find the same
// again, and every text of which is true of the recording in it.
func TestReportOfEach(t *testing.T) {
	files, err := filepath.Glob(recordings + "s*/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	made := 0
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), recordings), ".xdsp")
		p := recording(t, name)
		o := p.options(nil)
		if len(o.Proof.Findings) == 0 {
			continue
		}
		made++
		t.Run(name, func(t *testing.T) {
			in, b := zipped(t, p, o)
			checkZip(t, in, b, o)
		})
	}
	if made < 30 {
		t.Errorf("%d reports were made", made)
	}
}

func checkZip(t *testing.T, in map[string]string, b *Bundle, o *Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.xdsp")
	if err := os.WriteFile(path, []byte(in["session.xdsp"]), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := &part{ctx: t.Context(), path: path}
	seqs := map[session.Seq]bool{}
	if err := inside.walk(func(e *session.Entry, _ *check.Change, _ bool) error { seqs[e.Seq] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	var told struct{ Findings []render.Finding }
	if err := json.Unmarshal([]byte(in["findings.json"]), &told); err != nil {
		t.Fatal(err)
	}
	for _, f := range o.Proof.Findings {
		again := func(g render.Finding) bool { return g.Rule == f.Rule.ID && g.Client == f.Client && g.Type == f.Type }
		if !slices.ContainsFunc(told.Findings, again) {
			t.Errorf("%s of %q is not in findings.json", f.Rule.ID, f.Client)
		}
		if !strings.Contains(in["report.md"], "\n## "+f.Rule.ID+": ") || !strings.Contains(in["report.html"], `"`+f.Rule.ID+`"`) {
			t.Errorf("%s is not in the reports", f.Rule.ID)
		}
		if !slices.ContainsFunc(inside.checker.Findings(), func(g check.Finding) bool { return g.Rule.ID == f.Rule.ID && g.Client == f.Client }) {
			t.Errorf("%s of %q is not found again", f.Rule.ID, f.Client)
		}
	}
	if n := len(in["report.md"]); n > 60_000 {
		t.Errorf("report.md has %d bytes", n)
	}
	checkOrder(t, in["report.md"])
	if in["readable.txt"] != b.Survey.Text(0) {
		t.Error("readable.txt is not what was told")
	}
	for _, name := range []string{"report.md", "REPRODUCE.md"} {
		if regexp.MustCompile(`(?m)[ \t]$`).MatchString(strings.Join(outsideOfBlocks(in[name]), "\n")) {
			t.Errorf("%s has lines that end with spaces", name)
		}
		for _, line := range commands(in[name]) {
			checkCommand(t, name, line, in, seqs)
		}
	}
}

// checkOrder holds that what was found comes first, then whose fault it is, what of
// it was sent, and only then what happened, in which messages.
func checkOrder(t *testing.T, text string) {
	t.Helper()
	from := 0
	for _, want := range []string{"\n## Findings\n", ", fault ", "```text\n", "\nWhat to do: ", "\n## Clients\n", "\n## The recording\n", "\n## How to look at it\n", "`REPRODUCE.md` has the command"} {
		at := strings.Index(text[from:], want)
		if at < 0 {
			t.Fatalf("%q is not there, or not in its place, in\n%s", want, text)
		}
		from += at
	}
	if !strings.HasPrefix(text, "# xDS session report\n\n## Findings\n") {
		t.Errorf("it begins with %.80q", text)
	}
}

// checkCommand holds that a command names the file in the zip, and entries in that.
func checkCommand(t *testing.T, name, line string, in map[string]string, seqs map[session.Seq]bool) {
	t.Helper()
	words := strings.Fields(line)
	if words[0] != "xdsproxy" {
		t.Errorf("%s has the command %s", name, line)
		return
	}
	if words[1] == "explain" {
		return
	}
	if in[words[2]] == "" && !strings.Contains(in[name], "-w "+words[2]) {
		t.Errorf("%s: there is no %s for %s", name, words[2], line)
	}
	var numbers []string
	switch words[1] {
	case "show":
		numbers = words[3:]
	case "export":
		numbers = strings.Split(words[4], ",")
	case "bisect":
		numbers = words[3:4]
	}
	for _, n := range numbers {
		if seq, err := strconv.ParseUint(n, 10, 64); err != nil || !seqs[session.Seq(seq)] {
			t.Errorf("%s: there is no entry %s for %s", name, n, line)
		}
	}
}

var fences = regexp.MustCompile("(?s)(?:^|\n)```+([a-z]*)\n(.*?)\n```+(?:\n|$)")

func outsideOfBlocks(text string) []string { return fences.Split(text, -1) }

func commands(text string) (lines []string) {
	for _, m := range fences.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" {
			lines = append(lines, strings.FieldsFunc(m[2], func(r rune) bool { return r == '\n' })...)
		}
	}
	return lines
}

// How it is seen again depends on what was recorded: nothing is told that cannot
// work.
func TestReproduce(t *testing.T) {
	for _, c := range []struct {
		name         string
		want, absent []string
	}{
		{"sessions/envoy-sotw-nack", []string{"With Envoy, in the PATH", "xdsproxy replay session.xdsp -- envoy\n", "xdsproxy bisect session.xdsp ", " --as client --target HOST:PORT", "`envoy 1.40.0`"}, []string{"--help"}},
		{"sessions/grpc-go-nack", []string{"xdsproxy replay session.xdsp -- ./your-grpc-client\n", "`gRPC Go "}, []string{"-- envoy"}},
		{"systems/adsc-delta", []string{"-- ./your-client\n"}, []string{"envoy", "The client said"}},
		{"sessions/rest-nack", []string{"It cannot be played again", "xdsproxy check session.xdsp"}, []string{"xdsproxy replay"}},
		{"systems/consul-sotw-envoy", []string{"--as client --target"}, []string{"-- envoy", "bisect"}},
		{"sessions/server-offers-no-delta", []string{"--as client --target"}, []string{"-- ./your-client"}},
	} {
		p := recording(t, c.name)
		in, _ := zipped(t, p, p.options(nil))
		text := in["REPRODUCE.md"]
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in\n%s", c.name, want, text)
			}
		}
		for _, absent := range c.absent {
			if strings.Contains(text, absent) {
				t.Errorf("%s: there is %q in\n%s", c.name, absent, text)
			}
		}
	}
}

// What can be read in a recording is listed: names that were asked for and never
// sent, those within a resource, values of metadata, whom certificates name, and
// addresses that are a part of a name.
func TestSurvey(t *testing.T) {
	for _, c := range []struct {
		name   string
		listed []string
		absent []string
	}{
		{"systems/istio-sidecar-delta", []string{
			"readable clients: 2\n", "\n  sidecar~10.10.10.10~web-1.default~default.svc.cluster.local\n", "\n  outbound|80|v1|web.example.com\n",
			"\n  virtualInbound-catchall-http\n", "\n  240.240.0.77\n", "\n  NAMESPACE: default\n", "\n  web.example.com\n",
		}, []string{"envoy.filters", "0.0.0.0\n"}},
		{"systems/consul-nack", []string{"masked: 3 values", "CDS inline_string (2)", "\n  spiffe://5b041f18-2398-a9c4-4ac4-c4ee9c48aecf.consul/ns/default/dc/dc1/svc/web\n", "\n  namespace: default\n"}, []string{"MinimumRingSize"}},
		{"sessions/envoy-delta-route-to-nowhere", []string{"\n  wbe\n"}, nil},
	} {
		p := recording(t, c.name)
		in, _ := zipped(t, p, p.options(nil))
		text := in["readable.txt"]
		for _, want := range c.listed {
			if !strings.Contains("\n"+text, want) {
				t.Errorf("%s: there is no %q in\n%s", c.name, want, text)
			}
		}
		for _, absent := range c.absent {
			if strings.Contains(text, absent) {
				t.Errorf("%s: there is %q in\n%s", c.name, absent, text)
			}
		}
	}
}

// What a config_dump has is listed, too, and what was masked in it.
func TestSurveyOfDump(t *testing.T) {
	dump := []byte(`{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","cluster":{"name":"bank-core","load_assignment":
		{"endpoints":[{"address":"10.20.30.40","port_value":80},{"address":"vault"}]}},"domains":["Pay.Example.COM",["x"]],"note":"at 192.168.7.9_443"},
		{"bootstrap":{"node":{"id":"gw","metadata":{"owner":"team-pay","deep":[{"x":"y"}]},"extensions":[{"name":"dubbo","category":"c"}]}}},
		{"password":"hunter2-hunter2-hunter2-hunter2"}]}`)
	if !mask.New().JSON(dump) {
		t.Fatal("it cannot be masked")
	}
	p := recording(t, "sessions/demo")
	o := p.options(nil)
	o.Dump = dump
	in, _ := zipped(t, p, o)
	if in["config_dump.json"] != string(dump) {
		t.Error("it is not in the zip")
	}
	for _, want := range []string{"config_dump password (1)", "\n  bank-core\n", "\n  10.20.30.40\n", "\n  192.168.7.9\n", "\n  vault\n", "\n  Pay.Example.COM\n", "\n  owner: team-pay\n", "\n  x: y\n"} {
		if !strings.Contains(in["readable.txt"], want) {
			t.Errorf("there is no %q in\n%s", want, in["readable.txt"])
		}
	}
	if strings.Contains(in["readable.txt"], "dubbo") {
		t.Errorf("extensions are listed in\n%s", in["readable.txt"])
	}
}

// Whatever a JSON text looks like, it is looked through without a panic, and no list
// gets longer than its bound.
func FuzzSurveyDump(f *testing.F) {
	for _, s := range []string{"", "{", "]", `{"a":[1,{"b":"10.0.0.1_80"}],"c":{}}`, `[[[]]]`, `{"name":"x"}}`, `"-----BEGIN CERTIFICATE-----"`, `{"a":{"name":"b"},"domains":["\u202e.example.com"]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := NewSurvey()
		s.Dump([]byte(text))
		if told := s.Text(0); strings.ContainsAny(told, "\x00\x1b\u202e\u2028") {
			t.Errorf("%q", told)
		}
	})
}

// A file that exists stays as it is, and nothing is left of a report that cannot be
// made or written.
func TestReportLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := func(where string) {
		t.Helper()
		if all, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); err != nil || len(all) > 0 {
			t.Errorf("%s: left are %q, %v", where, all, err)
		}
	}
	p := recording(t, "sessions/demo")
	o := p.options([]string{"nack-received"})
	b, err := Gather(t.Context(), p.unchosen, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "there.zip")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that exists: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("it is %q, %v", text, err)
	}
	if info, err := os.Stat(b.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into %v, %v", info, err)
	}
	if err := os.Remove(filepath.Join(b.dir, findingsFile)); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.zip")
	if _, err := b.Write(half); err == nil {
		t.Error("it is written without one of its files")
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("half of a zip is left")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	left("closed")

	stop, n := errors.New("the source is gone"), 0
	if _, err := Gather(t.Context(), func(visit convert.Visit) error {
		if n++; n > 2 {
			return stop
		}
		return p.unchosen(visit)
	}, o); !errors.Is(err, stop) {
		t.Errorf("a source that goes away: %v", err)
	}
	left("the source went away")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Gather(ctx, p.unchosen, o); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	left("interrupted")
}

// A zip that nobody named is named after its source, also after an address.
func TestFileOf(t *testing.T) {
	for source, want := range map[string]string{
		"gw.xdsp": "gw-report.zip", "a/gw.v1.xdsp": "gw.v1-report.zip", "127.0.0.1:19000": "127.0.0.1-19000-report.zip",
		"[::1]:19000": "---1--19000-report.zip", "unix:/run/xds.sock": "xds.sock-report.zip", "lds.yaml": "lds-report.zip",
	} {
		if got := FileOf(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// A rule that is named has its finding in the report, however many graver ones there
// are of another.
func TestChooseOfEachRule(t *testing.T) {
	rules := check.Rules()
	var found []check.Finding
	for n := range 9 {
		found = append(found, check.Finding{Rule: rules[0], Severity: check.Error, Seqs: []session.Seq{session.Seq(n + 1)}})
	}
	found = append(found, check.Finding{Rule: rules[1], Severity: check.Info, Seqs: []session.Seq{20}})
	got := Choose(found, []string{rules[0].ID, rules[1].ID}, nil)
	if len(got) != MostFindings || got[MostFindings-1].Rule != rules[1] {
		t.Errorf("%d findings: %v", len(got), got)
	}
	if none := Unfound(found, []string{rules[1].ID, rules[2].ID}); !slices.Equal(none, []string{rules[2].ID}) {
		t.Errorf("not found are %q", none)
	}
}

// The gravest findings are chosen, or those that were named; a note only by its name.
func TestChoose(t *testing.T) {
	found := check.Fold(recording(t, "sessions/demo").checker.Findings())
	for _, c := range []struct {
		rules []string
		seqs  []session.Seq
		want  string
	}{
		{nil, nil, "nack-received pgv-constraint nack-immediate-resend"},
		{[]string{"pgv-constraint"}, nil, "pgv-constraint"},
		{[]string{"server-closed-stream"}, nil, "server-closed-stream server-closed-stream"},
		{nil, []session.Seq{50}, "nack-immediate-resend"},
		{[]string{"ack-missing"}, nil, ""},
	} {
		var got []string
		for _, f := range Choose(found, c.rules, c.seqs) {
			got = append(got, f.Rule.ID)
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q, %v: %q, want %q", c.rules, c.seqs, got, want)
		}
	}
}
