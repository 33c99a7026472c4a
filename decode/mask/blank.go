package mask

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// Blanked is what Blank puts in the place of a mask.
const Blanked = "[masked]"

// Blank takes the masks out of a text, so that texts can be compared which were
// masked with different keys, and says how many there were. The text may be bytes
// in base64. Masks of less than 16 bytes do not show what they are, and stay.
func Blank(text string) (string, int) {
	if !strings.Contains(text, maskHead) {
		// The first bytes of a mask are these characters, whatever follows.
		if b, err := base64.StdEncoding.DecodeString(text); strings.HasPrefix(text, "W21hc2tlZD") && err == nil && Looks(b) {
			return Blanked, 1
		}
		return text, 0
	}
	var out strings.Builder
	n := 0
	for {
		before, rest, found := strings.Cut(text, maskHead)
		out.WriteString(before)
		if !found {
			return out.String(), n
		}
		if body, after, closed := strings.Cut(rest, "]"); closed && isMaskText(body) {
			out.WriteString(Blanked)
			n++
			text = after
		} else {
			out.WriteString(maskHead)
			text = rest
		}
	}
}

// isMaskText says whether a mask could hold s: base64, then dots.
func isMaskText(s string) bool {
	return strings.IndexFunc(strings.TrimRight(s, "."), func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) < 0
}

// Within says whether there is a mask in some bytes that Blank would find.
func Within(b []byte) bool { return bytes.Contains(b, []byte(maskHead)) }
