package convert

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzEscapes puts any text into the places where a report has what peers
// chose, and into a cell of a table.
func FuzzEscapes(f *testing.F) {
	for _, s := range []string{"", "`", "``", " ` ", "a\n```\n# b", "</code></summary><script>", "\xff", "-", "=1+1", "@SUM(A1)", "\u202e", "~~~\n", "    indented"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const mark = "ZQX"
		for _, text := range []string{s, mark + s + mark, s + "\n" + mark + "\n" + s} {
			report := "- " + code(text) + ", " + code(text) + "\n\n" + fenced("text", text) + "\n" + folded(text, fenced("yaml", text)) + "\nend\n"
			rest := Outside(t, report)
			if strings.Contains(strings.ReplaceAll(rest, s, ""), mark) && !strings.Contains(s, mark) || !strings.HasSuffix(rest, "end\n") {
				t.Fatalf("outside of code there is\n%q\nof\n%s", rest, report)
			}
		}
		if got := Outside(t, "- "+code(s)+"\n"); got != "- \n" && got != "- -\n" {
			t.Fatalf("%q is %q, outside of which is %q", s, code(s), got)
		}
		if cell := csvCell(s); cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") || strings.TrimPrefix(cell, "'") != strings.TrimPrefix(s, "'") {
			t.Fatalf("%q became %q", s, cell)
		}
	})
}

// Outside is what is left of a report without fenced blocks, code between
// backticks and summaries, as CommonMark finds them.
func Outside(t testing.TB, report string) string {
	t.Helper()
	var b strings.Builder
	fence := ""
	opens := regexp.MustCompile("^(`{3,})[a-z]*$")
	summary := regexp.MustCompile(`^<details><summary><code>(?:[A-Za-z0-9 \-]|&#\d+;|[^\x00-\x9f])*</code></summary>$`)
	for line := range strings.Lines(report) {
		line = strings.TrimSuffix(line, "\n")
		switch bare := strings.TrimSpace(line); {
		case fence != "":
			if strings.Trim(bare, "`") == "" && len(bare) >= len(fence) {
				fence = ""
			}
			continue
		case opens.MatchString(line):
			fence = opens.FindStringSubmatch(line)[1]
			continue
		case summary.MatchString(line), line == "</details>":
			continue
		}
		b.WriteString(spans(line) + "\n")
	}
	if fence != "" {
		t.Error("a block is not closed")
	}
	return b.String()
}

// spans takes the code between backticks out of a line.
func spans(line string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			return b.String() + line
		}
		b.WriteString(line[:at])
		run := line[at : at+len(line[at:])-len(strings.TrimLeft(line[at:], "`"))]
		rest, found := line[at+len(run):], false
		for end := 0; end < len(rest); {
			next := strings.IndexByte(rest[end:], '`')
			if next < 0 {
				break
			}
			end += next
			n := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
			if n == len(run) {
				line, found = rest[end+n:], true
				break
			}
			end += n
		}
		if !found {
			b.WriteString(run)
			line = rest
		}
	}
}
