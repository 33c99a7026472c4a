// Package lenient reads JSON and YAML as Envoy 1.40 reads its configuration,
// which is more than JSON's form of protobuf allows. There are two ways to use
// it: Text.Into fills a message, and Tree keeps a document as it is written.
//
// Envoy reads JSON with protobuf's own parser for C++, in which what an older
// one let pass is still allowed. It makes JSON of YAML first.
//
//	JSON       keys without quotes, texts in single quotes, line breaks in
//	           texts, \U and \' in them, a comma before a closing bracket; not
//	           comments
//	lists      one element stands for a list of it; lists in lists are one
//	           list; null in a list is an element with nothing in it
//	bool       also the texts true, t, yes, y, 1 and false, f, no, n, 0, in any
//	           case
//	numbers    also as texts; an integer may have a fraction that is zero
//	enums      in any case; also their numbers, as texts, too
//	bytes      base64 of both alphabets, the padding may be missing
//	objects    {seconds: 1} for a Duration, {value: 5} for a wrapper, and so on
//	Any        {} is one with nothing in it
//	twice      of a value that stands twice the last counts, of a list or a
//	           message both; not in a map, and not in a oneof
//	null       a field that is not there
//	YAML       a value without quotes is null, a bool (also yes, no, on, off, y,
//	           n), an integer (also 0x10 and 010), or else a text, in this
//	           order; 1.5 is a text. Of a key that stands twice the last counts,
//	           of several documents the first. A key with the tag !ignore is left
//	           out. << is a key like any other.
//
// A field that is not known, or a word that an enum does not have, is left out
// and noted.
//
// What is different: the YAML is that of another library, which refuses a few
// things that Envoy's lets pass, such as a quote that is never closed, and a
// value that the file leaves out between two commas.
//
// Everything is bounded: nesting as in Envoy, values by the caller, with what
// aliases stand for. No error and no note has a value in it, since it may be a
// secret; they have names of fields. Only Exact repeats words that an enum does
// not have.
package lenient
