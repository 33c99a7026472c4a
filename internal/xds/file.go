package xds

// FilePrefix begins the Method of a stream that stands for a watched file:
// "file:" and the name of the file.
const FilePrefix = "file:"

// The fields of an entry that tells what happened to a watched file. The content
// that it has since, if it has one, is the message after it.
const (
	FileEvent = ":event" // one of the events below
	FilePath  = ":path"  // of the file
	// FileFrom is what was moved: the name from which a file came, or the link or the
	// directory on its path that another one took the place of.
	FileFrom = ":from"
	// FileWatched is the watched_directory of Envoy's subscription; FileAlone if it
	// has none; no field if that is not known.
	FileWatched = ":watched"
	// FileSeen is "yes" if what was moved was moved to where Envoy looks, "no" if
	// not; no field where that depends on what is not known.
	FileSeen = ":seen"
	// FileReplaced is the directory in which Envoy looks, if it was replaced since
	// the watching began: an Envoy from before then still looks in the old one.
	FileReplaced = ":replaced"
)

// FileAlone is the value of FileWatched for a path without a watched_directory.
const FileAlone = "file"

// What happens to a file.
const (
	FileRead    = "read"   // it was there when the watching began
	FileRenamed = "rename" // it, or a link in its place, was moved there
	FileWritten = "write"  // in place
	FileCreated = "create" // in place
	FileDeleted = "delete"
	FileSwapped = "swap"   // it is another one, since a link or a directory on its path is
	FileChanged = "change" // nobody knows how
)

// FileEvents are all of them.
func FileEvents() []string {
	return []string{FileRenamed, FileWritten, FileCreated, FileRead, FileDeleted, FileSwapped, FileChanged}
}
