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
		"light": {{255, 255, 255}, {250, 250, 250}},
		"dark":  {{0, 0, 0}, {30, 30, 30}},
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
