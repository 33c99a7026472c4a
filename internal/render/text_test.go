package render

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		"outbound|9080||a.b":         "outbound|9080||a.b",
		"größe 世界 🙂":                 "größe 世界 🙂",
		"\x1b[2Jgone":                `\x1b[2Jgone`,
		"bell\a":                     `bell\a`,
		"two\nlines\r":               `two\nlines\r`,
		"c1 \u009b31m":               `c1 \u009b31m`,
		"\xff\xfe":                   `\xff\xfe`,
		"right-to-left \u202etxt":    `right-to-left \u202etxt`,
		"\u2028":                     `\u2028`,
		"real replacement \ufffd ok": "real replacement \ufffd ok",
		"zero\u200bwidth":            `zero\u200bwidth`,
		"":                           "",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := SafeLines("a:\n\t- \x1b]0;x\x07\nb\n"), "a:\n\t- \\x1b]0;x\\a\nb\n"; got != want {
		t.Errorf("SafeLines = %q, want %q", got, want)
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m", "\xf0\x9f", "世界\u0301", "\u202e", "\u009b31m", "\u2028\n\t", "\u200f\u061c\u2066", "\U000e0041\ufeff", "a\xff\n\x7f"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		safe := Safe(s)
		unsafe := func(r rune) bool {
			return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		}
		if !utf8.ValidString(safe) || strings.ContainsFunc(safe, unsafe) {
			t.Fatalf("Safe(%q) = %q", s, safe)
		}
		lines := SafeLines(s)
		if !utf8.ValidString(lines) || strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(lines), unsafe) {
			t.Fatalf("SafeLines(%q) = %q", s, lines)
		}
		if strings.Count(lines, "\n") != strings.Count(s, "\n") || SafeLines(lines) != lines {
			t.Fatalf("SafeLines(%q) = %q", s, lines)
		}
		if Safe(safe) != safe {
			t.Fatalf("Safe is not stable on %q", s)
		}
		columns &= 0xff
		for _, short := range []string{Middle(safe, columns), End(safe, columns)} {
			if Width(short) > columns {
				t.Fatalf("%q is %d columns wide, not %d", short, Width(short), columns)
			}
		}
	})
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"router~10.0.0.1~gw-0.istio", 11, "route…istio"},
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"世界世界", 5, "世…界"},
		{"ae\u0301bcdefg", 4, "ae\u0301…g"},
	} {
		if got := Middle(c.in, c.columns); got != c.want {
			t.Errorf("Middle(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
		}
	}
	if got := End("duplicate address of a listener", 12); got != "duplicate a…" {
		t.Errorf("End = %q", got)
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 980: "980", 999: "999", 1000: "1k", 1049: "1k", 6200: "6.2k", 9949: "9.9k", 9999: "10k",
		41_000: "41k", 999_400: "999k", 999_999: "1M", 4_500_000: "4.5M", 1 << 40: "1.1T",
	} {
		if got := ShortSize(n); got != want {
			t.Errorf("ShortSize(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 4_613_734: "4.4 MiB", 256 << 20: "256 MiB", 1<<20 - 1: "1 MiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0ns", 850: "850ns", 3100 * time.Microsecond: "3.1ms", 999999 * time.Microsecond: "999ms",
		4100 * time.Millisecond: "4.1s", 5 * time.Second: "5s", 761 * time.Second: "12m 41s", 2 * time.Hour: "2h",
		76 * time.Hour: "3d 4h", -time.Second: "-1s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Count(1, "entry", "entries"); got != "1 entry" {
		t.Error(got)
	}
}

// Times of a recording may be anything: the longest span has no negative.
func TestDurationOfTimesTooFarApart(t *testing.T) {
	shortest := time.Unix(0, 0).Sub(time.Unix(1<<40, 0))
	if got := Duration(shortest); !strings.HasPrefix(got, "-") {
		t.Errorf("%d ns is written as %q", shortest, got)
	}
}
