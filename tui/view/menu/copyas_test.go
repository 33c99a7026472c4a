package menu

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

func TestCopyNamesOfNothing(t *testing.T) {
	scr := viewtest.New(t, viewtest.Record(t, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, nil))...)).Read(t)
	all, err := scr.Log().Fetch.Fetch(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := copyNames(t.Context(), scr.Log(), all[2]); err == nil {
		t.Errorf("the names of a stream are %q", text)
	}
}
