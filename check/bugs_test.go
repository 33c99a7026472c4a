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
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
)

// bug is one of testdata/bugs/record.txt.
type bug struct {
	name, thread string // go-control-plane-583, envoyproxy/go-control-plane#583
	rule         string // "-": no rule finds it
	what, note   string
	session, who string // a recording, and who spoke there
	test, peers  string // a test of internal/e2e with peers that have the bug, and which they are
}

var bugHead = regexp.MustCompile(`^([\w.-]+)/([\w.-]+)#(\d+) ([a-z-]+)$`)

func bugsOf(t *testing.T) []bug {
	t.Helper()
	var all []bug
	eachLine(t, "testdata/bugs/record.txt", func(_, line string) {
		if line == "" || strings.HasPrefix(line, "#") {
			return
		}
		if head := bugHead.FindStringSubmatch(line); head != nil {
			thread, rule, _ := strings.Cut(line, " ")
			all = append(all, bug{name: head[2] + "-" + head[3], thread: thread, rule: rule})
			return
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || len(all) == 0 {
			t.Fatalf("%q is neither a bug nor a word about one", line)
		}
		b := &all[len(all)-1]
		switch key {
		case "what":
			b.what = value
		case "note":
			b.note = value
		case "session":
			b.session, b.who, _ = strings.Cut(value, ": ")
		case "test":
			b.test, b.peers, _ = strings.Cut(value, ": ")
		default:
			t.Fatalf("%s: what is %q?", b.thread, key)
		}
	})
	return all
}

func (b bug) script() string { return filepath.Join("testdata/bugs", b.name+".pair") }

// halves are a conversation as it was, and as it is where the bug is mended.
func (b bug) halves(t *testing.T) (was, mended string) {
	t.Helper()
	text, err := os.ReadFile(b.script())
	if err != nil {
		return "", ""
	}
	was, mended, ok := strings.Cut(string(text), "\n====\n")
	if !ok || strings.TrimSpace(mended) == "" {
		t.Fatalf("%s does not say how it is where the bug is mended", b.script())
	}
	return was, mended
}

// The bugs of docs/track-record.md: the rule finds each in its conversation, and
// not where it is mended; and in the recording, where there is one.
func TestBugs(t *testing.T) {
	all := everyRule(t)
	for _, b := range bugsOf(t) {
		t.Run(b.name, func(t *testing.T) {
			was, mended := b.halves(t)
			if was == "" && b.session == "" {
				t.Fatal("there is neither a script nor a recording")
			}
			if b.rule == "-" {
				for _, text := range []string{was, mended} {
					if found := atLeast(check.Warning, judgeScript(t, parsed(t, text), all)); len(found) > 0 {
						t.Errorf("it is found now, and the page says that it is not: %s", words(found))
					}
				}
				return
			}
			if was != "" {
				if found := judgeScript(t, parsed(t, was), all); !has(found, b.rule) {
					t.Errorf("%s does not find it; found: %s", b.rule, words(found))
				}
				if found := judgeScript(t, parsed(t, mended), all); has(found, b.rule) {
					t.Errorf("%s finds it where it is mended: %s", b.rule, words(of(found, b.rule)))
				}
			}
			if b.session != "" {
				k := check.NewChecker(check.Options{Rules: all})
				for _, e := range recordertest.Entries(t, filepath.Join("testdata/sessions", b.session+".xdsp")) {
					k.Step(&e)
				}
				if !has(k.Findings(), b.rule) {
					t.Errorf("%s does not find it in %s; found: %s", b.rule, b.session, words(k.Findings()))
				}
			}
		})
	}
}

// docs/track-record.md says of each bug how it was reproduced.
func TestTrackRecord(t *testing.T) {
	const page = "../docs/track-record.md"
	var b strings.Builder
	bugs := bugsOf(t)
	known := map[string]bool{}
	for _, r := range check.Rules() {
		known[r.ID] = true
	}
	fmt.Fprintf(&b, "# Track record\n\n"+
		"%d bugs that others met and wrote down in public: those that were cited most when the [rules](rules.md) were designed. For each, the rule that finds it, and the command that shows it. This page is made from [a list](../check/testdata/bugs/record.txt) (`go test ./check -run TrackRecord -update`), and a test fails if a rule does not find what is said here.\n\n"+
		"What was done is one of three things. They prove different things:\n\n"+
		"- **Script.** The conversation was written down from the thread, as it was and as it is where the bug is mended. The rule finds the first and is silent on the second. That shows that the rule knows the exchange. It does not show that the program in question behaves so: nobody ran it here.\n"+
		"- **Recorded.** A session of real programs, recorded through this proxy, in which the same happens. The programs are those of today unless the line says otherwise.\n"+
		"- **Played anew.** A test starts programs of the version that has the bug, puts the proxy between them, and the rule finds it in what was recorded.\n\n"+
		"None of these bugs was found by xdsproxy first.\n", len(bugs))
	for i, g := range bugs {
		if g.what == "" || strings.ContainsAny(g.thread, " ") {
			t.Errorf("%s: nobody says what happened", g.thread)
		}
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s ([thread](%s))\n\n", i+1, g.thread, g.what, threadURL(g.thread))
		if g.rule == "-" {
			b.WriteString("- Found by: no rule.\n")
		} else {
			if !known[g.rule] {
				t.Errorf("%s: there is no rule %q", g.thread, g.rule)
			}
			fmt.Fprintf(&b, "- Found by: [`%s`](rules.md#%s), %s.\n", g.rule, g.rule, severity(t, g))
		}
		fmt.Fprintf(&b, "- Run: `go test ./check -run 'TestBugs/%s$'`\n", g.name)
		if _, err := os.Stat(g.script()); err == nil {
			fmt.Fprintf(&b, "- Script: [as it was, and mended](../check/%s).\n", filepath.ToSlash(g.script()))
		}
		if g.session != "" {
			fmt.Fprintf(&b, "- Recorded: [%s](../check/testdata/sessions/%s.txt). %s. `go test ./internal/e2e -run 'TestSessions/%s$' -update` records it anew.\n", g.session, g.session, g.who, g.session)
		}
		if g.test != "" {
			if source, err := os.ReadFile("../internal/e2e/bugs_test.go"); err != nil || !strings.Contains(string(source), `"`+g.test+`"`) {
				t.Errorf("%s: internal/e2e/bugs_test.go plays no %q (%v)", g.thread, g.test, err)
			}
			fmt.Fprintf(&b, "- Played anew: %s. `go test ./internal/e2e -run 'TestBugs/%s$'`\n", g.peers, g.test)
		}
		if g.note != "" {
			fmt.Fprintf(&b, "- Note: %s\n", g.note)
		}
	}
	b.WriteString("\n## Not tried\n\nThese were cited, too, each for the rule beside it. Nobody has written down their conversations or played them. [Proofs](proofs.md) has what the rules are held against beside all this.\n\n")
	var others []string
	eachLine(t, "testdata/bugs/others.txt", func(_, line string) {
		if line == "" || strings.HasPrefix(line, "#") {
			return
		}
		thread, rules, _ := strings.Cut(line, " ")
		if slices.ContainsFunc(bugs, func(g bug) bool { return g.thread == thread }) || slices.Contains(others, thread) {
			t.Errorf("%s is there twice", thread)
		}
		others = append(others, thread)
		fmt.Fprintf(&b, "- [%s](%s)", thread, threadURL(thread))
		for _, id := range strings.Fields(rules) {
			if !known[id] {
				t.Errorf("%s: there is no rule %q", thread, id)
			}
			fmt.Fprintf(&b, ", [`%s`](rules.md#%s)", id, id)
		}
		b.WriteString("\n")
	})
	golden.Is(t, page, b.String())
}

// severity is how bad the rule says that it is, where it finds the bug.
func severity(t *testing.T, b bug) string {
	t.Helper()
	var found []check.Finding
	if was, _ := b.halves(t); was != "" {
		found = judgeScript(t, parsed(t, was), everyRule(t))
	} else {
		k := check.NewChecker(check.Options{Rules: everyRule(t)})
		for _, e := range recordertest.Entries(t, filepath.Join("testdata/sessions", b.session+".xdsp")) {
			k.Step(&e)
		}
		found = k.Findings()
	}
	worst := check.Info
	for _, f := range of(found, b.rule) {
		worst = max(worst, f.Severity)
	}
	return map[check.Severity]string{check.Error: "as an error", check.Warning: "as a warning", check.Info: "as a note"}[worst]
}

// threadURL is where a thread is. GitHub leads from there to a pull request, if it is one.
func threadURL(thread string) string {
	repo, number, _ := strings.Cut(thread, "#")
	return "https://github.com/" + repo + "/issues/" + number
}

// No script is there that no bug names.
func TestBugScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/bugs/*.pair")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	bugs := bugsOf(t)
	for _, file := range files {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return filepath.ToSlash(b.script()) == filepath.ToSlash(file) }) {
			t.Errorf("%s is of no bug", file)
		}
	}
}
