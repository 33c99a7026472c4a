// Package edit changes single fields of discovery messages, and leaves all
// others, unknown ones included, as they are and where they are.
package edit
