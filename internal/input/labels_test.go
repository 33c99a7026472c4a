package input

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whoever looks for a type or a client by labels must find every entry of which
// watch says that type or client: in what real clients and servers have said, and
// scripted ones that err.
func TestLabelsOfSessions(t *testing.T) {
	files, err := filepath.Glob("../../check/testdata/sessions/*.xdsp")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { labelsAgree(t, file) })
	}
}

// labelsAgree compares the labels of a recording with what watch says.
func labelsAgree(t *testing.T, path string) {
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := store.NewLabels()
	err = Each(t.Context(), &Source{Reader: r}, check.NewTracker(nil), func(e *session.Entry, c *check.Change) error {
		var want []string
		if c.Type != "" {
			want = append(want, filter.TypeLabel+c.Type)
		}
		if c.Client != "" {
			want = append(want, filter.ClientLabel+c.Client)
		}
		got := l.Of(e)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("entry %d is labelled %q, without %q", e.Seq, got, w)
			}
		}
		for _, g := range got {
			if strings.HasSuffix(g, ":") {
				t.Errorf("entry %d has the label %q", e.Seq, g)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
