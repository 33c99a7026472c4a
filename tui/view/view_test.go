package view_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// found are findings of each severity, the last of them held silent.
func found() *view.Seen {
	of := func(s check.Severity, cause int, last session.Seq, seqs ...session.Seq) check.Finding {
		return check.Finding{Rule: check.Rules()[0], Severity: s, Cause: cause, LastSeq: last, Seqs: seqs}
	}
	s := &view.Seen{Findings: []check.Finding{
		of(check.Warning, 1, 20, 4, 20), of(check.Error, 2, 20, 20), of(check.Info, 3, 5, 4, 5), of(check.Warning, 4, 9, 9), of(check.Error, 5, 30, 30),
	}, Known: map[int]bool{5: true}}
	s.Folded = s.Findings
	return s
}

func TestFindings(t *testing.T) {
	s := found()
	for seq, want := range map[session.Seq]int{4: 1, 5: 3, 9: 4, 20: 2, 30: 5, 6: 0} {
		got := 0
		if f := s.Finding(seq); f != nil {
			got = f.Cause
		}
		if got != want {
			t.Errorf("entry %d proves %d, not %d", seq, got, want)
		}
	}
	for seq, want := range map[session.Seq]string{0: "4 false", 8: "4 false", 9: "2 false", 19: "2 false", 20: "4 true", 40: "4 true"} {
		f, wrapped := s.After(seq, nil)
		if got := fmt.Sprint(f.Cause, " ", wrapped); got != want {
			t.Errorf("after %d comes %s, not %s", seq, got, want)
		}
	}
	if f := s.Gravest(nil); f.Cause != 2 {
		t.Errorf("the gravest is %d", f.Cause)
	}
	if s.Violations() != 4 || s.Gravity() != widget.Bad {
		t.Errorf("%d violations, %v", s.Violations(), s.Gravity())
	}
	s.Findings[1].Severity = check.Warning
	if f := s.Gravest(nil); f.Cause != 4 {
		t.Errorf("of equals the first is %d", f.Cause)
	}
	s.Folded = s.Findings[:1]
	if s.Violations() != 1 || s.Gravity() != widget.Warned {
		t.Errorf("%d violations, %v", s.Violations(), s.Gravity())
	}
	s = &view.Seen{Folded: found().Findings[2:3], Findings: found().Findings[2:3]}
	if f, wrapped := s.After(0, nil); f != nil || wrapped || s.Gravest(nil) != nil || s.Violations() != 0 || s.Gravity() != widget.Plain {
		t.Error("a note is one to jump to")
	}
}

func TestSeenClients(t *testing.T) {
	s := &view.Seen{Standing: []engine.ClientStatus{{Client: "a", Types: []engine.TypeStatus{{Type: "CDS", Have: 1}, {Type: "EDS", Have: 2}}}, {Client: "b\x1b", Types: []engine.TypeStatus{{Type: "EDS", Have: 3}}}}}
	if got := s.Clients(); len(got) != 2 || got[1] != "b\x1b" {
		t.Errorf("%q", got)
	}
	if s.Type("a", "EDS").Have != 2 || s.Type("b\x1b", "EDS").Have != 3 || s.Type("b\x1b", "CDS") != nil || s.Type("c", "CDS") != nil {
		t.Error("a type is of another client")
	}
	names := view.NamesOf(s.Standing, &shortname.Set{})
	if view.NamesOf(s.Standing, names) != names || view.NamesOf(s.Standing[:1], names) == names || !names.Has([]string{"a", `b\x1b`}) {
		t.Error("the names are not those of the clients")
	}
}

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{"plain-1.x": "plain-1.x", "": `""`, "a b": `"a b"`, `a"b`: `"a*b"`, "a,b": `"a,b"`, "a*": `"a*"`, "a(": `"a("`, "a)": `"a)"`, "a|b": `"a|b"`, "a/b": `"a/b"`, "a:b": `"a:b"`} {
		if got := view.Quoted(text); got != want {
			t.Errorf("%q is quoted as %s", text, got)
		}
	}
	for text, want := range map[string]string{"a/b_c-D.9": "a/b_c-D.9", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := view.ShellWord(text); got != want {
			t.Errorf("%q is %s for a shell", text, got)
		}
	}
	if view.Join("", "a") != "a" || view.Join("a", "b") != "a b" || len(view.SplitTerms(" a  b ")) != 2 {
		t.Error("terms are joined in another way")
	}
	if view.Forecast(5, 5) != "shows all 5" || view.Forecast(1, 2000) != "shows 1, hides 1,999" {
		t.Errorf("%s; %s", view.Forecast(5, 5), view.Forecast(1, 2000))
	}
	if view.TextSearch.Noun() != "search" || view.EntryFilter.Noun() != "filter" {
		t.Error("a filter is called otherwise")
	}
	for kind, want := range map[view.PromptKind]string{view.EntryFilter: "/", view.RowFilter: "/", view.TextSearch: "/", view.CommandPrompt: ":", view.NotePrompt: ";", view.ExportPrompt: "file: "} {
		if kind.Sign() != want {
			t.Errorf("%d has the sign %s", kind, kind.Sign())
		}
	}
}

// How each row of a session looks, which terms take it, and what it is paired with.
func TestRows(t *testing.T) {
	s := viewtest.Session(t, "../..", "demo")
	var b strings.Builder
	for i := range s.Log().Index.Len() {
		r, _ := s.Log().Index.Row(i)
		look, sign := view.LookOf(&r)
		w := s.Log().Index.Words(&r)
		pair := view.Pair(s, &r)
		fmt.Fprintf(&b, "%d %d %q %s pair=%d %q %s\n", r.Seq, look, sign, view.StreamName(&w), pair, s.Said, strings.Join(view.RowTerms(s, &r), " "))
		s.Said = nil
	}
	golden.Is(t, "testdata/rows.txt", b.String())
}

// What a row is decides its look, and what it proves its sign.
func TestLookOf(t *testing.T) {
	for _, c := range []struct {
		r    index.Row
		role widget.Role
		sign string
	}{
		{index.Row{Kind: session.KindMessage, What: index.NACK}, widget.Bad, "!"},
		{index.Row{Kind: session.KindMessage, What: index.ACK}, widget.Good, " "},
		{index.Row{Kind: session.KindMessage, What: index.RESP}, widget.Accent, " "},
		{index.Row{Kind: session.KindMessage, What: index.DELTA, Severity: index.Severity(check.Error) + 1}, widget.Accent, "!"},
		{index.Row{Kind: session.KindMessage, What: index.SUB, Severity: index.Severity(check.Warning) + 1}, widget.Plain, "~"},
		{index.Row{Kind: session.KindMessage, What: index.SUB, Severity: index.Severity(check.Info) + 1}, widget.Plain, "i"},
		{index.Row{Kind: session.KindMessage, What: index.NACK, Severity: index.Severity(check.Info) + 1}, widget.Bad, "!"},
		{index.Row{Kind: session.KindMessage, Flags: index.Troubled}, widget.Plain, "~"},
		{index.Row{Kind: session.KindMessage, Flags: index.Truncated}, widget.Plain, "~"},
		{index.Row{Kind: session.KindOpen}, widget.Muted, " "},
		{index.Row{Kind: session.KindNote, Flags: index.Aside}, widget.Warned, "~"},
		{index.Row{Kind: session.KindGap, Flags: index.Aside}, widget.Bad, "!"},
	} {
		if role, sign := view.LookOf(&c.r); role != c.role || sign != c.sign {
			t.Errorf("%+v looks %v, %q", c.r, role, sign)
		}
	}
	for s, want := range map[check.Severity]widget.Role{check.Error: widget.Bad, check.Warning: widget.Warned, check.Info: widget.Muted} {
		if view.SeverityRole(s) != want {
			t.Errorf("%s looks %v", s, view.SeverityRole(s))
		}
	}
	for s, want := range map[engine.State]widget.Role{engine.Synced: widget.Good, engine.Pending: widget.Accent, engine.Unknown: widget.Warned, engine.NotSent: widget.Warned, engine.Stale: widget.Warned, engine.Nacked: widget.Bad, engine.State(99): widget.Muted} {
		if view.StateRole(s) != want {
			t.Errorf("%s looks %v", s, view.StateRole(s))
		}
	}
}

// A list and what is selected stand side by side, or one below the other, or alone.
func TestSplit(t *testing.T) {
	s := viewtest.Session(t, "../..", "demo")
	block := func(text string) func(w, h int) []widget.Line {
		return func(w, h int) (out []widget.Line) {
			for range h {
				out = append(out, widget.Text(widget.Plain, fmt.Sprintf("%s %dx%d", text, w, h)))
			}
			return out
		}
	}
	for _, c := range []struct {
		w, h, rows int
		want       string // the first line, the last, and how many there are
	}{
		{120, 5, 9, "list 67x5|about 52x5|5"},
		{119, 20, 9, "list 119x8|about 119x11|20"},
		{80, 12, 9, "list 80x5|about 80x6|12"},
		{80, 11, 9, "list 80x11|list 80x11|11"},
		{80, 30, 2, "list 80x3|about 80x26|30"},
		{80, 30, 0, "list 80x30|list 80x30|30"},
	} {
		lines := view.Split(s, c.w, c.h, c.rows, block("list"), block("about"), func() (string, widget.Role) { return "title", widget.Title })
		first, last := lines[0].PlainText(), lines[len(lines)-1].PlainText()
		want := strings.Split(c.want, "|")
		if !strings.HasPrefix(first, want[0]) || !strings.HasSuffix(last, want[1]) || fmt.Sprint(len(lines)) != want[2] {
			t.Errorf("%dx%d: %q to %q, %d lines", c.w, c.h, first, last, len(lines))
		}
		if strings.Contains(c.want, "about") && c.w < 120 && !strings.Contains(lines[len(lines)-c.h+int(lines[0].PlainText()[len(want[0])-1]-'0')].PlainText(), "title") {
			t.Errorf("%dx%d has no title", c.w, c.h)
		}
	}
}

// The pager is the one of the environment, with its arguments, and what it is given
// is for nobody else.
func TestPager(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for want, e := range map[string]func(string) string{
		`less -R "$1"`: env(), `more "$1"`: env("PAGER", "more"), `cat -v "$1"`: env("PAGER", "more", "XDSPROXY_PAGER", "cat -v"),
	} {
		if got := view.PagerCommand(e, "/a b").Args; strings.Join(got, "|") != "sh|-c|"+want+"|sh|/a b" {
			t.Errorf("%q", got)
		}
	}
	path, err := view.PrivateFile("xdsproxy-*.txt", "text")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Ext(path) != ".txt" {
		t.Errorf("%v, %v", info, err)
	}
	out, err := exec.Command("sh", view.PagerCommand(env("PAGER", "cat"), path).Args[1:]...).Output()
	if err != nil || string(out) != "text" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := view.PrivateFile("no/such/place", "x"); err == nil {
		t.Error("it is written anywhere")
	}
	s := viewtest.Session(t, "../..", "demo")
	var text view.Text
	if cmd := view.ToPager(s, nil, view.PagerText{Err: os.ErrNotExist}); cmd != nil || len(s.Said) != 1 {
		t.Errorf("%q", s.Said)
	}
	s.Said = nil
	text.HandlePager(s, nil, view.PagerDone{})
	text.HandlePager(s, nil, view.PagerDone{Err: os.ErrClosed})
	if len(s.Said) != 1 || !strings.Contains(s.Said[0], "the pager failed: file already closed; $XDSPROXY_PAGER names another one") {
		t.Errorf("%q", s.Said)
	}
	if text.HandlePager(s, nil, "else") != nil {
		t.Error("it takes what is not of the pager")
	}
	text.Pane.Text = ""
	if _, err := text.Ask(s, "not there"); err == nil || text.Language() != view.TextSearch {
		t.Error("what is in no line is found")
	}
	if _, err := text.Ask(s, ""); err != nil {
		t.Error(err)
	}
}

func TestWelcome(t *testing.T) {
	s := viewtest.Session(t, "../..", "demo")
	plain := func(lines []widget.Line) (out string) {
		for i := range lines {
			out += lines[i].PlainText() + "\n"
		}
		return out
	}
	if got := plain(view.Welcome(s.Log())); got != "\n   Nothing has passed yet.\n" {
		t.Errorf("%q", got)
	}
	s.Log().Proxy = &source.Proxy{}
	if got := plain(view.Welcome(s.Log())); got != "\n   Nothing has passed yet.\n" {
		t.Errorf("%q", got)
	}
	s.Log().Proxy.Routes = []source.Route{{Listen: ":1", Upstream: "a:2"}, {Listen: ":3"}}
	if got := plain(view.Welcome(s.Log())); !strings.Contains(got, "   Listening on :1, upstream a:2.\n") || strings.Contains(got, ":3") {
		t.Errorf("%q", got)
	}
	s.Log().Name = "/home/me/x.xdsp"
	if got := view.SourceName(s); got != "/home/me/x.xdsp" {
		t.Error(got)
	}
	s.Aliases().On = true
	if got := view.SourceName(s); strings.Contains(got, "home") || got == "" {
		t.Error(got)
	}
	s.Aliases().On = false
	f := &check.Finding{Client: "gw-0"}
	if got := view.ClientsOf(s, f); got != "gw-0" {
		t.Error(got)
	}
	f.Clients = []string{"gw-0", "gw-1"}
	if got := view.ClientsOf(s, f); got != "2 clients" {
		t.Error(got)
	}
}

// What is unread is what the log had when it was opened, and only while it is read.
func TestUnread(t *testing.T) {
	s := viewtest.New(t, viewtest.Record(t, viewtest.StreamBegins()...))
	for _, c := range []struct {
		had, last session.Seq
		want      int
	}{{10, 0, 10}, {10, 7, 3}, {10, 9, 1}, {10, 10, 0}, {10, 11, 0}, {0, 0, 0}, {0, 5, 0}} {
		if s.Log().Last = c.had; s.Log().Unread(c.last) != c.want {
			t.Errorf("behind %d of %d there are %d", c.last, c.had, s.Log().Unread(c.last))
		}
	}
	s.Read(t).Log().Last = 10
	if got := s.Log().Unread(3); got != 0 {
		t.Errorf("it was read, and %d are unread", got)
	}
}

// table is a view with columns: one that is shown, and one for which there is no room.
type table struct{ view.Plain }

func (table) Title() string                                     { return "table" }
func (table) Keys() []key.Offer                                 { return nil }
func (table) Draw(view.Screen, int, int) []widget.Line          { return nil }
func (table) SortBy(view.Screen, string) (cmd tea.Cmd, is bool) { return nil, false }
func (table) Columns(view.Screen) []chosen.Column {
	return []chosen.Column{{Title: "OTHER", Width: 30}, {Title: "SHOWN", Width: 20}, {Title: "NARROW", Width: 1}, {Title: "HIDDEN"}}
}

// A column that is shown is made wider or narrower; of others it is said that they are
// not shown.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		title string
		a     key.Action
		want  int // 0: it is not known
	}{{"SHOWN", key.Wider, 22}, {"SHOWN", key.Narrower, 18}, {"NARROW", key.Wider, 3}, {"HIDDEN", key.Wider, 0}, {"NONE", key.Narrower, 0}} {
		s := viewtest.Session(t, "../..", "demo")
		view.Resize(s, table{}, c.title, c.a)
		said, widths := "", s.Choice("table").Widths
		if c.want == 0 {
			said = "the column " + c.title + " is not shown here"
		}
		if widths[c.title] != c.want || len(widths) > 1 || strings.Join(s.Said, "") != said {
			t.Errorf("%s %s: %v, %q", c.title, c.a, widths, s.Said)
		}
	}
}

// A page asks for the words of its rows, with those that it has.
func TestPage(t *testing.T) {
	s := viewtest.Session(t, "../..", "demo")
	var p view.Page
	if cmd, err := p.Ask(s, "some words"); cmd != nil || err != nil || p.Query() != "some words" || p.Language() != view.RowFilter {
		t.Errorf("%q, %v", p.Query(), err)
	}
	if _, taken := p.Do(s, key.Filter, nil); !taken || len(s.Said) != 1 || !strings.HasSuffix(s.Said[0], ": /some words") {
		t.Errorf("%t, %q", taken, s.Said)
	}
	s.Said = nil
	if _, taken := p.Do(s, key.Down, nil); !taken || len(s.Said) > 0 {
		t.Errorf("it moves: %t, %q", taken, s.Said)
	}
	if _, taken := p.Do(s, key.Wider, nil); taken || len(s.Said) > 0 {
		t.Errorf("it has no columns: %t, %q", taken, s.Said)
	}
}

// What is to be paged is written first; where that fails, it is said.
func TestPagerReads(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := viewtest.Session(t, "../..", "demo")
	var text view.Text
	for ext, want := range map[string]int{"yaml": 1, "no/yaml": 0} {
		reply := text.HandlePager(s, table{}, view.PagerText{Text: "a: 1\n", Ext: ext})().(view.Reply)
		next := text.HandlePager(s, reply.To, reply.Msg)()
		files, err := filepath.Glob(filepath.Join(dir, "xdsproxy-*.yaml"))
		if err != nil || len(files) != want || reply.To != view.View(table{}) {
			t.Errorf("%s: %q, %v", ext, files, err)
		}
		said, failed := next.(view.Said)
		if failed != (want == 0) || failed && (said.Role != widget.Bad || said.Text == "") {
			t.Errorf("%s: the pager gets %+v", ext, next)
		}
		for _, file := range files {
			if b, err := os.ReadFile(file); err != nil || string(b) != "a: 1\n" {
				t.Errorf("%q, %v", b, err)
			}
			_ = os.Remove(file)
		}
	}
}
