// Package filed is what happened to files that are watched, in words: what Envoy sees
// of it, and what not. It follows from what the entry says alone.
package filed

import (
	"fmt"
	"path"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Event is what happened to a file: see xds.FileEvent and what follows it.
type Event struct {
	Event, From, Watched, Seen, Replaced string
	Seq                                  session.Seq
}

// Of reads the entry of an event.
func Of(e *session.Entry) Event {
	get := func(name string) string { return session.Get(e.Headers, name) }
	return Event{get(xds.FileEvent), get(xds.FileFrom), get(xds.FileWatched), get(xds.FileSeen), get(xds.FileReplaced), e.Seq}
}

// Unseen says how a file was changed so that Envoy does not see it; "" if it may.
func (e *Event) Unseen() string {
	if e.Seen == "yes" {
		return ""
	}
	switch e.Event {
	case xds.FileWritten:
		return "was written in place, not moved there"
	case xds.FileCreated:
		return "was created in place, not moved there"
	case "", xds.FileRead, xds.FileChanged, "move":
		return ""
	case xds.FileRenamed, xds.FileSwapped:
	default:
		return "was changed by " + strings.ToLower(words.Clip(e.Event)) + ", not moved there"
	}
	from, directory := words.Clip(e.From), words.Clip(e.Watched)
	switch {
	case e.Seen != "no":
		return ""
	case e.Replaced != "":
		return fmt.Sprintf("changed after %s was replaced: an Envoy that was started before that still watches the old directory", words.Clip(e.Replaced))
	case e.Event == xds.FileRenamed:
		return fmt.Sprintf("was moved there, but Envoy watches %s instead, which is its watched_directory", directory)
	case e.Watched == xds.FileAlone:
		return fmt.Sprintf("changed with %s, and Envoy does not see that: its path_config_source has no watched_directory", from)
	}
	return fmt.Sprintf("changed with %s, and Envoy does not see that: nothing was moved into its watched_directory %s", from, directory)
}

// Depends says what it depends on whether Envoy sees a change; "" on nothing.
func (e *Event) Depends() string {
	if e.Event != xds.FileSwapped || e.Seen != "" {
		return ""
	}
	from := words.Clip(e.From)
	if e.Watched == "" {
		return fmt.Sprintf("changed with %s; Envoy sees that only if its path_config_source has the watched_directory %s", from, path.Dir(from))
	}
	return fmt.Sprintf("changed with %s; it is not known whether that was moved there, which is all that Envoy sees", from)
}

// String says what happened, in a few words.
func (e *Event) String() string {
	from := words.Clip(e.From)
	switch e.Event {
	case xds.FileRead:
		return "read as it is"
	case xds.FileRenamed:
		if from != "" {
			return "moved there from " + from
		}
		return "moved there"
	case xds.FileWritten:
		return "written in place"
	case xds.FileCreated:
		return "created in place"
	case xds.FileDeleted:
		return "gone"
	case xds.FileSwapped:
		return "another file, with " + from
	case xds.FileChanged:
		return "changed, nobody saw how"
	}
	return words.Clip(e.Event)
}
