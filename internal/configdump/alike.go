package configdump

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
)

// Alike says whether a content that was sent is what Envoy holds, where their hashes
// do not settle that. Without changes, why says what keeps it from being known.
func Alike(sent *decode.Resource, held *Resource) (same bool, changes *diff.Result, why string) {
	was, is, why := Plain(sent, held)
	if why != "" {
		return false, nil, why
	}
	changes = diff.Compare(&was.Root, &is.Root, diff.Options{})
	switch {
	case changes.Same() && !changes.Coarse:
		return true, nil, ""
	case len(held.Unread) > 0 && onlyUnknown(changes):
		return false, nil, held.Unread[0]
	}
	return false, changes, ""
}

// onlyUnknown says whether all that differs are fields that the API of this program
// does not have, which are in the recording and cannot be read from a dump.
func onlyUnknown(r *diff.Result) bool {
	for c := range r.Changes() {
		if n := len(c.Path); n == 0 || !slices.ContainsFunc(c.Path, func(s diff.Step) bool { return s.Name == "@unknown" }) {
			return false
		}
	}
	return true
}
