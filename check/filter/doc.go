// Package filter is the language in which people say which entries of a session
// they want: terms such as type:eds or -kind:ack, all of which must hold.
//
// A Filter is made by Parse and asked with Takes. It opens nothing, decodes
// nothing and remembers nothing of the entries that it has seen: what a term is
// about stands in the Row, and what is costly to make comes as a function that
// is called only if a term needs it. Where entries can be looked for is told by
// Spans, Over and Block; whether that may be used, by Needs.
package filter
