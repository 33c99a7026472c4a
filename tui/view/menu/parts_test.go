package menu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/clients"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// A request as a command says who asks as the first one of its stream does, and asks
// where that was sent.
func TestGrpcurlOfALaterRequest(t *testing.T) {
	const node = "\x0a\x04who1"
	typ := viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster")
	scr := viewtest.New(t, viewtest.Record(t, append(viewtest.StreamBegins(),
		viewtest.MessageEntry(session.Client, append(viewtest.Field(2, node), typ...)),
		viewtest.MessageEntry(session.Client, append(viewtest.Field(3, "a-name"), typ...)),
	)...)).Read(t)
	for seq, named := range map[session.Seq]bool{3: false, 4: true} {
		all, err := scr.Log().Fetch.Fetch(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		text, err := copyGrpcurl(t.Context(), scr.Log(), all[seq])
		if err != nil || !strings.Contains(text, "who1") || !strings.Contains(text, "192.0.2.2:2") || strings.Contains(text, "a-name") != named {
			t.Errorf("%d: %v\n%s", seq, err, text)
		}
	}
}

// copies is a screen with a clipboard that takes everything.
type copies struct{ *viewtest.Screen }

func (c copies) Copy(string, string) tea.Cmd { return func() tea.Msg { return nil } }

// The menu closes when something was copied, and when there was nothing to copy; where
// the text did not fit it stays.
func TestMenuCloses(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	r, _ := scr.Log().Index.Row(3)
	for _, tc := range []struct {
		text         string
		fits, closes bool
	}{{"text", true, true}, {"", true, true}, {"", false, true}, {"text", false, false}} {
		var on view.Screen = scr
		if tc.fits {
			on = copies{scr}
		}
		v := NewCopy(scr.Log().Name, &r, "row", clients.New())
		scr.Push(v)
		if cmd := v.Handle(on, copyReady{form: "json", text: tc.text}); (cmd != nil) != tc.fits || scr.IsOpen(v) == tc.closes {
			t.Errorf("%+v: it is open: %t", tc, scr.IsOpen(v))
		}
	}
}

// What is marked can be exported unless it is too much to name.
func TestMarksThatAreExported(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	for n := range session.Seq(maxExportSeqs + 2) {
		if n > 0 {
			scr.Log().Index.Annotate(&session.Note{Code: session.NoteMark, About: n})
		}
		if n > 1 && n < maxExportSeqs {
			continue
		}
		offered := 0
		for _, s := range scopes(scr.Log(), view.Selection{}, "") {
			if s.name == "marked" {
				offered = len(s.seqs)
			}
		}
		want := int(n)
		if n > maxExportSeqs {
			want = 0
		}
		if offered != want {
			t.Errorf("of %d that are marked %d can be exported", n, offered)
		}
	}
}

// A file that is there is not offered to be written.
func TestFreeNames(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	v := NewExport(scr.Log(), view.Selection{}, "").(*Exporter)
	f := exportForms()[0]
	t.Chdir(t.TempDir())
	for i := range 4 {
		want := "xdsproxy-all." + f.ext
		if i > 0 {
			want = fmt.Sprintf("xdsproxy-all-%d.%s", i+1, f.ext)
		}
		got := v.choose(scr, f.name)().(view.Reply).Msg.(freeName)
		if got.path != want || got.form != f.name {
			t.Errorf("%+v, not %s", got, want)
		}
		if err := os.WriteFile(got.path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A click below the last column means none.
func TestClickBelowColumns(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	v := NewColumns(clients.New()).(*columnMenu)
	scr.Frame(v.under, 80, 20)
	scr.Frame(v, 80, 40)
	n := len(v.under.Columns(scr))
	for line, want := range map[int]int{-1: 0, 1: 1, n - 1: n - 1, n: 0} {
		v.win.At = 0
		if scr.Run(v.Click(scr, 0, v.top+line, false)); v.win.At != want {
			t.Errorf("line %d is column %d, not %d", line, v.win.At, want)
		}
	}
}
