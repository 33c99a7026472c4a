package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// Of very many differences a part is shown. The text says which, and n and N go
// through all of them, each once.
func TestDiffOfManyGoesOn(t *testing.T) {
	const many = 2*maxDiffLines/3 + 2007
	items := make([]index.Compared, many)
	for i := range items {
		items[i] = index.Compared{Name: fmt.Sprintf("svc-%d", i), Kind: diff.Changed}
	}
	scr := viewtest.New(t, viewtest.Record(t, viewtest.StreamBegins()...))
	v := &View{whole: make(map[int]bool)}
	v.take(compareReady{Items: items, of: -1})
	if got := v.item().Name; got != "svc-0" {
		t.Errorf("it begins with %s", got)
	}
	if text := v.Pane.PlainText(); !strings.Contains(text, "... these are 1 to ") || !strings.Contains(text, "15,340 resources that differ; n goes on") {
		t.Errorf("it does not say that there is more: %q", text[len(text)-200:])
	}
	at, parts := 0, 0
	for ; at < many; parts++ {
		if len(v.Pane.Lines) > maxDiffLines+10 {
			t.Fatalf("%d lines", len(v.Pane.Lines))
		}
		if got := v.item().Name; got != items[at].Name {
			t.Fatalf("n goes to %s in place of %s", got, items[at].Name)
		}
		changes := v.Pane.Changes()
		for _, l := range changes {
			if v.Pane.Lines[l].Of != at {
				t.Fatalf("the difference %d is that of %d", at, v.Pane.Lines[l].Of)
			}
			at++
		}
		v.Pane.Show(changes[len(changes)-1])
		if at < many {
			v.Do(scr, key.NextMatch)
		}
	}
	if parts != 3 {
		t.Errorf("there are %d parts", parts)
	}
	if text := v.Pane.PlainText(); !strings.Contains(text, "stand before these; N goes back") {
		t.Error("the last part does not say what stands before it")
	}
	for v.first > 0 {
		before := v.first - 1
		v.toFirst()
		v.Do(scr, key.PrevMatch)
		if got := v.item().Name; got != items[before].Name {
			t.Fatalf("N goes back to %s in place of %s", got, items[before].Name)
		}
	}
	if n := strings.Count(v.plainText(), "It differs."); n != many {
		t.Errorf("the pager gets %d of %d", n, many)
	}
	v.of.Within = "svc-12345"
	v.take(compareReady{Items: items, of: -1})
	if got := v.item().Name; got != "svc-12345" {
		t.Errorf("in place of what was selected it begins with %s", got)
	}
}

func clusters(version, stat string, many int) []byte {
	out := viewtest.Field(1, version)
	const typ = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	for i := range many {
		stat := string(append([]byte{28<<3&0x7f | 2 | 0x80, 28 >> 4}, viewtest.Field(0, stat)[1:]...))
		c := string(viewtest.Field(1, fmt.Sprintf("svc-%d", i))) + stat
		out = append(out, viewtest.Field(2, string(viewtest.Field(1, typ))+string(viewtest.Field(2, c)))...)
	}
	return append(append(out, viewtest.Field(4, typ)...), viewtest.Field(5, version)...)
}

// What was not looked into, since there are too many, says so, and space does.
func TestDiffLooksInto(t *testing.T) {
	const many = 2007
	request := func(nonce string) []byte {
		node := string(viewtest.Field(1, "envoy"))
		out := append(viewtest.Field(2, node), viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster")...)
		if nonce != "" {
			out = append(append(out, viewtest.Field(1, nonce)...), viewtest.Field(5, nonce)...)
		}
		return out
	}
	es := append(
		viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, request("")),
		viewtest.MessageEntry(session.Server, clusters("1", "before", many)), viewtest.MessageEntry(session.Client, request("1")),
		viewtest.MessageEntry(session.Server, clusters("2", "after", many)), viewtest.MessageEntry(session.Client, request("2")))
	scr := viewtest.New(t, viewtest.Record(t, es...)).Read(t)
	r := CompareSelection(t.Context(), scr.Log(), view.Selection{Seq: 6}, 0)
	if r.Err != nil || len(r.Items) != many {
		t.Fatalf("%d compared, %v", len(r.Items), r.Err)
	}
	v := &View{whole: make(map[int]bool)}
	v.take(r)
	name := fmt.Sprintf("svc-%d", many-1)
	if !v.begin(name) || !unseen(v.item()) || v.item().Name != name || !strings.Contains(v.Pane.Lines[v.Pane.Current()].PlainText(), "space looks into it") {
		t.Fatalf("at %s: %q", v.item().Name, v.Pane.Lines[v.Pane.Current()].PlainText())
	}
	v.Handle(scr, v.Do(scr, key.Toggle)().(view.Reply).Msg)
	if c := v.item(); c.Name != name || unseen(c) || !strings.Contains(v.Pane.PlainText(), `+ alt_stat_name: after`) {
		t.Errorf("%s was not looked into: %+v", c.Name, c)
	}
}
