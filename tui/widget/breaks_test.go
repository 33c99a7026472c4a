package widget

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Names that are longer than a line are broken where their parts meet, wherever
// texts are wrapped, and nothing is lost.
func TestBreaksBetweenParts(t *testing.T) {
	const name = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	pane := TextPane{Lines: []TextLine{{Line: Text(Plain, name)}}, wrap: true}
	theme := NewTheme("mono", false)
	for _, columns := range []int{20, 26, 34, 40, 61, 79} {
		pane.Width = 0
		drawn := pane.Draw(&theme, func(s string) string { return s }, columns+TextGutter, 20)
		var shown []string
		for i := range drawn {
			shown = append(shown, strings.Trim(drawn[i].PlainText(), "> "))
		}
		for way, lines := range map[string][]string{"words": BreakWords(name, columns), "paragraph": Wrapped(name, columns), "pane": shown} {
			if got := strings.Join(lines, ""); got != name {
				t.Errorf("%s, %d columns: %q", way, columns, got)
			}
			for i, l := range lines {
				if render.Width(l) > columns {
					t.Errorf("%s: %q is wider than %d columns", way, l, columns)
				}
				if i < len(lines)-1 && !strings.ContainsAny(l[len(l)-1:], "./") {
					t.Errorf("%s, %d columns: broken within a word: %q", way, columns, lines)
				}
			}
		}
	}
}

// A text without parts is broken where there is no more room, one of wide
// characters too.
func TestBreaksWithoutParts(t *testing.T) {
	if got := breaks(strings.Repeat("x", 25), 10, 8); !slices.Equal(got, []int{10, 18}) {
		t.Errorf("%v", got)
	}
	if got := breaks(strings.Repeat("\u754c", 9), 7, 7); !slices.Equal(got, []int{6, 12}) {
		t.Errorf("%v", got)
	}
	if got := BreakWords("a/"+strings.Repeat("x", 20), 10); got[0] != "a/xxxxxxxx" {
		t.Errorf("%q", got)
	}
}
