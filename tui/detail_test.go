package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/compare"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// openAt opens the entry of a session.
func openAt(tb testing.TB, name string, seq, w, h int) *driver {
	tb.Helper()
	d := drive(tb, fileSource(sessionPath(name)), w, h, Options{Theme: "mono"})
	d.press(":")
	d.typed(fmt.Sprint(seq))
	d.press("enter")
	return d
}

func TestDetailFrames(t *testing.T) {
	for _, s := range sizes() {
		d := openAt(t, "envoy-sotw-nack", 17, s[0], s[1])
		d.press("enter")
		d.golden(fmt.Sprintf("detail-%dx%d", s[0], s[1]))
		d.press("d")
		d.golden(fmt.Sprintf("diff-%dx%d", s[0], s[1]))
		d.press("q", "L")
		d.golden(fmt.Sprintf("ladder-%dx%d", s[0], s[1]))
	}
}

func TestDetailForms(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("enter")
	for _, f := range []string{"summary", "yaml", "json", "wire", "diff"} {
		d.golden("detail-form-" + f)
		d.press("v")
	}
	if got := d.frame(); !strings.Contains(got, "[summary]") {
		t.Errorf("the forms do not come round:\n%s", got)
	}
}

// TestDetailKeys tells where keys lead from an entry in full.
func TestDetailKeys(t *testing.T) {
	for _, tc := range []struct {
		name string
		seq  int
		keys []string
		want string // on the screen
	}{
		{"pair of a NACK", 17, []string{"p"}, " 16  CDS RESP"},
		{"pair of a response", 16, []string{"p"}, " 17  ! CDS NACK"},
		{"pair of what asks", 3, []string{"p"}, "3 answers no response: it asks"},
		{"next on the stream", 16, []string{"]"}, " 17  ! CDS NACK"},
		{"before on the stream", 16, []string{"["}, " 15  RDS ACK"},
		{"version before", 19, []string{"{"}, " 16  CDS RESP"},
		{"version after", 5, []string{"}"}, " 16  CDS RESP"},
		{"no version after", 19, []string{"}"}, "no CDS response after 19 on this stream"},
		{"next violation", 3, []string{"!"}, " 17  ! CDS NACK"},
		{"violations come round", 20, []string{"!"}, "from the beginning again"},
		{"the only violation", 17, []string{"!"}, "this is the only entry"},
		{"what a line is about", 17, []string{"j", "j", "j", "enter"}, " 16  CDS RESP"},
		{"no other entry", 17, []string{"enter"}, "this line is about no other entry"},
		{"search", 17, []string{"/", "M", "A", "G", "L", "E", "V", "enter"}, "match 1 of"},
		{"search for nothing", 17, []string{"/", "Q", "Q", "Q", "enter"}, "no line has that"},
		{"escape ends the search", 17, []string{"/", "M", "A", "G", "enter", "esc"}, "search: none"},
		{"fold", 16, []string{"v", "j", "space"}, "lines]"},
		{"unfold", 16, []string{"v", "j", "space", "space"}, "name: broken"},
		{"nothing to fold", 9, []string{"space"}, "there is nothing to fold"},
		{"diff of an event", 2, []string{"d"}, "2 is no message: there is nothing to compare"},
		{"an event has no versions", 2, []string{"{"}, "2 is about no type"},
		{"bytes of an event", 2, []string{"v", "v", "v"}, "there are no bytes to show"},
		{"the first request", 3, []string{"d"}, "3 is the first of its kind on its stream"},
		{"back", 17, []string{"q"}, "[2 Timeline]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := openAt(t, "envoy-sotw-nack", tc.seq, 100, 30)
			d.press("enter")
			d.press(tc.keys...)
			if got := d.frame(); !strings.Contains(got, tc.want) {
				t.Errorf("after %v on %d there is no %q:\n%s", tc.keys, tc.seq, tc.want, got)
			}
		})
	}
}

// TestDetailMovesTimeline: who steps through messages finds the timeline there.
func TestDetailMovesTimeline(t *testing.T) {
	d := openAt(t, "envoy-sotw-nack", 16, 80, 24)
	d.press("enter", "]", "]", "q")
	if got := d.m.timeline.Selected(d.m).Seq; got != 19 {
		t.Errorf("the timeline is at %d", got)
	}
}

func TestDetailLarge(t *testing.T) {
	var data []byte
	for i := range 60_000 {
		data = append(data, viewtest.Field(3, fmt.Sprintf("a-name-of-some-length-%d", i))...)
	}
	data = append(data, viewtest.Field(4, "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment")...)
	d := drive(t, viewtest.Record(t, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, data))...), 80, 24, Options{Theme: "mono"})
	d.press("G", "enter", "v")
	if got := d.frame(); !strings.Contains(got, "lines are not shown: o opens all of it in the pager") {
		t.Errorf("a large message does not say that it is cut:\n%s", got)
	}
	if n := len(d.m.top().(*detail.View).Pane.Lines); n > compare.FewLines+2 {
		t.Errorf("%d lines are kept of a large message", n)
	}
	d.press("v", "v")
	if n := len(d.m.top().(*detail.View).Pane.Lines); n > compare.FewLines+8 {
		t.Errorf("%d lines are kept of the bytes", n)
	}
	got := d.m.top().(*detail.View)
	all, err := d.m.log.Fetch.Fetch(d.m.log.Context, got.Seq)
	if err != nil {
		t.Fatal(err)
	}
	text, err := detail.WholeText(all[got.Seq], detail.FormYAML, false)
	if err != nil || strings.Count(text, "\n") < 60_000 {
		t.Errorf("the pager gets %d lines, %v", strings.Count(text, "\n"), err)
	}
}

func TestDetailProblems(t *testing.T) {
	broken := append(viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster"), 0x12, 0x7f, 1, 2)
	d := drive(t, viewtest.Record(t, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Server, broken))...), 80, 24, Options{Theme: "mono"})
	d.press("G", "enter")
	for range detail.Forms {
		v := d.m.top().(*detail.View)
		if d.frame(); v.Form != detail.FormDiff && !strings.Contains(v.Pane.PlainText(), "is 127 bytes long where 2 remain") {
			t.Errorf("%v does not say what is wrong:\n%s", v.Form, v.Pane.PlainText())
		}
		d.press("v")
	}
}

// TestDetailUnnamed: nothing that a peer sends reaches the terminal as it is.
func TestDetailUnnamed(t *testing.T) {
	evil := append(viewtest.Field(3, "a\x1b[2J\u202eb"), viewtest.Field(4, "type.googleapis.com/x\x1b]0;y\a")...)
	d := drive(t, viewtest.Record(t, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, evil))...), 80, 24, Options{Theme: "mono"})
	d.press("G", "enter")
	for range detail.Forms {
		for _, l := range d.m.top().Draw(d.m, 80, 20) {
			if s := l.PlainText(); s != render.Safe(s) {
				t.Errorf("on the screen: %q", s)
			}
		}
		d.press("v")
	}
}

func TestDetailAbsent(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "mono"})
	d.m.Push(detail.New(d.m, 99_999))
	if got := d.frame(); !strings.Contains(got, "cannot show 99999") {
		t.Errorf("it does not say that there is no such entry:\n%s", got)
	}
	d.press("p", "]", "{", "!", "d", "L", "Y", "y", "o", "v", "enter")
	d.frame()
}

func TestPagerCommand(t *testing.T) {
	env := func(vars map[string]string) func(string) string { return func(k string) string { return vars[k] } }
	path := filepath.Join(t.TempDir(), "a b'c")
	if err := os.WriteFile(path, []byte("some text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := view.PagerCommand(env(map[string]string{"PAGER": "false", "XDSPROXY_PAGER": "cat -n"}), path).Output()
	if err != nil || !strings.Contains(string(out), "1\tsome text") {
		t.Errorf("%q, %v", out, err)
	}
	if args := view.PagerCommand(env(nil), path).Args; !strings.HasPrefix(args[2], "less -R ") {
		t.Errorf("without a pager: %q", args)
	}
	if args := view.PagerCommand(env(map[string]string{"PAGER": "most"}), path).Args; !strings.HasPrefix(args[2], "most ") {
		t.Errorf("with PAGER: %q", args)
	}
}

// TestPagerFile: the file is private.
func TestPagerFile(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("enter", "v")
	v := d.m.top().(*detail.View)
	ready := v.Pager(d.m)().(view.Reply).Msg.(view.PagerText)
	done := view.ToPager(d.m, v, ready)().(view.Reply).Msg.(view.PagerReady)
	info, err := os.Stat(done.Path)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasSuffix(done.Path, ".yaml") {
		t.Errorf("%v, %v, %v", done.Path, info.Mode(), err)
	}
	if cmd := v.Handle(d.m, done); cmd == nil {
		t.Error("nothing is to be run")
	}
	fail := view.Reply{To: v, Msg: view.PagerDone{Err: os.ErrPermission}}
	d.give(fail)
	if got := d.frame(); !strings.Contains(got, "the pager failed") {
		t.Errorf("a pager that fails says nothing:\n%s", got)
	}
}

// FuzzDetail opens whatever a peer may send as a message, in all forms.
func FuzzDetail(f *testing.F) {
	f.Add([]byte{}, []byte("x"), uint8(80), false)
	f.Add(append(viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster"), 0x12, 0x7f, 1), viewtest.Field(2, "\x0a\x01a\x12\x02\x0a\x00"), uint8(40), true)
	f.Add([]byte(`{"resource_names":["a"]}`), []byte(`{"resources":[{"@type":"x","name":"\u202e"}]}`), uint8(160), false)
	f.Add(viewtest.Field(3, "\x1b[2J\xff界界"), viewtest.Field(6, "界"), uint8(41), true)
	f.Fuzz(func(t *testing.T, request, response []byte, columns uint8, flat bool) {
		if len(request)+len(response) > 1<<16 {
			return
		}
		es := append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, request), viewtest.MessageEntry(session.Server, response),
			viewtest.MessageEntry(session.Client, response), viewtest.MessageEntry(session.Server, request))
		h := 24
		if flat {
			h = 10
		}
		d := drive(t, viewtest.Record(t, es...), max(int(columns), leastWidth), h, Options{Theme: "mono"})
		for seq := range 4 {
			v := detail.New(d.m, session.Seq(seq+3)).(*detail.View)
			d.m.Push(v)
			for range detail.Forms {
				d.press("w")
				d.frame()
				d.press("v")
			}
			v.Form = detail.FormYAML
			d.press("G", "space", "y", "l", "d", "space", "n", "{", "q")
			d.frame()
		}
		d.press("L", "G")
		d.frame()
	})
}

// BenchmarkDetailFrame draws a message of many lines.
func BenchmarkDetailFrame(b *testing.B) {
	var data []byte
	for i := range 20_000 {
		data = append(data, viewtest.Field(3, fmt.Sprintf("name-%d", i))...)
	}
	at := time.Unix(1_800_000_000, 0)
	d := drive(b, viewtest.Record(b, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, data))...), 160, 50, Options{Now: func() time.Time { return at }})
	d.press("G", "enter", "v")
	for b.Loop() {
		d.give(tea.KeyPressMsg{Code: 'j', Text: "j"})
		d.m.Frame()
	}
}
