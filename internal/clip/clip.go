// Package clip bounds texts that others chose.
package clip

import "unicode/utf8"

// Text is s, or, where s has more than most bytes, no more than these and "…".
// It is cut between two characters; bytes that are no UTF-8 stay as they are.
func Text[S string | []byte](s S, most int) string {
	if len(s) <= most {
		return string(s)
	}
	end := most
	for range utf8.UTFMax - 1 {
		if end == 0 || utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	return string(s[:end]) + "…"
}
