//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// figures are samples of so many rounds, of every load and task and by every relay, that differ and are known.
func figures(rounds int) (t table) {
	for round := range rounds {
		n := 1
		all := slices.Clone(loads)
		for _, c := range curves() {
			all = append(all, c.points...)
		}
		for _, l := range all {
			for i, r := range relays {
				if l.curve != "" && !r.grows {
					continue
				}
				n++
				s := sample{
					Round: round, Load: l.name, Relay: r.name, CPUPerResponse: float64(n*(1+round)) / 2, LifeCPU: float64(n), PushP50: float64(100 + n + round),
					PeakMB: float64(n), Damaged: int64(i % 2), StreamsFailed: int64(i % 3),
				}
				if r.announces {
					s.Recording = &recording{Messages: int64(n - round), Expected: int64(n), FileSize: int64(n) * 1e5}
				}
				t = append(t, s)
			}
		}
		for _, k := range tasks() {
			for i, d := range append(slices.Clone(k.doers), doer{name: withRules}) {
				n++
				t = append(t, sample{Round: round, Load: k.name, Relay: d.name, CPUPerResponse: float64(n), PeakMB: float64(n), WallS: float64(i+2) / 2 * float64(1+round)})
			}
		}
	}
	return t
}

// The tables of all that is measured, of one round and of two.
func TestWriteReport(t *testing.T) {
	var b bytes.Buffer
	writeReport(&b, "a machine", 2, loads, relays, figures(2))
	b.WriteString("\n## One round, without nginx and tcprelay\n\n")
	few := slices.DeleteFunc(figures(1), func(s sample) bool { return s.Relay == "nginx" || s.Relay == floor })
	writeReport(&b, "a machine", 1, loads[:1], relays, few)
	golden.Is(t, "testdata/report.md", b.String())
}

// What each relay is started with.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	b := &bench{dir: "BIN"}
	t.Cleanup(b.stalled.close)
	var out strings.Builder
	for _, r := range append(slices.Clone(relays), onRequest()...) {
		if r.command == nil {
			continue
		}
		cmd, err := r.command(b, dir, "127.0.0.1:18000", "127.0.0.1:18001")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== %s\n%s\n", r.name, strings.ReplaceAll(strings.Join(cmd.Args, " "), envoyProgram, "envoy"))
		if own := slices.Contains(cmd.Env, "XDG_STATE_HOME="+dir); own != (r.pkg == ownPackage) {
			t.Errorf("%s: with a state directory of its own: %v", r.name, own)
		}
	}
	for _, name := range []string{"haproxy.cfg", "nginx.conf", "envoy.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range []string{"18000", "18001"} {
			if n := strings.Count(string(text), port); n != 1 {
				t.Errorf("%s has the port %s %d times", name, port, n)
			}
		}
	}
	for _, l := range append(slices.Clone(loads), curves()[0].points[0]) {
		fmt.Fprintf(&out, "== load %s: %s\n%d responses, %d messages\n", l.name, strings.Join(l.args(), " "), l.responses(), l.messages())
	}
	golden.Is(t, "testdata/commands.txt", strings.ReplaceAll(out.String(), dir, "DIR"))
	if _, err := envoy(b, dir, "nowhere", "127.0.0.1:1"); err == nil {
		t.Error("an address without a port was accepted")
	}
}

// programs are shell scripts in the place of what measures and is measured.
func programs(t *testing.T, with map[string]string) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), log: &bytes.Buffer{}}
	for name, text := range map[string]string{
		"xdsload": `echo '{"responses": 5000, "push_us_p50": 7, "proxy_cpu_us_per_response": 3}'`,
		"xdsproxy": `case $1 in
run) echo recording > "$8"; echo "listening on $4" >&2; exec sleep 600 ;;
info) echo '{"messages": 10001, "complete": true}' ;;
check) echo '{"summary": {"entries": 600000}}' ;;
export) head -c 0 /dev/null; yes .svc.cluster.local | head -n 1000000 ;;
esac`,
		"bigrecording": `eval echo made '>' '"${'$#'}"'`,
		"readonly":     `case $1 in -zstd) echo 1 ;; *) echo 600000 ;; esac`,
	} {
		if own, is := with[name]; is {
			text = own
		}
		if err := os.WriteFile(b.bin(name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Everything is measured in each round, and what was recorded is asked of the program itself.
func TestMeasureAll(t *testing.T) {
	b := programs(t, nil)
	own := []relay{{name: direct}, {name: withRules, command: xdsproxy, announces: true}}
	samples, err := b.measureAll(t.Context(), 2, []load{loads[0], curves()[0].points[0]}, [][]relay{own}, map[string]string{withRules: "xdsproxy"})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range samples {
		order = append(order, fmt.Sprint(s.Round, s.Load, s.Relay))
		if s.Load == "pingpong" && (s.Expected != 5000 || s.Responses != 5000 || s.PushP50 != 7 || s.CPUPerResponse != 3) {
			t.Errorf("%+v", s)
		}
		if s.Load == "pingpong" && s.Relay == withRules && (s.Recording == nil || s.Recording.Messages != 10001 || s.Recording.Expected != 10001 || s.Recording.FileSize != 10 || !s.Recording.Complete) {
			t.Errorf("%+v", s.Recording)
		}
		if s.Load == "check" && s.PeakMB == 0 {
			t.Errorf("%+v", s)
		}
	}
	want := "0pingpongdirect 0pingpongxdsproxy 0checkdecompressing 0checkreading 0checkxdsproxy 0script-250000xdsproxy 0script-1000000xdsproxy " +
		"1pingpongxdsproxy 1pingpongdirect 1checkreading 1checkxdsproxy 1checkdecompressing 1script-250000xdsproxy 1script-1000000xdsproxy"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := verdict(samples); err != nil {
		t.Error(err)
	}
	raw := filepath.Join(b.dir, "raw")
	for range 2 {
		if err := appendRaw(raw, samples); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(raw)
	if err != nil || bytes.Count(text, []byte("\n")) != 2*len(samples) {
		t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
}

// What fails is said with what it said itself.
func TestMeasureFails(t *testing.T) {
	own := relay{name: withRules, command: xdsproxy, announces: true, hint: "stop the other one"}
	for name, c := range map[string]struct {
		with map[string]string
		want string
	}{
		"no load":          {map[string]string{"xdsload": "exit 3"}, "pingpong through xdsproxy: xdsload: exit status 3"},
		"no figures":       {map[string]string{"xdsload": "echo no"}, `pingpong through xdsproxy: xdsload printed "no\n": invalid character 'o' in literal null (expecting 'u')`},
		"no proxy":         {map[string]string{"xdsproxy": "echo 'xdsproxy: error: no such flag' >&2; exit 1"}, "pingpong through xdsproxy: xdsproxy ended before it was ready: no such flag"},
		"no facts":         {map[string]string{"xdsproxy": `case $1 in run) echo x > "$8"; echo "listening on x" >&2; exec sleep 600 ;; esac; exit 3`}, "pingpong through xdsproxy: xdsproxy info: exit status 3"},
		"no facts of JSON": {map[string]string{"xdsproxy": `case $1 in run) echo x > "$8"; echo "listening on x" >&2; exec sleep 600 ;; esac; echo x`}, `pingpong through xdsproxy: xdsproxy info printed "x\n": invalid character 'x' looking for beginning of value`},
	} {
		b := programs(t, c.with)
		if _, err := b.measureAll(t.Context(), 1, loads[:1], [][]relay{{own}}, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		with map[string]string
		want string
	}{
		"too few":    {map[string]string{"readonly": "echo 599999"}, "check by reading: it dealt with 599999 of 600000"},
		"fails":      {map[string]string{"readonly": "echo why >&2; exit 3"}, "check by decompressing: exit status 3: why"},
		"no number":  {map[string]string{"readonly": "echo many"}, `check by decompressing: strconv.Atoi: parsing "many": invalid syntax`},
		"none to do": {map[string]string{"bigrecording": "exit 3"}, "exit status 3"},
	} {
		b := programs(t, c.with)
		if _, err := b.doTasks(t.Context(), 0, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// What cannot be measured is refused before anything is built.
func TestRefused(t *testing.T) {
	for want, o := range map[string]options{
		"-update does not go with -against, whose tables have no place in a file":   {against: "x", update: "y"},
		`"no" is none of ` + loadNames():                                            {loads: "no"},
		"-rounds -1 measures nothing":                                               {rounds: -1},
		`"socat" is none of ` + names(append(slices.Clone(relays), onRequest()...)): {relays: "socat"},
	} {
		if err := run(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
