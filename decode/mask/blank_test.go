package mask

import (
	"encoding/base64"
	"strings"
	"testing"
)

// Texts that were masked with two keys are the same without their masks, and what
// is no mask stays.
func TestBlank(t *testing.T) {
	secret := []byte("a secret of some length that is not told")
	masked := func() string {
		b := append([]byte(nil), secret...)
		newMasks().fill(b, secret)
		return string(b)
	}
	one, other := masked(), masked()
	if one == other {
		t.Fatal("two keys make one mask")
	}
	for _, around := range []string{"%", "user:%@host", "%, %"} {
		a, n := Blank(strings.ReplaceAll(around, "%", one))
		b, m := Blank(strings.ReplaceAll(around, "%", other))
		if want := strings.ReplaceAll(around, "%", Blanked); a != want || b != want || n != strings.Count(around, "%") || m != n {
			t.Errorf("%s: %q and %q, %d and %d", around, a, b, n, m)
		}
	}
	if got, n := Blank(base64.StdEncoding.EncodeToString([]byte(one))); got != Blanked || n != 1 {
		t.Errorf("bytes: %q, %d", got, n)
	}
	for _, text := range []string{"", "*", "plain", "[masked:", "[masked:a b]", "[masked:é]", "W21hc2tlZD", "[masked]", maskHead + maskHead} {
		if got, n := Blank(text); got != text || n != 0 {
			t.Errorf("%q: %q, %d", text, got, n)
		}
	}
}
