package tui

import (
	"strings"
	"testing"
)

// What happened to a file is called the same as by watch, and fits into 80 columns
// wherever the file is.
func TestFilesOnTheScreen(t *testing.T) {
	const dir = "/a/directory/that/is/too/long/for/a/list"
	d := drive(t, played(t, `-- stream 1
F: read `+dir+`/cds.yaml watched=file type=CDS V=1 res=[c1]
F: rename `+dir+`/cds.next `+dir+`/cds.yaml watched=file seen=yes type=CDS V=2 res=[c1]
`), 80, 24, Options{Theme: "mono"})
	if got := d.frame(); !strings.Contains(got, "FILE  cds.yaml: read as it is") || !strings.Contains(got, "FILE  cds.yaml: moved there") || strings.Contains(got, "HEAD") {
		t.Fatalf("the list is\n%s", got)
	}
	d.press("G", "k", "enter")
	for _, want := range []string{"FILE", "what happened to a file", "moved there from " + dir[:20], "Envoy's subscription has no watched_directory"} {
		if got := d.frame(); !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}
