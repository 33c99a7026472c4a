package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// proof is what there is to hold a rule against. All of it but bugs is lines of
// the fixtures, which TestCatalogue, TestStories, TestSessions and TestSystems
// hold against what the rules say.
type proof struct {
	speaks, silent []string // stories
	recorded       []string // sessions and systems
	bugs           []string // thread, a space, what happened
}

// proofs are those of all rules, by rule. What names no rule fails the test.
func proofs(t *testing.T) map[string]*proof {
	t.Helper()
	all := map[string]*proof{}
	for _, r := range everyRule(t) {
		all[r.ID] = &proof{}
	}
	of := func(file, id string) *proof {
		if all[id] == nil {
			t.Errorf("%s: there is no rule %q", file, id)
			return &proof{}
		}
		return all[id]
	}
	eachLine(t, "testdata/stories/*.xds", func(file, line string) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "#" {
			return
		}
		switch words[1] {
		case "expect:":
			p := of(file, words[2])
			p.speaks = append(p.speaks, file)
		case "silent:":
			p := of(file, words[2])
			p.silent = append(p.silent, file)
		}
	})
	for _, recordings := range []string{"testdata/systems/*.txt", "testdata/sessions/*.txt"} {
		eachLine(t, recordings, func(file, line string) {
			if expected, ok := strings.CutPrefix(line, "expect: "); ok {
				p := of(file, strings.Fields(expected)[0])
				if !slices.Contains(p.recorded, file) {
					p.recorded = append(p.recorded, file)
				}
			}
		})
	}
	eachLine(t, "testdata/bugs.txt", func(file, line string) {
		if !strings.HasPrefix(line, "#") {
			id, bug, _ := strings.Cut(line, " ")
			p := of(file, id)
			p.bugs = append(p.bugs, bug)
		}
	})
	return all
}

func eachLine(t *testing.T, pattern string, do func(file, line string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			do(filepath.ToSlash(file), strings.TrimSpace(line))
		}
	}
}

// thread is an issue or a pull request, and what happened there.
var thread = regexp.MustCompile(`^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+) (\S.*[^.])$`)

// docs/proofs.md lists what each rule is held against.
func TestProofs(t *testing.T) {
	const page = "../docs/proofs.md"
	all := proofs(t)
	var b strings.Builder
	b.WriteString("# How verdicts are proved\n\n" +
		"What each of the [rules](rules.md) is held against. A test plays every conversation here, and fails if the rule does not say what this page says it does. This page is generated (`go test ./check -run Proofs -update`).\n\n" +
		"*Speaks*: conversations that the rule finds its fault in. *Silent*: near misses, conversations that look like it. Both are [scripts](../check/testdata), a line a message. *Recorded*: sessions of real clients and servers in which the rule rightly speaks: of [systems that others wrote](../check/testdata/systems), and [our own](../check/testdata/sessions), some of which have a scripted end. What happened stands in the text that the link leads to; the recording is beside it. *Public*: threads of other projects in which somebody met the fault. Beside these, all rules are silent in each [recording](../check/testdata/sessions) that does not say otherwise, and in what [healthy clients](../check/testdata/clients) do.\n")
	group := ""
	for _, r := range check.Rules() {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		p := all[r.ID]
		fmt.Fprintf(&b, "\n### `%s`\n\n[What it means](rules.md#%s): %s.\n\n", r.ID, r.ID, r.Title)
		catalogue := "testdata/catalogue/" + r.ID
		fmt.Fprintf(&b, "- Speaks: %s\n", links(t, r.ID, append([]string{catalogue + ".positive.xds"}, p.speaks...)))
		fmt.Fprintf(&b, "- Silent: %s\n", links(t, r.ID, append([]string{catalogue + ".near.xds"}, p.silent...)))
		if len(p.recorded) > 0 {
			fmt.Fprintf(&b, "- Recorded: %s\n", links(t, r.ID, p.recorded))
		}
		for _, bug := range p.bugs {
			found := thread.FindStringSubmatch(bug)
			if found == nil {
				t.Errorf("%s: %q is no thread and what happened there", r.ID, bug)
				continue
			}
			url, _, _ := strings.Cut(bug, " ")
			fmt.Fprintf(&b, "- Public: [%s#%s](%s), %s\n", found[1], found[2], url, found[3])
		}
	}
	golden.Is(t, page, b.String())
}

// links lead to files of testdata, which have to exist.
func links(t *testing.T, id string, files []string) string {
	t.Helper()
	var out []string
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		switch rest, own := strings.CutPrefix(name, id+"-"); {
		case strings.HasPrefix(file, "testdata/catalogue/"):
			name = "catalogue"
		case own:
			name = strings.ReplaceAll(rest, "-", " ")
		}
		out = append(out, fmt.Sprintf("[%s](../check/%s)", name, file))
	}
	return strings.Join(out, ", ")
}
