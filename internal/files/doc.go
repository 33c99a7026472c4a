// Package files watches the files of Envoy's filesystem subscriptions, and makes
// entries of what happens to them. Each file is a stream of its own (xds.FilePrefix):
// of each change it has an entry that says what happened (xds.FileEvent), and behind
// it the content, as package decode/file reads it. The stream lasts while the file is gone,
// and ends when others need its room. The package judges nothing, and does not know what
// Envoy makes of a file.
//
// Envoy looks only for moves: of a file onto the path that it was given, in the
// directory that held this path when Envoy subscribed; or, with a watched_directory, of
// anything into that directory. So the package tells how a file changed by comparing
// what stands on its path before and after: for each step of the path the link, its
// target, and which file or directory it is. Events of the system only say that it is
// time to look, and whether something was written in place. They are lost with the
// directories that they are for. So the watched directories are found anew after each
// look, and there is a look now and then without any event. What changed between two
// looks, unseen, is FileChanged.
//
// One goroutine does all of this; fsnotify has another. A file that is too large, what
// is no file, and what there is too much of, is said once and not read. No content is
// kept, only its sum.
package files
