// Package dump writes the last minutes of a log, with what shows again what
// happened in them, into a directory that it keeps small. It decides nothing: what
// is worth a dump is a trigger.Moment. Nobody waits for it, and a dump that fails
// is no dump and nothing else.
package dump
