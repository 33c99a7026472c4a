package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

type alias struct{ *strings.Replacer }

func (alias) Meet(*check.Change)              {}
func (alias) Told() string                    { return "" }
func (a alias) Text(s string) (string, error) { return a.Replace(s), nil }

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

// A line that is too long to be kept back is cut beside a name and not in it.
func TestHidingOfALongLine(t *testing.T) {
	for between, name := range map[string]string{" ": "gw-prod", `","`: "gw prod", `": "\"", "`: "gw prod", `\", \"`: "gw-prod"} {
		var out strings.Builder
		h := &hiding{to: &out, private: alias{strings.NewReplacer(name, "n1")}}
		line := strings.Repeat(name+between, 3*maxHidden/len(name+between))
		for b := []byte(line); len(b) > 0; {
			n := min(len(b), 4096)
			if _, err := h.Write(b[:n]); err != nil {
				t.Fatal(err)
			}
			if len(h.rest) > maxHidden {
				t.Fatalf("%d bytes are kept back", len(h.rest))
			}
			b = b[n:]
		}
		if err := h.flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != strings.ReplaceAll(line, name, "n1") {
			t.Errorf("between %q: %d of %d names are hidden", between, strings.Count(got, "n1"), strings.Count(line, name))
		}
	}
}

// A line is kept back until it is longer than it may be, and is cut beside a name then.
func TestHowMuchIsKeptBack(t *testing.T) {
	var out strings.Builder
	h := &hiding{to: &out, private: alias{strings.NewReplacer("gw-prod", "n1")}}
	if _, err := h.Write([]byte(strings.Repeat("x", maxHidden-1) + " ")); err != nil || out.Len() != 0 {
		t.Errorf("of a line that is as long as it may be, %d bytes are passed on, %v", out.Len(), err)
	}
	if _, err := h.Write([]byte("y")); err != nil || out.Len() != maxHidden || string(h.rest) != "y" {
		t.Errorf("of one more, %d bytes are passed on, and %q is kept back, %v", out.Len(), h.rest, err)
	}
	for line, want := range map[string]int{
		`a"b`: 2, `a"`: 2, `"`: 1, `"ab`: 1, `a\"b`: 4, `a \"b`: 2, `a"b\"c`: 2, `\"`: 2, "abc": 3, "a b c": 4, "a ": 2, " ": 1, `"a b`: 1,
	} {
		if got := cut([]byte(line)); got != want {
			t.Errorf("%s is cut at %d, not %d", line, got, want)
		}
	}
}

// hider is a Private of which the test says what it does.
type hider struct {
	alias
	err  error
	told string
}

func (h hider) Told() string { return h.told }

func (h hider) Text(s string) (string, error) {
	if h.err != nil {
		return "", h.err
	}
	return h.alias.Text(s)
}

// What could not be hidden is not written, and what is known of what was hidden is said.
func TestHidingThatFails(t *testing.T) {
	source := sessionFile("demo")
	path := filepath.Join(t.TempDir(), "out.csv")
	full := errors.New("there are too many names")
	hide := hider{alias: alias{strings.NewReplacer("demo-envoy", "client-1")}, err: full}
	_, _, err := export(t, Export{Form: "csv", Path: path, Private: hide}, source)
	if _, gone := os.Stat(path); !errors.Is(err, full) || !os.IsNotExist(gone) {
		t.Errorf("%v, the file: %v", err, gone)
	}
	hide.err, hide.told = nil, "some have no alias"
	_, said, err := export(t, Export{Form: "csv", Path: path, Private: hide}, source)
	if err != nil || !strings.Contains(said, "some have no alias") {
		t.Errorf("%v, said %q", err, said)
	}
}
