package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash"
)

const (
	maskHead = "[masked:"
	// minMask is the length from which on equal secrets have equal masks and
	// different ones different masks. Shorter ones, which could be guessed,
	// become asterisks.
	minMask = 8
	// tagSize is the length of an HMAC in base64.
	tagSize = 43
)

// masks makes masks and knows its own.
//
// A mask is as long as the text it stands for and is made of two halves: the
// beginning of an HMAC of the secret, and the beginning of an HMAC of the first
// half, both in base64. From 16 bytes on, "[masked:" is before and dots and "]"
// after them. The second half tells a mask from a secret, so that masking twice
// is masking once, and nobody without the key can write what passes for one.
type masks struct {
	mac hash.Hash
}

func newMasks() *masks {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails: it ends the program instead
	return &masks{mac: hmac.New(sha256.New, key)}
}

// tag is the HMAC of text in base64. What it is for separates the two uses.
func (m *masks) tag(use byte, text []byte) (tag [tagSize]byte) {
	var sum [sha256.Size]byte
	m.mac.Reset()
	m.mac.Write([]byte{use})
	m.mac.Write(text)
	base64.RawURLEncoding.Encode(tag[:], m.mac.Sum(sum[:0]))
	return tag
}

// frame is the part of dst that holds the two halves, and the length of the
// first.
func frame(dst []byte) (halves []byte, first int) {
	halves = dst
	if len(dst) >= 2*len(maskHead) {
		halves = dst[len(maskHead) : len(dst)-1]
	}
	halves = halves[:min(len(halves), tagSize)]
	return halves, (len(halves) + 1) / 2
}

// fill overwrites dst by the mask of secret. The text is ASCII without quotes,
// backslashes or spaces, so that it can stand anywhere.
func (m *masks) fill(dst, secret []byte) {
	if len(dst) < minMask {
		stars(dst)
		return
	}
	tag := m.tag(0, secret)
	halves, first := frame(dst)
	if len(dst) >= 2*len(maskHead) {
		for i := copy(dst, maskHead); i < len(dst); i++ {
			dst[i] = '.'
		}
		dst[len(dst)-1] = ']'
	}
	copy(halves[:first], tag[:])
	check := m.tag(1, halves[:first])
	copy(halves[first:], check[:])
}

// cover overwrites dst, which could not be read, by its mask. Unlike others
// such a mask is never taken for fields: not where it begins, nor further on.
func (m *masks) cover(dst []byte) {
	if len(dst) < 2*len(maskHead) {
		stars(dst)
		return
	}
	m.fill(dst, dst)
}

func stars(dst []byte) {
	for i := range dst {
		dst[i] = '*'
	}
}

// is says whether b is a mask.
func (m *masks) is(b []byte) bool {
	if len(b) < 2*len(maskHead) && len(bytes.Trim(b, "*")) == 0 {
		return true
	}
	if len(b) < minMask {
		return false
	}
	halves, first := frame(b)
	if len(b) >= 2*len(maskHead) {
		if string(b[:len(maskHead)]) != maskHead || b[len(b)-1] != ']' {
			return false
		}
		for _, c := range b[len(maskHead)+len(halves) : len(b)-1] {
			if c != '.' {
				return false
			}
		}
	}
	check := m.tag(1, halves[:first])
	return string(halves[first:]) == string(check[:len(halves)-first])
}

// Looks says whether b looks like a mask, such as a message that was masked as a
// whole.
func Looks(b []byte) bool {
	if len(b) < 2*len(maskHead) {
		return len(b) > 0 && len(bytes.Trim(b, "*")) == 0
	}
	return string(b[:len(maskHead)]) == maskHead && b[len(b)-1] == ']'
}
