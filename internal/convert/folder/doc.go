// Package folder writes a session as a folder of YAML that a person can read and
// edit, and makes a recording of it again.
//
//	session.yaml               the entries, a document each
//	resources/TYPE/NAME@N.yaml the contents of resources, a file each; N counts
//	                           those of one name as they appear
//	.original.xdsp             the recording itself
//
// Each document and each file begins with a comment that has the hash of its text.
// What still has that hash was not edited, and its bytes are those of the original.
// Everything else is encoded again from its text. No other state is kept: a file
// that is copied, and then edited, is a new content. A comment ends session.yaml:
// where it is missing behind an entry that is not what it was, that is cut off.
//
// An import believes nothing. It reads regular files in the folder only, bounds
// each, and collects what is wrong with all of them; it writes a recording if
// nothing is.
//
// The package knows no settings, masks nothing, and judges nothing.
package folder
