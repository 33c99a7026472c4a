package chosen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file may have so much, and no more.
func TestBoundsOfAFile(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, form string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(out, ",")
	}
	path := filepath.Join(t.TempDir(), "screen.json")
	for _, bound := range []struct {
		of   string
		most int
		text func(n int) string
		says string
	}{
		{"bytes", maxFile, func(n int) string { return "{}" + strings.Repeat(" ", n-2) }, fmt.Sprintf("more than %d bytes", maxFile)},
		{"lists", maxLists, func(n int) string { return "{" + many(n, `"l%d":{}`) + "}" }, "more lists than there are"},
		{"the title of a list", maxTitle, func(n int) string { return `{"` + long(n) + `":{}}` }, "more of a list than one has"},
		{"the title to sort by", maxTitle, func(n int) string { return `{"l":{"sort":"` + long(n) + `"}}` }, "more of a list than one has"},
		{"widths", maxTitles, func(n int) string { return `{"l":{"widths":{` + many(n, `"t%d":1`) + `}}}` }, "more of a list than one has"},
		{"columns that are hidden", maxTitles, func(n int) string { return `{"l":{"hidden":[` + many(n, `"t%d"`) + `]}}` }, "more of a list than one has"},
		{"the title of a column", maxTitle, func(n int) string { return `{"l":{"widths":{"` + long(n) + `":1}}}` }, "a column is 1 wide"},
		{"a width", widest, func(n int) string { return fmt.Sprintf(`{"l":{"widths":{"t":%d}}}`, n) }, "a column is 401 wide"},
		{"no width", 0, func(n int) string { return fmt.Sprintf(`{"l":{"widths":{"t":%d}}}`, 1-n) }, "a column is 0 wide"},
	} {
		for more, want := range []string{"", bound.says} {
			if err := os.WriteFile(path, []byte(bound.text(bound.most+more)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: with %d: %v", bound.of, bound.most+more, err)
			}
		}
	}
}
