package tui

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
)

func TestBriefColumns(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("v")
	shows(t, d, "columns: what each entry says", "SUMMARY", "broken web")
	hides(t, d, "VERSION", "ACK ms")
	d.golden("timeline-brief-80x24")
	d.press("v")
	shows(t, d, "VERSION", "ACK ms")
	for _, s := range sizes() {
		d = drive(t, fileSource(sessionPath("envoy-sotw-nack")), s[0], s[1], Options{Theme: "mono"})
		d.press("v")
		_ = d.frame()
	}
}

// column is the cells of a column on the screen, by its title and that of the next
// one.
func column(t *testing.T, d *driver, title, next string) (cells []string) {
	t.Helper()
	from, to := -1, -1
	for _, l := range strings.Split(d.frame(), "\n") {
		r := []rune(l)
		if from < 0 {
			if i := strings.Index(l, title); i >= 0 && strings.Contains(l, next) {
				from, to = render.Width(l[:i]), render.Width(l[:strings.Index(l, next)])
			}
			continue
		}
		if len(r) < to {
			return cells
		}
		cell := strings.TrimSpace(string(r[from:to]))
		if cell == "" || strings.Contains(cell, " of ") {
			return cells
		}
		cells = append(cells, cell)
	}
	t.Fatalf("no %s before %s:\n%s", title, next, d.frame())
	return nil
}

// Every list can be sorted, its columns hidden and resized, and all that is there
// again when the screen is opened the next time.
func TestColumnsAreChosenAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.json")
	for _, c := range []struct{ view, title, hide string }{
		{"1", "Clients", "KIND"},
		{"2", "Timeline", "SIZE"},
		{"3", "Resources", "VERSION"},
		{"4", "Violations", "TYPE"},
	} {
		open := func() *driver {
			t.Helper()
			kept, err := chosen.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono", Choices: kept})
			d.press(c.view)
			return d
		}
		d := open()
		shows(t, d, " "+c.hide)
		d.press("c")
		shows(t, d, "Columns of "+c.title)
		for i := 0; !strings.Contains(d.frame(), ">  [x] "+c.hide); i++ {
			if i > 20 {
				t.Fatalf("%s cannot be selected:\n%s", c.hide, d.frame())
			}
			d.press("j")
		}
		d.press("space")
		shows(t, d, "[ ] "+c.hide)
		d.press("esc")
		hides(t, d, " "+c.hide+" ")
		if err := d.m.opts.Choices.Save(path); err != nil {
			t.Fatal(err)
		}
		d = open()
		hides(t, d, " "+c.hide+" ")
		d.press("c", "u", "esc")
		shows(t, d, " "+c.hide)
	}
}

// < and > make the names narrower and wider, as far as there is room, and every row
// stays within the screen.
func TestNamesAreResized(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 30}, {160, 50}, {40, 10}} {
		for _, view := range []string{"1", "2", "3", "4"} {
			d := drive(t, played(t, clientsCalled(istioNodes(20))), size[0], size[1], Options{Theme: "mono"})
			d.press(view)
			first := d.frame()
			for range 30 {
				d.press(">")
				_ = d.frame()
			}
			for range 60 {
				d.press("<")
				_ = d.frame()
			}
			if last := d.frame(); last == first && size[0] == 80 && view != "4" {
				t.Errorf("view %s is as it was:\n%s", view, last)
			}
			d.press("c", "u", "esc")
		}
	}
	d := drive(t, played(t, clientsCalled(istioNodes(20))), 80, 24, Options{Theme: "mono"})
	d.press("1")
	_ = d.frame()
	for range 40 {
		d.press(">")
		_ = d.frame()
	}
	if got := column(t, d, "CLIENT", "KIND"); len(got) < 10 || !slices.ContainsFunc(got, func(s string) bool { return len(s) > 40 }) {
		t.Errorf("names are not wider: %q\n%s", got, d.frame())
	}
}

// The timeline can be sorted by each of its columns, the other way round, with a
// filter, and is a timeline again.
func TestTimelineSorts(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 120, 24, Options{Theme: "mono", Now: func() time.Time { return at }})
	d.press("2", "esc")
	seqs := column(t, d, "   SEQ", "TIME")
	titles := []string{"CLIENT", "TYPE", "WHAT", "VERSION", "RES", "SIZE", "ACK ms", "SEQ"}
	for i, title := range titles {
		d.press("s")
		want := "sort: " + title
		if title == "SEQ" {
			hides(t, d, "sort: ")
			continue
		}
		shows(t, d, want)
		if title == "TYPE" {
			cells := column(t, d, "TYPE", "WHAT")
			named := slices.DeleteFunc(slices.Clone(cells), func(s string) bool { return s == "-" })
			if !slices.IsSorted(named) || len(named) < 5 || cells[0] == "-" {
				t.Errorf("%q", cells)
			}
		}
		if now := column(t, d, "   SEQ", "TIME"); i > 0 && slices.Equal(now, seqs) {
			t.Errorf("by %s all is as it came: %q", title, now)
		}
		if d.m.timeline.Selected(d.m).Seq == 0 {
			t.Errorf("nothing is selected, by %s", title)
		}
	}
	if now := column(t, d, "   SEQ", "TIME"); now[0] != seqs[0] {
		d.press("g")
		if now = column(t, d, "   SEQ", "TIME"); !slices.Equal(now, seqs) {
			t.Errorf("it is no timeline again: %q, not %q", now, seqs)
		}
	}
	d.press("S")
	last := column(t, d, "   SEQ", "TIME")
	d.press("S", "G")
	if end := column(t, d, "   SEQ", "TIME"); end[len(end)-1] != last[0] {
		t.Errorf("turned it begins with %s, and it ends with %s", last[0], end[len(end)-1])
	}
	d.press("s", "s", "/")
	d.typed("type:cds")
	d.press("enter")
	shows(t, d, "sort: TYPE", "filter: type:cds")
	for _, c := range column(t, d, "TYPE", "WHAT") {
		if c != "CDS" {
			t.Errorf("the filter lets %q through", c)
		}
	}
}
