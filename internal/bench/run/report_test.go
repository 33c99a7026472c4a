package main

import (
	"os"
	"path/filepath"
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
	var out strings.Builder
	writeGoals(&out, table{measured(0, "nginx", 10), measured(0, recordOnly, 12)})
	if want := "| recording | fleet | CPU per response | at most 1.00 of nginx | 1.20 | missed |"; !strings.Contains(out.String(), want) {
		t.Errorf("no line %q in\n%s", want, out.String())
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
	if _, err := pick(relays, "socat"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
