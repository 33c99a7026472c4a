package filed

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What Envoy sees of a change follows from how it was made, and from what it
// watches; and what is not known is not said.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		e                      Event
		unseen, depends, words string
	}{
		{Event{Event: xds.FileRead}, "", "", "read as it is"},
		{Event{Event: xds.FileRenamed}, "", "", "moved there"},
		{Event{Event: xds.FileRenamed, From: "/t/a"}, "", "", `moved there from /t/a`},
		{Event{Event: xds.FileRenamed, Seen: "no", Watched: "/w"}, "was moved there, but Envoy watches /w instead, which is its watched_directory", "", "moved there"},
		{Event{Event: xds.FileRenamed, Seen: "yes", Watched: "/w"}, "", "", "moved there"},
		{Event{Event: xds.FileWritten}, "was written in place, not moved there", "", "written in place"},
		{Event{Event: xds.FileWritten, Seen: "yes"}, "", "", "written in place"},
		{Event{Event: xds.FileCreated}, "was created in place, not moved there", "", "created in place"},
		{Event{Event: xds.FileChanged}, "", "", "changed, nobody saw how"},
		{Event{Event: xds.FileSwapped, From: "/m/..data"}, "", "changed with /m/..data; Envoy sees that only if its path_config_source has the watched_directory /m", "another file, with /m/..data"},
		{Event{Event: xds.FileSwapped, From: "/m/..data", Watched: "/m"}, "", "changed with /m/..data; it is not known whether that was moved there, which is all that Envoy sees", "another file, with /m/..data"},
		{Event{Event: xds.FileSwapped, From: "/m/..data", Seen: "no", Watched: xds.FileAlone}, "changed with /m/..data, and Envoy does not see that: its path_config_source has no watched_directory", "", "another file, with /m/..data"},
		{Event{Event: xds.FileSwapped, From: "/m/..data", Seen: "no", Watched: "/w"}, "changed with /m/..data, and Envoy does not see that: nothing was moved into its watched_directory /w", "", "another file, with /m/..data"},
		{Event{Event: xds.FileSwapped, From: "/m", Seen: "no", Replaced: "/m"}, "changed after /m was replaced: an Envoy that was started before that still watches the old directory", "", "another file, with /m"},
		{Event{Event: "MKNOD"}, "was changed by mknod, not moved there", "", "MKNOD"},
		{Event{Event: ""}, "", "", ""},
	} {
		if got := c.e.Unseen(); got != c.unseen {
			t.Errorf("%+v: Envoy does not see that it %s", c.e, got)
		}
		if got := c.e.Depends(); got != c.depends {
			t.Errorf("%+v: it %s", c.e, got)
		}
		if got := c.e.String(); got != c.words {
			t.Errorf("%+v: %s", c.e, got)
		}
	}
	e := session.Entry{Seq: 7, Headers: []session.Field{
		{Name: xds.FileEvent, Value: "swap"}, {Name: xds.FileFrom, Value: "f"}, {Name: xds.FileWatched, Value: "w"}, {Name: xds.FileSeen, Value: "no"}, {Name: xds.FileReplaced, Value: "r"},
	}}
	if got := Of(&e); got != (Event{"swap", "f", "w", "no", "r", 7}) {
		t.Errorf("%+v", got)
	}
}
