package tui

import (
	"context"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// The menu leads to a request that says what was chosen; the answer is said.
func TestExportMenu(t *testing.T) {
	var got []ExportRequest
	d := drive(t, func() Source {
		src := fileSource(sessionPath("envoy-sotw-nack"))
		src.Export = func(_ context.Context, r ExportRequest) (string, error) {
			got = append(got, r)
			return "wrote it\nand more\n", nil
		}
		return src
	}(), 80, 24, Options{Theme: "mono"})
	d.press(":", "1", "7", "enter", "e")
	shows(t, d, "> Export", "> xdsp", "Export entry 17 and 16", "(1 of 3)")
	d.press("enter")
	shows(t, d, "file: xdsproxy-17.xdsp", "nothing is overwritten")
	d.press("enter")
	shows(t, d, "wrote it")
	d.press("e", "shift+tab", "down", "enter", "enter")
	d.press("e", "P", "enter")
	shows(t, d, "this form keeps the names")
	d.press("down", "down", "enter") // nor a page: its data has them, too
	shows(t, d, "> html", "not while P hides names")
	d.press("down", "down", "enter", "enter")
	if len(got) != 3 {
		t.Fatalf("%d requests", len(got))
	}
	if r := got[0]; r.Form != "xdsp" || r.Path != "xdsproxy-17.xdsp" || !slices.Equal(r.Seqs, []session.Seq{17, 16}) || r.Private != nil {
		t.Errorf("the first is %+v", r)
	}
	if r := got[1]; r.Form != "md" || r.Path != "xdsproxy-all.md" || r.Seqs != nil || r.Filter != "" {
		t.Errorf("the second is %+v", r)
	}
	if r := got[2]; r.Form != "csv" || r.Private == nil {
		t.Errorf("the third is %+v", r)
	}
	d = drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("2", "e")
	shows(t, d, "this log can only be looked at here")
}
