package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// sumLen is the length of a hash as text.
const sumLen = 32

// sum is the hash of a text, in which neither how lines end nor empty lines at
// its end count: editors change them.
func sum(text []byte) string {
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	s := sha256.Sum256(bytes.TrimRight(text, "\n"))
	return hex.EncodeToString(s[:sumLen/2])
}
