package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAgainstVerdict(t *testing.T) {
	some, err := pick(loads, "fleet,paced")
	if err != nil {
		t.Fatal(err)
	}
	both := ownRelays()
	var tab table
	for round := range 3 { // each slower than the one before
		slow := float64(round + 1)
		tab = append(tab, measured(round, "xdsproxy"+oldSuffix, 10*slow), measured(round, "xdsproxy", 10.2*slow),
			measured(round, recordOnly+oldSuffix, 10*slow), measured(round, recordOnly, 10.4*slow))
	}
	got := againstVerdict(some, both, tab)
	want := "CPU per response at most 1.03 of old: fleet without rules no (1.040, too few rounds to tell); paced without rules not measured; " +
		"fleet yes (1.020, too few rounds to tell); paced not measured"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWriteAgainst(t *testing.T) {
	some, err := pick(loads, "fleet")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := pick(ownRelays(), "xdsproxy")
	if err != nil {
		t.Fatal(err)
	}
	var tab table
	for round, cpu := range []float64{9, 12, 10} {
		o, n := measured(round, "xdsproxy"+oldSuffix, 10), measured(round, "xdsproxy", cpu)
		o.PushP50, n.PushP50 = 100, 50
		tab = append(tab, o, n)
	}
	var out strings.Builder
	writeAgainst(&out, "here", "v2", "v1", 3, some, mine, tab)
	row := "| fleet | 10.0 us (10.0-10.0) | 10.0 us (9.00-12.0) | 1.00 (0.90-1.20) |  | 0.50 (0.50-0.50) |  |\n"
	if !strings.Contains(out.String(), row) {
		t.Errorf("no line %q in\n%s", row, out.String())
	}
	if last := againstVerdict(some, mine, tab) + "\n"; !strings.HasSuffix(out.String(), last) {
		t.Errorf("the last line is not %q in\n%s", last, out.String())
	}
}

func TestConfidence(t *testing.T) {
	var values []float64
	for n := 1; n <= 30; n++ {
		values = append(values, float64(n))
		low, high, ok := confidence(values)
		// Ranks as in tables of the sign test.
		want := map[int][2]float64{6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 10: {2, 9}, 20: {6, 15}, 30: {10, 21}}
		if ok != (n >= 6) {
			t.Errorf("%d values: ok is %t", n, ok)
		}
		if w, listed := want[n]; listed && w != [2]float64{low, high} {
			t.Errorf("%d values: from the %vth to the %vth, want %v", n, low, high, w)
		}
	}
}

func TestTurnsKeepPairsTogether(t *testing.T) {
	groups := withOld("/old", ownRelays())
	for round, want := range []string{
		"recording-old recording xdsproxy-old xdsproxy",
		"recording recording-old xdsproxy xdsproxy-old",
		"recording-old recording xdsproxy-old xdsproxy",
	} {
		var got []string
		for _, r := range turns(groups, round) {
			got = append(got, r.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("round %d: %v, want %s", round, got, want)
		}
	}
}

func TestOldRunsWithTheSameFlags(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	for _, pair := range withOld("/old", ownRelays()) {
		older, err := pair[0].command(b, b.dir, "127.0.0.1:1", "127.0.0.1:2")
		if err != nil {
			t.Fatal(err)
		}
		newer, err := pair[1].command(b, b.dir, "127.0.0.1:1", "127.0.0.1:2")
		if err != nil {
			t.Fatal(err)
		}
		if older.Path != "/old" || !slices.Equal(older.Args[1:], newer.Args[1:]) || !slices.Equal(older.Env, newer.Env) {
			t.Errorf("%s: %v, but %s: %v", pair[0].name, older.Args, pair[1].name, newer.Args)
		}
	}
}

func TestFindOld(t *testing.T) {
	dir := t.TempDir()
	plain, good := filepath.Join(dir, "plain"), filepath.Join(dir, "good")
	for file, mode := range map[string]os.FileMode{plain: 0o644, good: 0o755} {
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findOld(good); err != nil || got != good {
		t.Errorf("got %q, %v", got, err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file or directory",
		plain:                      "permission denied",
		dir:                        "is a directory",
	} {
		_, err := findOld(file)
		if h := (hinted{}); !errors.As(err, &h) || err.Error() != "-against cannot run "+file+": "+want {
			t.Errorf("got %v, want a hint and: %s", err, want)
		}
	}
}

func TestTailTellsWhatWentWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "it said nothing",
		"first\nsecond\n\n": "second",
		"xdsproxy: error: unknown flag --x\nusage: y\nxdsproxy: hint: z\n": "unknown flag --x",
	} {
		var out tail
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := out.last(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
