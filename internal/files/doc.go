// Package files watches the files of Envoy's filesystem subscriptions, and makes
// entries of what happens to them. Each file is a stream of its own (xds.FilePrefix):
// of each change it has an entry that says what happened (xds.FileEvent), and behind
// it the content, as package decode/file reads it. It judges nothing, and does not
// know what Envoy makes of a file.
//
// Envoy looks for moves alone: of a file onto the path that it was given, in the
// directory in which that was when Envoy subscribed; or, with a watched_directory, of
// anything into that. So how a file changed is told from what stands on its path
// before and after: of each step the link, its target, and which file or directory it
// is. Events of the system only say that it is time to look, and whether something was
// written in place. They are lost with the directories that they are for, so that the
// watched directories are found anew after each look, and there is a look now and then
// without any event. What changed between two looks, unseen, is FileChanged.
//
// One goroutine does all of this; fsnotify has another. A file that is too large, what
// is no file, and what there is too much of, is said once and not read. No content is
// kept, only its sum.
package files
