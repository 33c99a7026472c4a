package detail

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// What is kept of pages is bounded, by their number and by their lines; the newest stays.
func TestPagesThatAreKept(t *testing.T) {
	lines := func(n int) *page { return &page{lines: make([]widget.TextLine, n)} }
	for _, test := range []struct {
		name  string
		pages []*page
		kept  int
	}{
		{"as many as may be", repeated(lines(1), maxPages), maxPages},
		{"one more", repeated(lines(1), maxPages+1), maxPages},
		{"as many lines as may be", []*page{lines(maxPageLines - 2), lines(1), {weight: 1}}, 3},
		{"one line more", []*page{lines(maxPageLines - 2), lines(1), {weight: 2}}, 2},
		{"one that is too long", []*page{lines(1), {weight: maxPageLines + 1}}, 1},
		{"and after it", []*page{{weight: maxPageLines, lines: make([]widget.TextLine, 1)}, lines(1)}, 1},
	} {
		v := &View{pages: map[pageKey]*page{}}
		for i, p := range test.pages {
			v.keep(pageKey{partner: 1, findings: i}, p)
			v.keep(pageKey{partner: 1, findings: i}, p) // again is not twice
		}
		last := pageKey{partner: 1, findings: len(test.pages) - 1}
		if len(v.pages) != test.kept || len(v.order) != test.kept || v.pages[last] == nil {
			t.Errorf("%s: %d are kept, and %d in order", test.name, len(v.pages), len(v.order))
		}
	}
}

func repeated(p *page, n int) (out []*page) {
	for range n {
		out = append(out, p)
	}
	return out
}

// An entry that is opened for one of its resources selects that, in every form; what is narrowed to, copied and
// opened from each line of it.
func TestWithin(t *testing.T) {
	var b strings.Builder
	scr := viewtest.Told(t, root, "delta")
	_, last := scr.Log().Index.Extent()
	for seq := range last {
		v := Within(scr, seq+1, "c1").(*View)
		for range Forms {
			_ = scr.Frame(v, 80, 20)
			fmt.Fprintf(&b, "%d %v at %d, %+v, %s", seq+1, v.Form, v.Pane.Current(), v.Selected(scr), v.Form.extension())
			for range 4 {
				name, value := v.field()
				fmt.Fprintf(&b, "; %s:%s %q", name, value, v.terms(scr))
				scr.Run(v.Do(scr, key.Down))
			}
			b.WriteString("\n")
			scr.Run(v.Do(scr, key.Form))
		}
	}
	golden.Is(t, filepath.Join("testdata", "within.txt"), b.String())
}

// The bytes of a message stand sixteen to a line, and what is more than may be shown is counted.
func TestBytes(t *testing.T) {
	var b strings.Builder
	data := []byte("\x00\x1f !~\x7f\x80\xff and some more, so that there are three lines")
	for _, most := range []int{1, 2, 3, 4, 100} {
		for _, n := range []int{0, 1, 15, 16, 17, 32, 33, len(data)} {
			for fields := range 3 {
				lines, more := wireLines(make([]document.WireField, fields), data[:n], most)
				fmt.Fprintf(&b, "%d fields, %d bytes, at most %d: %d lines, %d more\n", fields, n, most, len(lines), more)
				if all, _ := wireLines(make([]document.WireField, fields), data[:n], 1000); len(all) != len(lines)+more {
					t.Errorf("%d fields, %d bytes, at most %d: %d lines and %d more, of %d", fields, n, most, len(lines), more, len(all))
				}
			}
		}
	}
	lines, _ := wireLines(nil, data, 100)
	b.WriteString(widget.LinesText(lines))
	golden.Is(t, filepath.Join("testdata", "bytes.txt"), b.String())
}
