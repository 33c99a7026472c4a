package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// Every command line of every page is one that this program takes: the command is
// there, and so is each flag, with a value that it can have. What comes of it is
// told by tests that type pages, in internal/e2e.
func TestCommandsInDocs(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-co", "--exclude-standard", "--", "*.md").Output()
	if err != nil {
		t.Skip("this is no clone: ", err)
	}
	lines, flags := 0, 0
	for _, name := range strings.Fields(string(out)) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/adr/") || strings.Contains(name, "testdata/") {
			continue // these tell what was, or are no pages
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			for _, words := range simpleCommands(line) {
				args := argsOf(words)
				if args == nil {
					continue
				}
				lines++
				n, err := parses(args)
				if flags += n; err != nil {
					t.Errorf("%s: %s\n%v", name, line, err)
				}
			}
		}
	}
	t.Logf("%d command lines with %d flags", lines, flags)
	if lines < 200 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// What is wrong in a page is noticed.
func TestCommandsInDocsNotice(t *testing.T) {
	for line, good := range map[string]bool{
		"xdsproxy watch @last --filter 'kind:nack' | head":           true,
		"A=b xdsproxy run --upstream a:1 # --nothing":                true,
		"xdsproxy replay a.xdsp -- envoy --config-yaml 'a: b'":       true,
		"x=$(xdsproxy status --since-ever)":                          false,
		"xdsproxy wach @last":                                        false,
		"xdsproxy watch @last --filtre kind:nack":                    false,
		"cd a && xdsproxy run --upstream a:1 --drain never":          false,
		"xdsproxy run --upstream a:1 \\\n  --no-such-flag":           false,
		"sudo -u xdsproxy xdsproxy run --headles":                    false,
		"xdsproxy help nothing-of-the-kind":                          false,
		"xdsproxy help filters":                                      true,
		"xdsproxy wrap envoy --no-such-flag":                         true, // it is envoy's
		"xdsproxy explain no-such-rule":                              false,
		"until xdsproxy status a.xdsp | grep -q x; do sleep 1; done": true,
	} {
		var err error
		found := false
		for _, words := range simpleCommands(strings.ReplaceAll(line, "\\\n", " ")) {
			if args := argsOf(words); args != nil {
				found = true
				if _, e := parses(args); e != nil {
					err = e
				}
			}
		}
		if !found || (err == nil) != good {
			t.Errorf("%s: found %v, %v", line, found, err)
		}
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	inlined = regexp.MustCompile("`((?:[A-Z_]+=[^ `]+ )?xdsproxy [^`\n]+)`")
	heredoc = regexp.MustCompile(`(?ms)<<'?(\w+)'?(.*?)$.*?^(\w+)$`)
)

// commandLines are what a page has in fences and between backticks, if it begins with
// the program or has it behind something that a shell knows.
func commandLines(page string) (lines []string) {
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(heredoc.ReplaceAllString(m[1], "$2"), "\\\n", " ")
		prompts := strings.Contains("\n"+text, "\n$ ")
		for line := range strings.Lines(text) {
			line, prompt := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if strings.Contains(line, "xdsproxy ") && (prompt || !prompts) {
				lines = append(lines, line)
			}
		}
	}
	for _, m := range inlined.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		lines = append(lines, m[1])
	}
	return lines
}

// simpleCommands are the words of each command of a line, as far as pages need a
// shell: quotes, remarks, pipes, lists, substitutions, redirections.
func simpleCommands(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	in := false
	end := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for i, r := range line {
		switch {
		case quote == 0 && r == '#' && !in:
			next()
			return all
		case quote == r:
			quote = 0
		case quote == '\'', quote == '"' && r != '$':
			word.WriteRune(r)
		case quote == 0 && (r == '\'' || r == '"'):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			end()
		case strings.HasPrefix(line[i:], "$("):
			quote = 0 // a substitution in quotes is a command, too
		case quote == 0 && strings.ContainsRune("|;&()", r):
			next()
		default:
			word.WriteRune(r)
			in = true
		}
	}
	next()
	return all
}

// argsOf are the arguments of the program in a command, if it is that.
func argsOf(words []string) []string {
	var kept []string
	for i := 0; i < len(words); i++ {
		if redirected.MatchString(words[i]) {
			if strings.HasSuffix(words[i], ">") || strings.HasSuffix(words[i], "<") {
				i++
			}
			continue
		}
		kept = append(kept, words[i])
	}
	for len(kept) > 0 && (assignment.MatchString(kept[0]) || slices.Contains([]string{"until", "while", "if", "do", "then", "exec", "!"}, kept[0])) {
		kept = kept[1:]
	}
	if len(kept) > 3 && kept[0] == "sudo" && kept[1] == "-u" {
		kept = kept[3:]
	}
	if len(kept) < 2 || filepath.Base(kept[0]) != "xdsproxy" || kept[1] == "COMMAND" {
		return nil
	}
	return kept[1:]
}

var (
	redirected = regexp.MustCompile(`^\d*(>>?|<)`)
	assignment = regexp.MustCompile(`^[A-Za-z_]+=`)
	// placeholder stands for a number or a name in a text that explains.
	placeholder = regexp.MustCompile(`^(\.\.\.|…|[A-Z][A-Z_.]*|\[.*|.*\]|<.*>)$`)
)

// parses says how many flags a command line sets, and why it cannot be.
func parses(args []string) (int, error) {
	a := &cli{stdout: io.Discard, stderr: io.Discard, ctx: context.Background()}
	a.config = settings.New()
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return 0, err
	}
	for i, arg := range rest {
		if arg == "--" {
			break
		}
		if placeholder.MatchString(arg) && (i == 0 || !strings.HasPrefix(rest[i-1], "-")) {
			rest[i] = "x" // of a text that explains
		}
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return 0, err
	}
	n := 0
	for _, arg := range rest {
		if strings.HasPrefix(arg, "-") {
			n++
		}
	}
	switch names := cmd.Flags().Args(); cmd.Name() {
	case "help", "explain":
		if len(names) == 1 && names[0] != "x" {
			return n, cmd.RunE(cmd, names)
		}
	}
	return n, nil
}
