package alias

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Whole names, hosts and texts, as they are written while privacy is on, and as they
// are while it is off.
func TestNames(t *testing.T) {
	var a Table
	if a.Name("web") != "web" || a.Text("10.0.0.1") != "10.0.0.1" || a.Stamp() != 0 {
		t.Error("it is off")
	}
	a.On = true
	a.MeetAll(map[string][]string{"CDS": {"web", "web-2"}, "EDS": {"ends"}, "LDS": {"in"}, "RDS": {"r"}, "SRDS": {"sc"}, "VHDS": {"vh"}, "SDS": {"key"}, "own.Type": {"mine"}, "an.Other": {"other"}})
	a.Meet("client", "n1")
	for _, tc := range [][2]string{
		{"", ""},
		{"-", "-"},
		{"*", "*"},
		{"conn 4", "conn 4"},
		{"web", "cluster-1"},
		{"web-2", "cluster-2"},
		{"cluster-1", "cluster-1"},
		{"ends", "endpoints-1"},
		{"in", "listener-1"},
		{"r", "route-1"},
		{"sc", "scope-1"},
		{"vh", "vhost-1"},
		{"key", "secret-1"},
		{"other", "resource-1"},
		{"mine", "resource-2"},
		{"n1", "client-1"},
		{"never met", "name-1"},
		{"never met", "name-1"},
		{"10.0.0.9", "addr-1"},
		{"10.0.0.9:80", "addr-1:80"},
		{"xdstp://auth/type/x", "name-2"},
		{"file:/etc/x", "name-3"},
		{"a/b:80", "name-4"},
		{"[fd00::1]:80", "[addr-2]:80"},
		{"127.0.0.1:80", "127.0.0.1:80"},
		{"istiod:15010", "host-1:15010"},
		{"localhost:1", "localhost:1"},
		{":80", ":80"},
	} {
		if got := a.Name(tc[0]); got != tc[1] {
			t.Errorf("%q is written as %q, not %q", tc[0], got, tc[1])
		}
	}
	for _, tc := range [][2]string{
		{"web", "cluster-1"},
		{"web-2 of web", "cluster-2 of cluster-1"},
		{"webs", "webs"},
		{"a web", "a cluster-1"},
		{"\"web\"", "\"cluster-1\""},
		{"cluster-1 web", "cluster-1 cluster-1"},
		{"10.0.0.9.", "addr-1."},
		{"10.0.0.9:80: refused", "addr-1:80: refused"},
		{"x10.0.0.9", "x10.0.0.9"},
		{"db:10.0.0.9:80 80:10.0.0.9 :10.0.0.9", "db:addr-1:80 80:addr-1 :addr-1"},
		{"a:" + strings.Repeat("bbbbb:", 4000) + "10.0.0.9", "a:" + strings.Repeat("bbbbb:", 4000) + "addr-1"},
		{"0.0.0.0:80", "0.0.0.0:80"},
		{"1.2.3", "1.2.3"},
		{"at fd00::1, and ::1", "at addr-2, and ::1"},
		{"r", "r"},
	} {
		if got := a.Text(tc[0]); got != tc[1] {
			t.Errorf("text %q is written as %q, not %q", tc[0], got, tc[1])
		}
	}
	if a.Stamp() != 1+len(a.Of) {
		t.Error(a.Stamp())
	}
}

// Parts of names that are left where a text was cut go too.
func TestPartsOfNames(t *testing.T) {
	var a Table
	a.On = true
	long := "outbound|80||" + strings.Repeat("x", 250)
	a.Meet("cluster", "web.prod")
	a.Meet("cluster", long)
	for _, tc := range [][2]string{
		{"no web.prod, no w" + engine.Omitted + "prod: bad port", "no cluster-1, no (…) bad port"},
		{"no we" + engine.Omitted + "od, and web" + engine.Omitted + "prod", "no (…) and (…)"},
		{"web.p" + engine.Omitted, "(…)"},
		{"12, …, 15", "12, …, 15"},
		{"5, … 99", "5, … 99"},
		{"no 10.0.0" + engine.Omitted + "7:80 and", "no (…) and"},
		{`{"a":"x we` + engine.Omitted + `eb","b":1}`, `{"a":"x (…)","b":1}`},
		{"web.pr…", "(hidden)"},
		{"xweb.pr…", "xweb.pr…"},
		{"we…", "we…"},
		{`"` + long[:200] + `…" is bad`, `"(hidden)" is bad`},
		{long[:200] + "…" + long[:100] + "… and", "(hidden)(hidden) and"},
		{long, "cluster-2"},
		{strings.Repeat("y", 200) + "…", strings.Repeat("y", 200) + "…"},
	} {
		if got := a.Text(tc[0]); got != tc[1] {
			t.Errorf("%q is written as %q, not %q", tc[0], got, tc[1])
		}
	}
	wide := strings.Repeat("界", 80)
	a.Meet("cluster", wide)
	if got := a.Text(clip.Text(wide, 200)); got != "(hidden)" {
		t.Errorf("%q of a name that is cut between two characters", got)
	}
}

// Names that were read later are met before anything is written, once.
func TestNamesThatAreRead(t *testing.T) {
	asked, names := []uint64{}, map[string][]string{"CDS": {"late"}}
	a := Table{On: true, Read: func(after uint64) (map[string][]string, uint64, bool) {
		asked = append(asked, after)
		return names, 1, len(asked) < 3
	}}
	if got := a.Text("of late"); got != "of cluster-1" {
		t.Error(got)
	}
	names = map[string][]string{"CDS": {"later"}}
	if got := a.Name("late"); got != "cluster-1" || !slices.Equal(asked, []uint64{0, 1}) || a.Of["later"] != "" {
		t.Errorf("%s, asked %d, %v", got, asked, a.Of)
	}
	if got := a.Text("of late"); got != hidden || !a.lost {
		t.Errorf("some were read that are not given, and the text is %q", got)
	}
}

// A table that is full says so once, and hides what it has no alias for.
func TestFull(t *testing.T) {
	var told []string
	a := Table{On: true, Full: func(said string) { told = append(told, said) }}
	var all []string
	for i := range maxAliases {
		all = append(all, fmt.Sprint("c", i))
	}
	if a.MeetAll(map[string][]string{"CDS": all}); len(told) != 0 {
		t.Error("it is not full yet")
	}
	a.MeetAll(map[string][]string{"CDS": {"more", "and more"}})
	if !slices.Equal(told, []string{saidFull}) || a.Name("one more") != hidden || a.Name("c0") == hidden || a.Text("more of c0") != "(hidden) of cluster-1" {
		t.Errorf("told %q, %q, %q, %q", told, a.Name("one more"), a.Name("c0"), a.Text("more of c0"))
	}
}

// What is hidden in lines leaves the columns as wide as they are.
func TestHide(t *testing.T) {
	a := Table{On: true}
	a.Meet("client", "a-rather-long-name")
	a.Meet("client", "ab")
	lines := []widget.Line{
		widget.Spans(widget.In(widget.Plain, "a-rather-long-name "), widget.In(widget.Good, "ab"), widget.In(widget.Bad, "ab ")),
		widget.Spans(widget.In(widget.Plain, "ab"), widget.In(widget.Plain, "other"), widget.In(widget.Plain, "of ab")),
	}
	a.Hide(lines)
	want := [][]string{{"client-1           ", "c…", "c… "}, {"c…", "other", "of client-2"}}
	for i := range lines {
		for j, s := range lines[i].Spans {
			if s.Text != want[i][j] {
				t.Errorf("line %d: %q, want %q", i, s.Text, want[i][j])
			}
		}
	}
}

// The names of a tree are taken, each once, until there are more than a table keeps. Who
// meets these knows that there are more.
func TestTake(t *testing.T) {
	node := func(name string, children ...*engine.Node) *engine.Node {
		return &engine.Node{Type: "CDS", Name: name, Children: children}
	}
	var h Held
	tree := &engine.Tree{Roots: []*engine.Node{node("a", node("b"))}, Dangling: []*engine.Node{node("c")}, Missing: []*engine.Node{node("d")}}
	for range 2 {
		if !h.Take(tree) || !slices.Equal(h.Names["CDS"], []string{"a", "b", "c", "d"}) {
			t.Errorf("%v", h.Names)
		}
	}
	large := strings.Repeat("x", maxSize-h.size-perName)
	if !h.Take(&engine.Tree{Roots: []*engine.Node{node(large)}}) || h.size != maxSize {
		t.Errorf("%d bytes", h.size)
	}
	var a Table
	if a.MeetAll(h.Names); a.lost {
		t.Error("a table keeps as many")
	}
	if h.Take(&engine.Tree{Missing: []*engine.Node{node("y"), node("z")}}) || len(h.Names["CDS"]) != 6 {
		t.Errorf("%d are more than enough", len(h.Names["CDS"]))
	}
	if a.MeetAll(h.Names); !a.lost {
		t.Error("a table keeps more")
	}
}
