//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built puts scripts in the place of what is built, and says with what go was called.
func built(t *testing.T, with map[string]string) (called func() string) {
	t.Helper()
	b := programs(t, with)
	dir := t.TempDir()
	args := filepath.Join(dir, "args")
	text := "#!/bin/sh\necho \"$@\" >" + args + "\ncp " + b.dir + "/* \"$3\"\n"
	if own, is := with["go"]; is {
		text = "#!/bin/sh\n" + own + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		b, err := os.ReadFile(args)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// printed is what a run prints, and how it ends.
func printed(t *testing.T, o options) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	own := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = own }()
	ended := run(t.Context(), o)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), ended
}

// The tables are printed and put into a file, and each measurement is kept.
func TestRun(t *testing.T) {
	called := built(t, nil)
	dir := t.TempDir()
	page, raw := filepath.Join(dir, "page.md"), filepath.Join(dir, "raw")
	if err := os.WriteFile(page, []byte("above\n"+begin+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := printed(t, options{rounds: 2, loads: "pingpong", relays: "direct,xdsproxy", update: page, raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"### One stream, 1.1 KB responses, as fast as acknowledged\n",
		"| direct |  |  |  |  |  |  | 7.00 us (7.00-7.00) |  |  |  | 0 |  |\n",
		"| xdsproxy | 3.00 us (3.00-3.00) |  |  |  |  |",
		". Rounds: 2, interleaved;",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != "above\n"+begin+text+end+"below\n" {
		t.Errorf("the page is %s, %v", b, err)
	}
	kept := func(path string) (of []string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var s sample
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatal(err)
			}
			of = append(of, s.Relay)
		}
		return of
	}
	if got := strings.Join(kept(raw), " "); got != "direct xdsproxy xdsproxy direct" {
		t.Errorf("%s are kept", got)
	}
	if got := called(); !strings.HasSuffix(got, "/ ./cmd/xdsproxy ./internal/bench/xdsload ./internal/bench/bigrecording ./internal/bench/readonly\n") || !strings.HasPrefix(got, "build -o ") {
		t.Errorf("go is called with %s", got)
	}

	// Against an older program, and with tasks.
	old := programs(t, nil)
	_ = os.Remove(raw)
	text, err = printed(t, options{rounds: 1, loads: "pingpong,offline", against: old.bin("xdsproxy"), raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kept(raw), " "); got != "xdsproxy-old xdsproxy decompressing reading xdsproxy xdsproxy-old xdsproxy xdsproxy-old xdsproxy xdsproxy-old" {
		t.Errorf("%s are kept", got)
	}
	for _, line := range []string{". Old: unknown. New: unknown. Rounds: 1, ", "### Recording, with rules: ", "| pingpong | 3.00 us | 3.00 us | 1.00 |", "| script-1000000 | ", "CPU per response at most 1.03 of old: pingpong yes (1.000, too few rounds to tell); check "} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

// A run that measures something wrong says so behind its tables, and one that cannot
// build says that.
func TestRunFails(t *testing.T) {
	built(t, map[string]string{"xdsload": `echo '{"responses": 4999}'`})
	text, err := printed(t, options{rounds: 1, loads: "pingpong", relays: "direct"})
	if err == nil || err.Error() != "pingpong through direct: 4999 of 5000 responses, 0 damaged, 0 streams failed: " || !strings.Contains(text, "| direct |") {
		t.Errorf("%v\n%s", err, text)
	}
	for want, o := range map[string]options{
		"open " + t.TempDir() + ": is a directory": {raw: t.TempDir()},
		"open nowhere: no such file or directory":  {update: "nowhere"},
	} {
		o.rounds, o.loads, o.relays = 1, "pingpong", "direct"
		if _, err := printed(t, o); err == nil || o.update != "" && err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	built(t, map[string]string{"go": "exit 3"})
	if _, err := printed(t, options{rounds: 1, loads: "pingpong", relays: "direct"}); err == nil || err.Error() != "go build ./cmd/xdsproxy ./internal/bench/xdsload ./internal/bench/bigrecording ./internal/bench/readonly: exit status 3" {
		t.Error(err)
	}
}

// programArgs has what the program is called with, where this test program is it.
const programArgs = "XDSPROXY_BENCH_TEST_ARGS"

// The program ends with 1 and a sentence where something is wrong, and with a hint where
// there is one.
func TestProgram(t *testing.T) {
	if args := os.Getenv(programArgs); args != "" {
		flag.CommandLine = flag.NewFlagSet("bench", flag.ExitOnError) // without those of tests
		os.Args = append([]string{"bench"}, strings.Fields(args)...)
		main()
		return
	}
	built(t, nil)
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte(begin+end), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		code int
		errs string // that it ends with
		has  string // on standard output
	}{
		{"-rounds 1 -loads pingpong -relays direct -update " + page, 0, "", "| direct | "},
		{"-rounds -1", 1, "bench: -rounds -1 measures nothing\n", ""},
		{"-against /none -update " + page, 1, "bench: -update does not go with -against, whose tables have no place in a file\n", ""},
		{"-against /none", 1, "bench: -against cannot run /none: no such file or directory\nbench: hint: in a checkout of an older commit, go build -o OLD ./cmd/xdsproxy makes one\n", ""},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProgram$")
		cmd.Env = append(os.Environ(), programArgs+"="+tc.args)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.HasSuffix(errs.String(), tc.errs) || !strings.Contains(out.String(), tc.has) || tc.code == 1 && errs.String() != tc.errs {
			t.Errorf("%s: %d\n%s%s", tc.args, code, out.String(), errs.String())
		}
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "| direct | ") {
		t.Errorf("the page is %s, %v", text, err)
	}
}

// What is not installed is left out, and what is ours is built.
func TestPrepare(t *testing.T) {
	called := built(t, nil)
	b := &bench{dir: t.TempDir(), log: &bytes.Buffer{}}
	got, err := b.prepare(t.Context(), []relay{{name: direct}, {name: "none", program: "no-such-program-here"}, {name: "sh", program: "sh"}, {name: floor, pkg: "./internal/bench/tcprelay"}, {name: withRules, pkg: ownPackage}})
	if err != nil || names(got) != "direct,sh,tcprelay,xdsproxy" || b.log.(*bytes.Buffer).String() != "bench: going on without none: it is not installed\n" {
		t.Errorf("%s, %v, %s", names(got), err, b.log)
	}
	if got := called(); strings.Count(got, "./cmd/xdsproxy") != 1 || !strings.HasSuffix(got, " ./internal/bench/tcprelay\n") {
		t.Errorf("go is called with %s", got)
	}
}

// Figures in words, at the bounds.
func TestWordsOfFigures(t *testing.T) {
	for f, want := range map[float64]string{0: "0.00", 9.994: "9.99", 10: "10.0", 99.94: "99.9", 100: "100", 1234.5: "1234"} {
		if got := digits(f); got != want {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_000_000: "1,000,000", 12_034: "12,034"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for want, values := range map[string][]float64{"": nil, "0.50": {.5}, "0.75 (0.50-1.00)": {.5, 1}} {
		if got := spreadRatios(values); got != want {
			t.Errorf("%v is %s, want %s", values, got, want)
		}
	}
	lost := table{
		{Recording: &recording{Messages: 5, Expected: 5, FileSize: 2e6}}, {}, {Recording: &recording{Messages: 3, Expected: 5, FileSize: 1.5e6}}, {Recording: &recording{Messages: 4, Expected: 5}},
	}
	if got := recorded(lost); got != "3 of 5, 1.5 MB" {
		t.Error(got)
	}
	if got := recorded(lost[:1]); got != "5 of 5, 2.0 MB" {
		t.Error(got)
	}
}

// Relays that announce nothing are up when they accept, and of what they say no more is kept than so much.
func TestStart(t *testing.T) {
	at, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	b := programs(t, nil)
	r := relay{name: "silent", command: tcprelay, hint: "mend it"}
	if err := os.WriteFile(b.bin("tcprelay"), []byte("#!/bin/sh\necho why >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := r.start(t.Context(), b, b.dir, at, at); err == nil || err.Error() != "silent ended before it was ready: why" || err.(hinted).hint != "mend it" {
		t.Errorf("%v", err)
	}
	var out tail
	for range tailLimit/1000 + 2 {
		if n, err := out.Write(bytes.Repeat([]byte("x"), 1000)); n != 1000 || err != nil {
			t.Error(n, err)
		}
	}
	if out.buf.Len() < tailLimit || out.buf.Len() > tailLimit+1000 {
		t.Errorf("%d bytes are kept", out.buf.Len())
	}
}
