package widget

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// xterm256 is a colour of the table that 256-colour terminals share, from 16 on.
func xterm256(n int) [3]float64 {
	if n >= 232 {
		grey := float64(8 + 10*(n-232))
		return [3]float64{grey, grey, grey}
	}
	level := func(i int) float64 { return []float64{0, 95, 135, 175, 215, 255}[i] }
	n -= 16
	return [3]float64{level(n / 36), level(n / 6 % 6), level(n % 6)}
}

// luminance and contrast are those of WCAG 2.
func luminance(c [3]float64) float64 {
	var out float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		out += weight * v
	}
	return out
}

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The colours of the fixed themes can be read, on backgrounds as terminals have
// them.
func TestContrast(t *testing.T) {
	for name, grounds := range map[string][][3]float64{
		"light":         {{255, 255, 255}, {250, 250, 250}},
		"dark":          {{0, 0, 0}, {30, 30, 30}},
		"colorblind":    {{0, 0, 0}, {30, 30, 30}},
		lightColorblind: {{255, 255, 255}, {250, 250, 250}},
	} {
		theme := NewTheme(name, false)
		for r := Role(0); r < roles; r++ {
			_, number, is := strings.Cut(theme.SGR[r], "38;5;")
			if !is {
				continue // the terminal's own colour of text
			}
			n, err := strconv.Atoi(number)
			if err != nil || n < 16 {
				t.Errorf("%s: %q is no colour of the fixed table", name, theme.SGR[r])
				continue
			}
			for _, ground := range grounds {
				if c := contrast(xterm256(n), ground); c < 4.5 {
					t.Errorf("%s: colour %d stands out from %v by %.2f only", name, n, ground, c)
				}
			}
		}
	}
}

// seenBy is a colour as it is seen without one kind of cones (Vienot, Brettel and
// Mollon 1999).
func seenBy(c [3]float64, matrix [3][3]float64) (out [3]float64) {
	var linear [3]float64
	for i := range c {
		linear[i] = math.Pow(c[i]/255, 2.2)
	}
	for i, row := range matrix {
		sum := 0.0
		for j := range row {
			sum += row[j] * linear[j]
		}
		out[i] = 255 * math.Pow(max(sum, 0), 1/2.2)
	}
	return out
}

// What is well, what is doubtful and what is wrong look different to people who do
// not tell red from green.
func TestColorblind(t *testing.T) {
	colour := func(name string, r Role) [3]float64 {
		theme := NewTheme(name, false)
		_, number, _ := strings.Cut(theme.SGR[r], "38;5;")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		return xterm256(n)
	}
	away := func(name string, a, b Role, matrix [3][3]float64) float64 {
		x, y, sum := seenBy(colour(name, a), matrix), seenBy(colour(name, b), matrix), 0.0
		for i := range x {
			sum += (x[i] - y[i]) * (x[i] - y[i])
		}
		return math.Sqrt(sum)
	}
	for who, matrix := range map[string][3][3]float64{
		"deuteranopia": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
		"protanopia":   {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
	} {
		for _, name := range []string{"colorblind", lightColorblind} {
			for _, pair := range [][2]Role{{Good, Bad}, {Good, Warned}} {
				if d := away(name, pair[0], pair[1], matrix); d < 100 {
					t.Errorf("%s: with %s, roles %v look alike (%.0f)", name, who, pair, d)
				}
			}
			if d := away(name, Good, Bad, matrix); d < away("light", Good, Bad, matrix) {
				t.Errorf("%s is worse than light with %s", name, who)
			}
		}
	}
}

// Nothing but the id of a rule gets into a link.
func TestLinkIsOfARule(t *testing.T) {
	theme := NewTheme("mono", false)
	theme.Links = true
	for _, text := range []string{"", "  ", "nack…resend", "a b", "a\x1b]8;;evil\x1b\\", "A", "a/b", "a;b"} {
		if got := theme.link("painted", text); got != "painted" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := theme.link("nack-received ", "nack-received "); !strings.Contains(got, "rules.md#nack-received\x1b\\nack-received \x1b]8;;\x1b\\") {
		t.Errorf("a rule becomes %q", got)
	}
}
