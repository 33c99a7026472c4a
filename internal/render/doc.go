// Package render turns values into text: the lines of watch, the objects of
// its machine-readable form, the documents of show, the facts of info.
//
// It performs no I/O, starts no goroutine, reads no clock and knows no
// terminal: its caller says how wide the screen is and whether colour is
// wanted. Text for people never carries a control character that came from
// outside.
package render
