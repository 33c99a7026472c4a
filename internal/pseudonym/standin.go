package pseudonym

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
	"unicode/utf8"
)

// stream is a source of bytes that follow from a key and a text.
type stream struct {
	mac   hash.Hash
	seed  [sha256.Size]byte
	block [sha256.Size]byte
	at    int
	n     uint64
}

func (s *stream) reset(use string, attempt uint64, text string) {
	s.mac.Reset()
	s.mac.Write([]byte(use))
	s.mac.Write(binary.BigEndian.AppendUint64([]byte{0}, attempt))
	s.mac.Write([]byte(text))
	s.mac.Sum(s.seed[:0])
	s.at, s.n = len(s.block), 0
}

func (s *stream) next() byte {
	if s.at == len(s.block) {
		s.mac.Reset()
		s.mac.Write(binary.BigEndian.AppendUint64(s.seed[:], s.n))
		s.mac.Sum(s.block[:0])
		s.at, s.n = 0, s.n+1
	}
	s.at++
	return s.block[s.at-1]
}

// of is one of n, which is at most 26.
func (s *stream) of(n byte) byte {
	for {
		if b := s.next(); b < 255/n*n {
			return b % n
		}
	}
}

// Bytes that are no UTF-8 behind ASCII, which is all that stand-ins have else.
const firstInvalid, lastInvalid = 0x80, 0x80 + 25

const (
	consonants = "bcdfghjklmnpqrstvwxz"
	vowels     = "aeiou"
	hexLetters = "abcdef"
)

func newStream(key []byte) *stream { return &stream{mac: hmac.New(sha256.New, key)} }

// leastStandIn is how long a stand-in is at least: one letter could not be told
// from what stands in the text beside it.
const leastStandIn = 3

// candidate is a word of the shape of another one: a letter for each letter, a
// digit for each digit, hexadecimal for what is a hash. A number does not begin
// with a zero unless the other one does. Words are in lower case here.
func (s *stream) candidate(word string, attempt uint64) string {
	s.reset("word", attempt, word)
	hash := isHash(word)
	free := len(word) < 4 || attempt > 8 // all letters, where there are few words
	var out strings.Builder
	odd := s.of(2)
	for i, r := range word {
		switch {
		case r >= '0' && r <= '9' && (i > 0 || r == '0' || len(word) == 1):
			out.WriteByte('0' + s.of(10))
		case r >= '0' && r <= '9':
			out.WriteByte('1' + s.of(9))
		case r == utf8.RuneError && !utf8.ValidString(word[i:min(i+utf8.RuneLen(r), len(word))]):
			out.WriteByte(firstInvalid + s.of(lastInvalid-firstInvalid+1)) // what is not UTF-8 stays so
		case hash:
			out.WriteByte(hexLetters[s.of(6)])
		case free:
			out.WriteByte('a' + s.of(26))
		case odd == 0:
			out.WriteByte(consonants[s.of(20)])
			odd = 1
		default:
			out.WriteByte(vowels[s.of(5)])
			odd = 0
		}
	}
	for out.Len() < leastStandIn {
		out.WriteByte('a' + s.of(26))
	}
	return out.String()
}

// isHash says whether a word is hexadecimal, and no word that people write.
func isHash(word string) bool {
	digits, letters := 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f':
			letters++
		default:
			return false
		}
	}
	return len(word) >= 6 && digits > 0 && letters > 0
}

// lower is strings.ToLower of ASCII alone, which keeps every letter in its place.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// cased writes a stand-in as the word is written: a capital for a capital.
func cased(standIn, word string) string {
	if lower(word) == word {
		return standIn
	}
	b, i := []byte(standIn), 0
	for _, r := range word {
		if i < len(b) && r >= 'A' && r <= 'Z' && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
		i++
	}
	return string(b)
}
