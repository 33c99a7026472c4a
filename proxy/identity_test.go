package proxy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What a certificate says is bounded, and can be written down, whatever it is.
func TestBounded(t *testing.T) {
	x := strings.Repeat("x", maxIdentity)
	for text, want := range map[string]string{
		"":                            "",
		"spiffe://td/ns/a/sa/b":       "spiffe://td/ns/a/sa/b",
		"a\xffb":                      "a\uFFFDb",
		x:                             x,
		x + "y":                       x + "…",
		strings.Repeat("é", 200):      strings.Repeat("é", 128) + "…",
		"x" + strings.Repeat("€", 99): "x" + strings.Repeat("€", 85) + "…",
	} {
		got := bounded(text)
		if got != want || len(got) > maxIdentity+len("…") || !utf8.ValidString(got) {
			t.Errorf("%.20q of %d bytes is %q, of %d", text, len(text), got, len(got))
		}
	}
}
