package pseudonym

import "encoding/base64"

// decoded finds a name in what a text holds in base64.
func (r *rawSearch) decoded(s string) string {
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && (isDigit(s[end]) || isLetter(s[end]) || s[end] == '+' || s[end] == '/' || s[end] == '-' || s[end] == '_') {
			end++
		}
		if run := s[i:end]; len(run) >= 2*leastRaw {
			for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				if b, err := enc.DecodeString(run[:len(run)/4*4]); err == nil {
					if name := r.find(b); name != "" {
						return name
					}
				}
			}
		}
		i = end + 1
	}
	return ""
}
