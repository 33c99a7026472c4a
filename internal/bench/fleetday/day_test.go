package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

var (
	update = flag.Bool("update", false, "write the example answers of docs/fleet.md")
	full   = flag.Bool("full", false, "simulate the whole day, and print what it takes")
)

// small is a day that takes seconds, unless the whole one is asked for.
func small() options {
	if *full {
		return options{proxies: 100, services: 50, churn: 3, length: 24 * time.Hour, every: time.Minute, segment: 6 * time.Hour, seed: 1, faults: true}
	}
	return options{proxies: 24, services: 20, churn: 3, length: 3 * time.Hour, every: time.Minute, segment: time.Hour, seed: 1, faults: true}
}

func simulated(t *testing.T, o options) *report {
	t.Helper()
	o.dir = filepath.Join(t.TempDir(), "archive")
	o.begin = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	r, err := simulate(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// program builds xdsproxy.
func program(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "xdsproxy")
	if err := gobuild.Program(exec.Command("go", "build", "-o", out, "../../../cmd/xdsproxy")); err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a command, whose exit code has to be one of those.
func run(t *testing.T, cmd *exec.Cmd, codes ...int) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(codes, code) {
		t.Fatalf("%s: exit code %d\n%s", cmd, code, errs.Bytes())
	}
	return out.Bytes()
}

// The same seed gives the same entries, and another one does not. That the files have
// other bytes is the writer's time, which ends blocks.
func TestSameSeedSameDay(t *testing.T) {
	o := small()
	o.proxies = 20
	days := make([]map[string][]string, 3)
	for i := range days {
		o.seed = []uint64{7, 7, 8}[i]
		days[i] = entriesOf(t, simulated(t, o).Dir)
	}
	if !maps.EqualFunc(days[0], days[1], slices.Equal) {
		t.Error("the same seed gives another day")
	}
	if maps.EqualFunc(days[0], days[2], slices.Equal) {
		t.Error("another seed gives the same day")
	}
	if *full {
		return
	}
	// Nor does it become another one unnoticed: what was measured of it could not be compared.
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(days[0])) {
		h := fnv.New64a()
		for _, e := range days[0][name] {
			fmt.Fprintln(h, e)
		}
		fmt.Fprintf(&got, "%016x of %d entries: %s\n", h.Sum64(), len(days[0][name]), name)
	}
	const file = "testdata/day.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got.String() {
		t.Errorf("%v: it is another day than that of %s, which -update writes anew:\n%s", err, file, got.String())
	}
}

// A day that would be none is refused, at the least that each size may be.
func TestTooLittle(t *testing.T) {
	least := options{dir: filepath.Join(t.TempDir(), "day"), proxies: 20, services: 12, churn: 6, length: 3 * time.Hour, every: 15 * time.Minute, segment: 3 * time.Hour, seed: 1, faults: true}
	if _, err := write(least, "2026-11-25T00:00:00Z"); err != nil {
		t.Errorf("the least: %v", err)
	}
	for name, change := range map[string]func(o *options){
		"directory": func(o *options) { o.dir = "" }, "proxies": func(o *options) { o.proxies-- }, "services": func(o *options) { o.services-- },
		"too much churn": func(o *options) { o.churn++ }, "too little churn": func(o *options) { o.churn = 1 }, "length": func(o *options) { o.length-- },
		"pushes": func(o *options) { o.every = time.Second - 1 }, "too few pushes": func(o *options) { o.every += time.Second }, "segments": func(o *options) { o.segment = 0 },
	} {
		o := least
		o.dir += "-" + name
		change(&o)
		if _, err := write(o, "2026-11-25T00:00:00Z"); err == nil {
			t.Errorf("%s: it is written", name)
		}
	}
	if _, err := write(least, "yesterday"); err == nil {
		t.Error("it begins at no time")
	}
}

// entriesOf are the entries of all segments below a directory.
func entriesOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		r, err := recorder.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		name, _ := filepath.Rel(dir, path)
		for e, err := range r.Entries(context.Background()) {
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(e.Problems) > 0 {
				t.Errorf("%s: entry %d: %s", path, e.Seq, e.Problems)
			}
			if e.Kind == session.KindTime {
				continue // it has another segment begin, and is in the old one or in the new one
			}
			text := fmt.Sprint(e.Seq, e.Time.UnixNano(), e.Conn, e.Stream, e.Side, e.Kind, e.Method, e.Carried)
			if e.Message != nil {
				// A mask is another one each time.
				text += fmt.Sprint(e.Message.Size, e.Message.Masked)
				if !e.Message.Masked {
					text += string(e.Message.Data.Bytes())
				}
			}
			out[name] = append(out[name], text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// finding is what this test reads of the JSON that check prints.
type finding struct {
	Rule     string   `json:"rule"`
	Client   string   `json:"client"`
	Clients  []string `json:"clients"`
	Severity string   `json:"severity"`
	Message  string   `json:"message"`
}

// found are the findings of check, each with its clients.
func found(t *testing.T, xdsproxy string, source ...string) []string {
	t.Helper()
	var out struct{ Findings []finding }
	args := append([]string{"check", "--info", "--fail-on", "never", "-o", "json"}, source...)
	if err := json.Unmarshal(run(t, exec.Command(xdsproxy, args...), 0), &out); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range out.Findings {
		clients := f.Clients
		if len(clients) == 0 && f.Client != "" {
			clients = []string{f.Client}
		}
		all = append(all, line(f.Rule, clients))
	}
	slices.Sort(all)
	return all
}

func line(rule string, clients []string) string {
	clients = slices.Clone(clients)
	slices.Sort(clients)
	return rule + " " + strings.Join(clients, " ")
}

// expected are the findings of what was planted: of each fault and rule one, with all
// clients that have it.
func expected(r *report) []string {
	var all []string
	for _, f := range r.Faults {
		var clients []string
		for _, at := range f.Where {
			if at.Client != "" {
				clients = append(clients, at.Client)
			}
		}
		for _, rule := range f.Findings {
			all = append(all, line(rule, clients))
		}
	}
	slices.Sort(all)
	return all
}

func compareFindings(t *testing.T, got, want []string) {
	t.Helper()
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("nobody planted %s", f)
		}
	}
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("not found: %s", f)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, not %d", len(got), len(want))
	}
}

// Where nothing is planted nothing is found, notes included.
func TestNothingPlantedNothingFound(t *testing.T) {
	o := small()
	o.faults = false
	if got := found(t, program(t), simulated(t, o).Dir); len(got) > 0 {
		t.Errorf("%d findings, such as\n%s", len(got), strings.Join(got[:min(len(got), 10)], "\n"))
	}
}

// Everything that was planted is found, once each, in a directory and in a bucket; and
// tables that are exported of the bucket have the same answers.
func TestEverythingPlantedIsFound(t *testing.T) {
	xdsproxy, r := program(t), simulated(t, small())
	want := expected(r)
	if len(r.Faults) != len(catalogue) {
		t.Fatalf("%d faults are planted, of %d", len(r.Faults), len(catalogue))
	}
	t.Run("directory", func(t *testing.T) { compareFindings(t, found(t, xdsproxy, r.Dir), want) })
	t.Run("bucket", func(t *testing.T) {
		bucket := uploaded(t, r.Dir)
		compareFindings(t, found(t, xdsproxy, bucket), want)
		tables := filepath.Join(t.TempDir(), "fleet")
		run(t, exec.Command(xdsproxy, "export", bucket, "-o", "parquet", "-w", tables), 0)
		for name, answer := range ask(t, "duckdb", questions(t, "duckdb", tables)) {
			compareRows(t, name, lines(answer.Rows), lines(r.Answers[name]))
		}
	})
}

// uploaded puts an archive into a bucket of moto.
func uploaded(t *testing.T, dir string) string {
	t.Helper()
	client := s3test.Start(t, false).Client()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, _ := filepath.Rel(dir, path)
		_, err = client.Client.FPutObject(context.Background(), "fleet", "mesh/"+filepath.ToSlash(key), path, minio.PutObjectOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return "s3://fleet/mesh/"
}
