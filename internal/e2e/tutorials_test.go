package e2e

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Pages are followed as a reader would: what stands in their fences is typed into
// one shell, in order, and what it prints is compared with the page.
//
//	```sh       is typed, and what it prints is not shown on the page
//	```console  has commands behind "$ ", and what they print below
//
// A line "..." on a page stands for any lines. What differs from run to run is
// made alike on both sides by the rules of varies.

var writePages = flag.Bool("pages", false, "write what the commands of the tutorials print into the pages")

// varies says what of an output is different every time, and nothing else.
var varies = []struct {
	what string
	re   *regexp.Regexp
	to   string
}{
	{"times of day, and dates", regexp.MustCompile(`(\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{"parts of seconds", regexp.MustCompile(`\b(\d+\.\d+(ns|µs|ms|s)|\d+(ns|µs|ms))\b`), "SPAN"},
	{"how long ago something was", regexp.MustCompile(`\b(SYNCED|NOTSENT|NACKED|yes|accepted) +\d+(m\d+s|m|s)\b`), "$1 SPAN"},
	{"how long ago, in the last column", regexp.MustCompile(`(?m)  +\d+(m\d+s|m|s)$`), "  SPAN"},
	{"ports that the system chose", regexp.MustCompile(`127\.0\.0\.1:(3[2-9]|[45]\d|60)\d{3}\b`), "127.0.0.1:PORT"},
	{"numbers of entries in text", regexp.MustCompile(`\b(entry|entries) \d+(, \d+)*`), "ENTRIES"},
	{"numbers of entries behind a verdict", regexp.MustCompile(`ED by \d+`), "ED by ENTRY"},
	{"numbers of entries before a time", regexp.MustCompile(`(?m)\d+ +TIME`), "SEQ TIME"},
	{"sizes", regexp.MustCompile(`\b\d+(\.\d+)?( ?[KM]i?B|k)\b`), "SIZE"},
	{"where the files are", regexp.MustCompile(`/[^ ]*/([a-z]+\.[a-z]+)\b`), "$1"},
	{"versions of the client", regexp.MustCompile(`\((envoy|gRPC) [^)]*\)`), "($1)"},
	{"how wide columns are", regexp.MustCompile(`[ \t]+`), " "},
}

func alike(text string) string {
	for _, v := range varies {
		text = v.re.ReplaceAllString(text, v.to)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// shows reports whether a page shows an output.
func shows(page, output string) bool {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i, line := range strings.Split(alike(page), "\n") {
		if line == "..." {
			b.WriteString(`(\n?[^\n]*)*?`)
			continue
		}
		if i > 0 {
			b.WriteString(`\n?`)
		}
		b.WriteString(regexp.QuoteMeta(line))
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String()).MatchString(alike(output))
}

// ports are those that pages speak of. Tests use others, so that they can run at the
// same time.
var ports = regexp.MustCompile(`\b(9901|10000|15010|15011|18000|19000|50051)\b`)

// again are commands that only look, and so can be repeated until what they look at
// has come to pass.
var again = regexp.MustCompile(`^(curl|xdsproxy (status|watch|show|check|pushes|tree|diff|info)) `)

// step is something that a page says to type.
type step struct {
	text string
	line int
	out  int    // where the output stands in the lines of the page, and how far
	end  int    //
	want string // what the page shows
	show bool   // whether it shows anything
}

func stepsOf(page string) (steps []step) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case lines[i] == "```sh":
			s := step{line: i + 2}
			for i++; lines[i] != "```"; i++ {
				s.text += lines[i] + "\n"
			}
			steps = append(steps, s)
		case lines[i] == "```console":
			for i++; lines[i] != "```"; {
				s := step{line: i + 1, show: true, text: strings.TrimPrefix(lines[i], "$ ") + "\n", out: i + 1}
				for i++; lines[i] != "```" && !strings.HasPrefix(lines[i], "$ "); i++ {
					s.want += lines[i] + "\n"
				}
				s.end = i
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// typist follows a page in a shell.
type typist struct {
	dir, file string
	cmd       *exec.Cmd
	in        *os.File
	out       *bufio.Reader
	there     map[string]string // ports of the page, and of the test
	back      map[string]string
}

func openShell(t *testing.T) *typist {
	t.Helper()
	for _, need := range []string{"bash", "curl", "git", "make", "python3"} {
		if _, err := exec.LookPath(need); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(program(t), filepath.Join(bin, "xdsproxy")); err != nil {
		t.Fatal(err)
	}
	// Several Envoys on one machine must not share memory.
	for name, path := range map[string]string{
		"envoy": envoyPath(t), "envoy-1.40": envoyPath(t), "envoy-1.38": tool(t, "envoys", "1.38.3", "envoy", "_bin", "envoy"),
	} {
		script := "#!/bin/sh\ncase \" $* \" in *' --disable-hot-restart '*) ;; *) set -- --disable-hot-restart \"$@\" ;; esac\n" +
			"exec '" + path + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &typist{dir: dir, file: filepath.Join(bin, "typed"), there: map[string]string{}, back: map[string]string{}}
	s.cmd = exec.Command("bash", "--norc", "--noprofile")
	s.cmd.Dir = dir
	s.cmd.Env = append(quietEnv(t), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+filepath.Dir(tool(t, "grpc-core", "grpc")))
	ownGroup(s.cmd)
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = in, out, out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	s.in, s.out = stdin, bufio.NewReader(stdout)
	t.Cleanup(func() {
		killGroup(s.cmd)
		stdin.Close()
		_ = s.cmd.Wait()
		stdout.Close()
		// What it started writes into the directory as long as it lives.
		for i := 0; i < 500 && groupLives(s.cmd); i++ {
			time.Sleep(10 * time.Millisecond)
		}
	})
	return s
}

// freePort is one that nobody listens on, and none that a page has.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		_, port, _ := net.SplitHostPort(freeAddr(t))
		if !ports.MatchString(port) {
			return port
		}
	}
}

// do types a text and returns what is printed, and the exit code.
func (s *typist) do(t *testing.T, text string) (string, string) {
	t.Helper()
	text = ports.ReplaceAllStringFunc(text, func(port string) string {
		if s.there[port] == "" {
			s.there[port] = freePort(t)
			s.back[s.there[port]] = port
		}
		return s.there[port]
	})
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// What waits for something that never comes is ended, so that the page is named.
	defer time.AfterFunc(2*patience, func() { killGroup(s.cmd) }).Stop()
	const mark = "\x01done"
	if _, err := fmt.Fprintf(s.in, "source '%s' </dev/null; printf '\\n\\001done %%d\\n' $?\n", s.file); err != nil {
		t.Fatalf("the shell is gone: %v", err)
	}
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if code, ok := strings.CutPrefix(line, mark+" "); ok {
			out := strings.TrimSuffix(b.String(), "\n")
			for mine, port := range s.back {
				out = strings.ReplaceAll(out, mine, port)
			}
			return out, strings.TrimSpace(code)
		}
		b.WriteString(line)
		if err != nil {
			t.Fatalf("the shell ended: %v\n%s", err, b.String())
		}
	}
}

// follow does what a page says.
func follow(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(string(page))
	if len(steps) == 0 {
		t.Fatal("nothing on this page can be typed")
	}
	s := openShell(t)
	lines, moved := strings.Split(string(page), "\n"), 0
	for _, step := range steps {
		out, code := s.do(t, step.text)
		if *writePages && step.show && again.MatchString(step.text) {
			time.Sleep(2 * time.Second)
			out, code = s.do(t, step.text)
		}
		for end := time.Now().Add(patience); step.show && !*writePages && again.MatchString(step.text) && !shows(step.want, out) && time.Now().Before(end); {
			time.Sleep(200 * time.Millisecond)
			out, code = s.do(t, step.text)
		}
		switch {
		case !step.show:
			if code != "0" {
				t.Fatalf("%s:%d: exit code %s\n%s%s", path, step.line, code, step.text, out)
			}
		case shows(step.want, out):
		case *writePages:
			now := strings.Split(strings.TrimRight(out, "\n"), "\n")
			if out == "" {
				now = nil
			}
			lines = append(lines[:step.out+moved:step.out+moved], append(now, lines[step.end+moved:]...)...)
			moved += len(now) - (step.end - step.out)
		default:
			t.Fatalf("%s:%d: %s\nprints (exit code %s)\n%s\nand the page shows\n%s", path, step.line, step.text, code, alike(out), alike(step.want))
		}
	}
	if *writePages && strings.Join(lines, "\n") != string(page) {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each tutorial, typed as it is written, against a real client and a control plane
// that errs as it says.
func TestTutorials(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		if filepath.Base(page) == "README.md" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			follow(t, page)
		})
	}
}

// A page that says something else is noticed.
func TestTutorialsNotice(t *testing.T) {
	for _, c := range []struct {
		page, output string
		same         bool
	}{
		{"web SYNCED 3.9s", "web   SYNCED 12ms\n", true},
		{"web SYNCED 3.9s", "web   NACKED 12ms\n", false},
		{"web SYNCED 3.9s  4.0s", "web   SYNCED 12s   1m2s\n", true},
		{"connect_timeout: 5s", "connect_timeout: 0s", false},
		{"within 15s", "within 16s", false},
		{"ACKED by 8", "ACKED by 11", true},
		{"ACKED by 8", "NACKED by 11", false},
		{"a\n...\nd", "a\nb\nc\nd", true},
		{"a\n...\nd", "a\nb\nc", false},
		{"...\nd", "a\nd", true},
		{"", "a", false},
		{"a", "", false},
		{"entries 8, 9; fault", "entries 17, 19; fault", true},
		{"   1 17:22:24.089 web CDS NACK", "  12 01:02:03.004 web CDS NACK", true},
		{"listening on 127.0.0.1:37511", "listening on 127.0.0.1:44937", true},
		{"listening on 127.0.0.1:15010", "listening on 127.0.0.1:15011", false},
	} {
		if got := shows(c.page, c.output); got != c.same {
			t.Errorf("%q for %q: %v", c.page, c.output, got)
		}
	}
}
