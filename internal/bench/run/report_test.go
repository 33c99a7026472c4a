package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func measured(round int, relay string, cpu float64) sample {
	return sample{Round: round, Load: "fleet", Relay: relay, CPUPerResponse: cpu, Responses: 1, Expected: 1}
}

func TestRatioComparesWithinARound(t *testing.T) {
	// The second round ran on a machine three times slower.
	tab := table{
		measured(0, "nginx", 10), measured(0, "xdsproxy", 8),
		measured(1, "nginx", 30), measured(1, "xdsproxy", 24),
		measured(2, "xdsproxy", 99), // nothing to compare with
	}
	if got := tab.ratio("fleet", "xdsproxy", "nginx", cpu); got != 0.8 {
		t.Errorf("ratio is %v, want 0.8", got)
	}
	if got := tab.ratio("fleet", "xdsproxy", "haproxy", cpu); got != 0 {
		t.Errorf("ratio to a relay that was not measured is %v, want 0", got)
	}
	if got := tab.of("fleet", "xdsproxy").median(cpu); got != 24 {
		t.Errorf("median is %v, want 24", got)
	}
}

func TestGoals(t *testing.T) {
	slow := measured(0, withRules, 30)
	slow.PushP50, slow.PeakMB = 110, 121
	tab := table{measured(0, "nginx", 20), measured(0, "envoy", 10), slow}
	tab[0].PushP50, tab[1].PushP50 = 100, 200
	var out strings.Builder
	writeGoals(&out, tab)
	for _, want := range []string{
		"| xdsproxy | fleet | CPU per response | 1.00 of nginx | 1.50 | missed |",
		"| xdsproxy | fleet | push p50 | 1.05 of the fastest proxy | 1.10 | missed |",
		"| xdsproxy | fleet | peak memory | 120 MB | 121 | missed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "paced") || strings.Contains(out.String(), "streams") {
		t.Errorf("what was not measured is among\n%s", out.String())
	}
}

func TestVerdict(t *testing.T) {
	good := measured(0, "xdsproxy", 1)
	good.Recording = &recording{Messages: 5, Expected: 5, Complete: true}
	if err := verdict([]sample{good}); err != nil {
		t.Errorf("nothing is wrong, but: %v", err)
	}
	for name, spoil := range map[string]func(*sample){
		"damaged":      func(s *sample) { s.Damaged = 1 },
		"missing":      func(s *sample) { s.Responses = 0 },
		"not recorded": func(s *sample) { s.Recording = &recording{Messages: 4, Expected: 5, Complete: true} },
		"torn":         func(s *sample) { s.Recording = &recording{Messages: 5, Expected: 5} },
	} {
		bad := good
		spoil(&bad)
		if verdict([]sample{good, bad}) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSplice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.md")
	if err := os.WriteFile(file, []byte("above\n"+begin+"old\n"+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := splice(file, "new\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := "above\n" + begin + "new\n" + end + "below\n"; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := os.WriteFile(file, []byte("no place\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if splice(file, "new\n") == nil {
		t.Error("a file without the comments was accepted")
	}
}

func TestPick(t *testing.T) {
	got, err := pick(loads, "paced,fleet")
	if err != nil || len(got) != 2 || got[0].name != "paced" || got[1].name != "fleet" {
		t.Errorf("got %v, %v", got, err)
	}
	some, tasks, err := pickLoads("resources,paced,offline")
	if err != nil || names(some) != "resources-10,resources-100,resources-1000,resources-10000,paced" || !tasks {
		t.Errorf("got %v, %t, %v", names(some), tasks, err)
	}
	if some, tasks, err = pickLoads("all"); err != nil || len(some) != len(loads)+8 || !tasks {
		t.Errorf("got %v, %t, %v", names(some), tasks, err)
	}
	if _, _, err := pickLoads("fleet,stream"); err == nil {
		t.Error("an unknown load was accepted")
	}
	if _, err := pick(relays, "socat"); err == nil {
		t.Error("an unknown name was accepted")
	}
}

// TestStalledArchive has a store that takes what is sent and does not answer.
func TestStalledArchive(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	t.Cleanup(b.stalled.close)
	cmd, err := archiveStalled(b, b.dir, "127.0.0.1:1", "127.0.0.1:2")
	if err != nil {
		t.Fatal(err)
	}
	addr, err := b.stalled.address()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(cmd.Args, "--archive") || !slices.Contains(cmd.Env, "AWS_ENDPOINT_URL=http://"+addr) {
		t.Errorf("%q in %q", cmd.Args, cmd.Env)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, 8<<20)); err != nil {
		t.Errorf("it does not read: %v", err)
	}
	if got := names(relays); strings.Contains(got, stalledArchive) {
		t.Errorf("%s is measured by default", got)
	}
}
