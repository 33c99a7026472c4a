package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loops is how often the client rejects that rejects for ever.
func loops() int64 {
	if *full {
		return 10_000
	}
	return 2_000
}

// What the screen says is what status, tree, check, pushes, diff and watch say: of a
// proxy at work, of its recording and through its viewer, on a small terminal and
// on a large one. An Envoy has rejected the same clusters some thousand times, and
// two hundred sidecars with names as Istio gives them stand beside it.
func TestScreenAgrees(t *testing.T) {
	t.Parallel()
	looped := sidecar(200)
	plane := startCrowdPlane(t, looped, loops())
	dir, err := os.MkdirTemp("", "x") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file, viewer := filepath.Join(dir, "night.xdsp"), "unix:"+filepath.Join(dir, "v")
	live := newPane(t, 80, 24, "run", "--listen", freeAddr(t), "--upstream", plane.at, "-w", file, "--viewer", viewer)
	live.shows("No client has connected yet")
	addr := listenerOf(t, live.pid())
	e, admin := launchEnvoy(t, variants()[0], looped, addr)
	e.await(t, admin)
	sidecars(t, addr, 200)
	for before := int64(-1); plane.rejected.Load() < plane.rounds; {
		eventually(t, "one rejection more", func() bool { return plane.rejected.Load() > before })
		before = plane.rejected.Load()
	}
	told := tellsOf(t, file, looped)

	t.Run("live", func(t *testing.T) {
		live.t = t
		told.holds(t, live, file, looped)
		live.tmux("resize-window", "-x", "160", "-y", "50")
		told.holds(t, live, file, looped)
	})
	for name, source := range map[string]string{"file": file, "viewer": viewer} {
		for _, size := range [][2]int{{80, 24}, {160, 50}} {
			t.Run(fmt.Sprintf("%s at %dx%d", name, size[0], size[1]), func(t *testing.T) {
				told.holds(t, newPane(t, size[0], size[1], "open", source), file, looped)
			})
		}
	}
}

// tells is what the commands say of a recording.
type tells struct {
	states    map[string]map[string]string // by client and type, as status has them
	resources []string                     // of the looped client: type, name, state, version
	messages  map[int]string               // by entry: type and what
	changes   map[string]bool              // lines of the diff from what is in use to what is rejected
	pushes    map[int]string               // accepted/clients, and how many rejected
	nacks     int                          // of the looped client
	accepted  int                          // the entry that brought the former
	rejected  int                          // the entry that brought the latter last
}

// tellsOf asks until nothing is pending: then time alone changes nothing any more.
func tellsOf(t *testing.T, file, looped string) *tells {
	t.Helper()
	told := &tells{states: map[string]map[string]string{}, messages: map[int]string{}, pushes: map[int]string{}, changes: map[string]bool{}}
	eventually(t, "nothing is pending", func() bool {
		// A rule waits longest for who asks in vain.
		return !bytes.Contains(runProgram(t, "status", file), []byte("PENDING")) &&
			bytes.Contains(runProgram(t, "check", file, "--info", "--fail-on", "never"), []byte("ack-missing")) &&
			bytes.Contains(runProgram(t, "check", file, "--info", "--fail-on", "never"), []byte("requested-resource-timeout"))
	})

	var status struct {
		Clients []struct {
			Client string
			Types  []struct {
				Type, State string
				Nacks       int
			}
		}
	}
	decodeJSON(t, runProgram(t, "status", file, "-o", "json"), &status)
	for _, c := range status.Clients {
		told.states[c.Client] = map[string]string{}
		for _, s := range c.Types {
			told.states[c.Client][s.Type] = s.State
			if c.Client == looped {
				told.nacks += s.Nacks
			}
		}
	}

	var list struct {
		Pushes []struct{ N, Accepted, Clients, Rejected int }
	}
	decodeJSON(t, runProgram(t, "pushes", file, "-o", "json"), &list)
	for _, p := range list.Pushes {
		told.pushes[p.N] = fmt.Sprintf("%d/%d %d", p.Accepted, p.Clients, p.Rejected)
	}

	type node struct {
		Type, Name, State, Version string
		Children                   []node
	}
	var tree struct{ Resources, Dangling []node }
	decodeJSON(t, runProgram(t, "tree", file, looped, "-o", "json"), &tree)
	var walk func(all []node)
	walk = func(all []node) {
		for _, n := range all {
			told.resources = append(told.resources, strings.Join([]string{n.Type, n.Name, n.State, cmp.Or(n.Version, "-")}, " "))
			walk(n.Children)
		}
	}
	walk(tree.Resources)
	walk(tree.Dangling)

	for line := range bytes.Lines(runProgram(t, "watch", file, "-o", "jsonl", "--no-follow")) {
		var m struct {
			Seq                               int
			Kind, Client, Type, What, Version string
		}
		decodeJSON(t, line, &m)
		if m.Kind != "message" {
			continue
		}
		told.messages[m.Seq] = m.Type + " " + m.What
		if m.Client == looped && m.Type == "CDS" && m.What == "RESP" {
			if m.Version == "1" {
				told.accepted = m.Seq
			} else {
				told.rejected = m.Seq
			}
		}
	}
	for line := range strings.Lines(string(runProgram(t, "diff", file, strconv.Itoa(told.accepted), strconv.Itoa(told.rejected)))) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
			told.changes[changed(line)] = true
		}
	}
	return told
}

// findings are what check finds in a recording: mark and rule, sorted, and how many
// are more than notes.
func findings(t *testing.T, file string) (all []string, serious int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^([!~i]) ([a-z-]+)`).FindAllStringSubmatch(string(runProgram(t, "check", file, "--info", "--fail-on", "never")), -1) {
		all = append(all, m[1]+" "+m[2])
		if m[1] != "i" {
			serious++
		}
	}
	slices.Sort(all)
	return all, serious
}

// changed is a line of a diff without what differs between command and screen:
// its indent, and the brackets with the name of an element.
func changed(line string) string {
	sign, text := line[:1], strings.TrimSpace(line[1:])
	text, _, _ = strings.Cut(text, "  [")
	return sign + " " + strings.TrimPrefix(text, "- ")
}

func decodeJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v:\n%.500s", err, text)
	}
}

func (told *tells) holds(t *testing.T, p *pane, file, looped string) {
	t.Helper()
	p.shows("[") // whatever it begins with
	p.press("1")
	p.shows("[1 Clients]", fmt.Sprintf("%d clients", len(told.states)))
	p.shows(fmt.Sprintf("NACKED ×%d", told.nacks)) // all messages were read: a rejection is the last one
	// After it the recording has time that passed, and what is not answered is stale by that.
	eventually(t, "nothing is pending on the screen", func() bool {
		pending := false
		p.pages(func(screen string) { pending = pending || strings.Contains(screen, "PENDING") })
		return !pending
	})
	told.clients(t, p)
	told.timeline(t, p)
	violations(t, p, file)
	told.pushed(t, p)
	told.ofOne(t, p, looped)
}

// after presses keys, and returns the screen when all of them have been heard: a
// word that was typed into the prompt after them has come, and gone again.
func (p *pane) after(keys ...string) string {
	p.t.Helper()
	p.press(append(keys, ":")...)
	p.asked++
	word := fmt.Sprintf("heard%d", p.asked)
	p.typed(word)
	p.shows(word)
	p.press("Escape")
	var screen string
	eventually(p.t, "the prompt closes", func() bool {
		screen = p.screen()
		return !strings.Contains(screen, word)
	})
	return screen
}

// pages shows each page of a list, from its first row to its last.
func (p *pane) pages(look func(screen string)) {
	p.t.Helper()
	for screen, last := p.after("g"), ""; body(screen) != last && !p.t.Failed(); screen = p.after("NPage") {
		look(screen)
		last = body(screen)
	}
}

// body is a screen without its first line, which has a clock, and without ages.
func body(screen string) string {
	_, rest, _ := strings.Cut(screen, "\n")
	return ages.ReplaceAllString(rest, "")
}

var (
	ages     = regexp.MustCompile(`\s+[0-9.]+(ms|s|m|h)\b`)
	position = regexp.MustCompile(`(?m)^ ([0-9,]+) of ([0-9,]+) `)
)

// called finds the one name that a row may mean, which may be shortened.
func called(t *testing.T, names []string, shown string) string {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !fits(name, shown) })
	if len(found) != 1 {
		t.Errorf("%q fits %d names: %.300q", shown, len(found), found)
		return ""
	}
	return found[0]
}

func fits(name, shown string) bool {
	pieces := strings.Split(shown, "…")
	if len(pieces) == 1 {
		return name == shown
	}
	if !strings.HasPrefix(name, pieces[0]) || !strings.HasSuffix(name, pieces[len(pieces)-1]) {
		return false
	}
	for _, piece := range pieces[:len(pieces)-1] {
		at := strings.Index(name, piece)
		if at < 0 {
			return false
		}
		name = name[at+len(piece):]
	}
	return len(name) >= len(pieces[len(pieces)-1])
}

// clients holds every row of Clients against status.
func (told *tells) clients(t *testing.T, p *pane) {
	t.Helper()
	names := []string{}
	for name := range told.states {
		names = append(names, name)
	}
	seen := map[string]bool{}
	p.pages(func(screen string) {
		var columns map[string][2]int
		for line := range strings.Lines(screen) {
			switch row := []rune(strings.TrimRight(line, "\n")); {
			case strings.Contains(line, "CLIENT (node id)"):
				columns = headings(row)
			case columns != nil && len(row) > 2 && (row[0] == '>' || row[0] == ' ') && strings.Contains(line, "envoy"):
				if position.MatchString(line) || !strings.HasPrefix(strings.TrimSpace(cell(row, columns["KIND"])), "envoy") {
					continue
				}
				name := called(t, names, strings.TrimSpace(cell(row, columns["CLIENT"])))
				if name == "" {
					continue
				}
				seen[name] = true
				for typ, at := range columns {
					want, is := told.states[name][typ]
					got, _, _ := strings.Cut(strings.TrimSpace(cell(row, at)), " ")
					if got = strings.Trim(got, "()"); slices.Contains([]string{"LDS", "RDS", "CDS", "EDS"}, typ) && got != want && (is || got != "-") {
						t.Errorf("%s, %s: the screen says %s, status %s:\n%s", name, typ, got, want, screen)
					}
				}
			}
		}
	})
	if len(seen) != len(names) {
		t.Errorf("the screen has %d of %d clients", len(seen), len(names))
	}
}

// headings says where the columns of a table begin and end.
func headings(row []rune) map[string][2]int {
	at, last := map[string][2]int{}, ""
	for i := range row {
		if row[i] == ' ' || i > 0 && row[i-1] != ' ' {
			continue
		}
		word, _, _ := strings.Cut(string(row[i:]), " ")
		if word == "(node" || word == "id)" {
			continue
		}
		if last != "" {
			at[last] = [2]int{at[last][0], i}
		}
		at[word], last = [2]int{i, len(row) + 100}, word
	}
	return at
}

func cell(row []rune, at [2]int) string {
	return string(row[min(at[0], len(row)):min(at[1], len(row))])
}

// timeline holds the rows of the last page against watch.
func (told *tells) timeline(t *testing.T, p *pane) {
	t.Helper()
	row := regexp.MustCompile(`([0-9]+)  [0-9:.]+ .* ([LRCE]DS) +([A-Z]+) `)
	found := 0
	for line := range strings.Lines(p.after("2", "G")) {
		if m := row.FindStringSubmatch(line); m != nil {
			found++
			seq, _ := strconv.Atoi(m[1])
			if got := m[2] + " " + m[3]; got != told.messages[seq] {
				t.Errorf("entry %d is %q on the screen, %q of watch", seq, got, told.messages[seq])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d rows of the timeline were read:\n%s", found, p.screen())
	}
}

// violations holds the list of Violations against check. Time alone proves some of
// them, such as a rejection that has stood for minutes: only what check says before
// and after the look counts.
func violations(t *testing.T, p *pane, file string) {
	t.Helper()
	p.press("4")
	p.shows("[4 Violations]")
	for amiss := 0; ; {
		want, serious := findings(t, file)
		got := listed(p, len(want))
		if slices.Equal(got, want) && strings.Contains(p.screen(), fmt.Sprintf("%d violations", serious)) {
			return
		}
		if after, _ := findings(t, file); slices.Equal(after, want) {
			amiss++ // the list is made beside the loop, and may be late
		}
		if amiss == 5 {
			t.Errorf("Violations has %q, check %q, %d of them serious:\n%s", got, want, serious, p.screen())
			return
		}
	}
}

// listed goes through the list of Violations, which has so many rows.
func listed(p *pane, rows int) (got []string) {
	row := regexp.MustCompile(`^> ([!~i]) ([a-z-]+) `)
	end := body(p.after("G"))
	for screen := p.after("g"); ; screen = p.after("j") {
		for line := range strings.Lines(screen) {
			if m := row.FindStringSubmatch(line); m != nil {
				got = append(got, m[1]+" "+m[2])
			}
		}
		if body(screen) == end || len(got) > rows {
			break
		}
	}
	slices.Sort(got)
	return got
}

// pushed holds the last page of Pushes, and the first one, against pushes.
func (told *tells) pushed(t *testing.T, p *pane) {
	t.Helper()
	p.press("6")
	p.shows("[6 Pushes]", fmt.Sprintf(" of %s ", thousands(len(told.pushes))))
	row := regexp.MustCompile(`^[> ] [!~ ] +([0-9]+) [0-9:.]+ .* ([0-9]+/[0-9]+) +[0-9.a-zµ-]+ (?:([0-9]+) rejected)?`)
	found := 0
	for _, k := range []string{"G", "g"} {
		for line := range strings.Lines(p.after(k)) {
			if m := row.FindStringSubmatch(line); m != nil {
				found++
				n, _ := strconv.Atoi(m[1])
				if got := m[2] + " " + cmp.Or(m[3], "0"); got != told.pushes[n] {
					t.Errorf("push %d is %q on the screen, %q of pushes:\n%s", n, got, told.pushes[n], p.screen())
				}
			}
		}
	}
	if found < min(5, len(told.pushes)) {
		t.Errorf("%d rows of Pushes were read, of %d:\n%s", found, len(told.pushes), p.screen())
	}
}

// thousands writes a number as the screen does.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// ofOne goes from a client to what it rejected and to what it has.
func (told *tells) ofOne(t *testing.T, p *pane, looped string) {
	t.Helper()
	p.press("1", "/")
	p.typed("10.0.2.0~")
	p.press("Enter")
	p.shows("[1 Clients]", " 1 of 1 ", fmt.Sprintf("NACKED ×%d", loops()))
	p.press("d")
	difference := p.shows("Diff", "accepted) >")
	title := regexp.MustCompile(`\(([0-9,]+), accepted\) > .*\(([0-9,]+), rejected\)`).FindStringSubmatch(difference)
	if title == nil || title[1] != fmt.Sprint(told.accepted) || title[2] != fmt.Sprint(told.rejected) {
		t.Errorf("the diff is of %q; %d was accepted, %d rejected", title, told.accepted, told.rejected)
	}
	lines := 0
	for line := range strings.Lines(difference) {
		line = strings.TrimSpace(strings.TrimPrefix(line, ">"))
		if strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
			if lines++; !told.changes[changed(line)] {
				t.Errorf("the screen has the difference %q, diff has not: %v", line, told.changes)
			}
		}
	}
	if lines < 5 {
		t.Errorf("%d lines of the difference were read:\n%s", lines, p.screen())
	}

	p.press("q")
	p.shows("[1 Clients]", " 1 of 1 ")
	p.press("r")
	p.shows("[3 Resources]", "ACKED") // it is made beside the loop
	var got []string
	names := []string{}
	for _, r := range told.resources {
		names = append(names, strings.Fields(r)[1])
	}
	row := regexp.MustCompile(`([LRCE]DS)  (\S+) +([A-Z]{4,}) +(\S+)`)
	seen := map[string]bool{}
	p.pages(func(screen string) {
		for line := range strings.Lines(screen) {
			if m := row.FindStringSubmatch(line); m != nil {
				r := strings.Join([]string{m[1], called(t, slices.Compact(slices.Sorted(slices.Values(names))), m[2]), m[3], m[4]}, " ")
				if !seen[r] {
					seen[r], got = true, append(got, r)
				}
			}
		}
	})
	for _, r := range told.resources {
		if !slices.Contains(got, r) {
			t.Errorf("tree has %q, Resources has not", r)
		}
	}
	for _, r := range got {
		if !slices.Contains(told.resources, r) {
			t.Errorf("Resources has %q, tree has not", r)
		}
	}
	p.press("1", "/")
	p.press("C-u", "Enter")
	p.shows("[1 Clients]", fmt.Sprintf(" of %d ", len(told.states)))
}
