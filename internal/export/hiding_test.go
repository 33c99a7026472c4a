package export

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

type alias struct{ *strings.Replacer }

func (alias) Meet(*check.Change)     {}
func (a alias) Text(s string) string { return a.Replace(s) }

// A name is hidden however the text is cut into writes, and a line without an end
// is kept back only so long.
func TestHiding(t *testing.T) {
	var out strings.Builder
	h := &hiding{to: &out, private: alias{strings.NewReplacer("gw-prod", "n1")}}
	for _, part := range []string{"from g", "w-pr", "od to gw-", "prod\nand gw-p"} {
		if n, err := h.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := out.String(); got != "from n1 to n1\n" {
		t.Errorf("before the end: %q", got)
	}
	if _, err := h.Write([]byte("rod")); err != nil || h.flush() != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "from n1 to n1\nand n1" {
		t.Errorf("at the end: %q", got)
	}
	out.Reset()
	for range 2 * maxHidden / 1000 {
		if _, err := h.Write([]byte(strings.Repeat("x", 1000))); err != nil || len(h.rest) > maxHidden {
			t.Fatalf("%d bytes are kept back, %v", len(h.rest), err)
		}
	}
	if out.Len() == 0 {
		t.Error("nothing of an endless line comes out")
	}
}
