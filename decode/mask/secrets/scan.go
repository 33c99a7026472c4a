package secrets

import (
	"bytes"
	"strings"
)

// What the bytes of a text are to a search for secrets. A word is what base64
// may consist of. Most bytes are in a word, and are passed over at a glance.
const (
	inWord uint8 = iota
	between
	anchor // ends a word and may give a secret away
)

var classes = func() (of [256]uint8) {
	for c := range of {
		if of[c] = between; isAlnum(byte(c)) || c == '+' || c == '/' {
			of[c] = inWord
		}
	}
	for _, c := range `=:-_. "%{[` {
		of[c] = anchor
	}
	return of
}()

// minLong is the length from which on a word may be a secret by itself.
const minLong = 10

// In says whether b, which may be a message or a part of one, may hold
// a text that looks like a secret, at any depth. It finds whatever Each would
// find in a text of it, and is the reason why most bytes are looked at only once.
func In(b []byte) bool {
	if bytes.Contains(b, googleKey) || bytes.Contains(b, loginTCP) || bytes.Contains(b, loginUnix) {
		return true
	}
	start := 0
	var seen jwtSeen
	for i, c := range b {
		class := classes[c]
		if class == inWord {
			continue
		}
		if i-start >= minLong && mayBeSecret(b, start, i, &seen) {
			return true
		}
		if class == anchor {
			if from, to := secretAt(b, start, i, true); from < to {
				return true
			}
		}
		start = i + 1
	}
	return len(b)-start >= minLong && mayBeSecret(b, start, len(b), &seen)
}

// secretAt is the secret that the byte at i gives away: a range somewhere beside
// it, or an empty one. The word before i begins at start. In a rough search b is
// a message: what stands around a text is not told from it, and a range only says
// that one may be there.
func secretAt(b []byte, start, i int, rough bool) (from, to int) {
	switch b[i] {
	case '=':
		if endsLikeKey(b, i) {
			return pair(b, i, rough)
		}
	case ':':
		if bytes.HasPrefix(b[i:], urlMark) {
			return urlPassword(b, i)
		}
		if from, to = botToken(b, start, i); from < to {
			return from, to
		}
		if from, to = argument(b, i, rough); from < to {
			return from, to
		}
		if !rough {
			if from, to = login(b, i); from < to {
				return from, to
			}
		}
		if endsLikeKey(b, i) || !rough {
			return pair(b, i, rough)
		}
	case '-':
		if bytes.HasPrefix(b[i:], pemBegin) {
			if from, to = pemBlock(b, i); from < to {
				return from, to
			}
		}
		if from, to = flagged(b, i, rough); from < to {
			return from, to
		}
		fallthrough
	case '_', '.':
		if !rough && b[i] != '.' && i-start < minLong {
			if from, to = tokenIn(b, start, i, false); from < to {
				return from, to
			}
		}
		if i >= 2 && headEnds.has(b[i-2], b[i-1]) {
			return tokenAt(b, i, rough)
		}
	case ' ', '%':
		if i > start && (b[i-1]|0x20 == 'r' || b[i-1]|0x20 == 'c') {
			return afterScheme(b, start, i, rough)
		}
	case '"':
		// The name of a header or a variable, or a key: its value stands beside it.
		if rough && i > start && endsLikeKey(b, i) && (bytes.HasSuffix(b[start:i], keyType) || secretKey(objectKey(b, i), true)) {
			return start, i
		}
	}
	return 0, 0
}

// objectKey is the end of a key in JSON that ends before the quote at i. Between its
// words there may be spaces.
func objectKey(b []byte, i int) []byte {
	at := i
	for at > 0 && i-at < maxKey && (isKeyChar(b[at-1]) || b[at-1] == ' ' || b[at-1] == '/') {
		at--
	}
	return b[at:i]
}

// twoBytes is a set of pairs of bytes.
type twoBytes [1 << 16 / 8]byte

func (s *twoBytes) has(a, b byte) bool { return s[uint(a)<<5|uint(b)>>3]&(1<<(b&7)) != 0 }

func (s *twoBytes) add(a, b byte) { s[uint(a)<<5|uint(b)>>3] |= 1 << (b & 7) }

// headEnds are the last two bytes before the first anchor in the heads of tokens.
var headEnds = func() *twoBytes {
	var s twoBytes
	for _, t := range tokens {
		if at := strings.IndexAny(t.head, "-_."); at > 0 {
			s.add(t.head[at-2], t.head[at-1])
		}
	}
	return &s
}()

// keyEnds are the last two letters of all keys that say that they are secret, in
// small letters, and any digit.
var keyEnds = func() *twoBytes {
	var s twoBytes
	for _, of := range [][]string{secretKeys[:], secretEndings[:], secretWords[:], secretForms[:], faintKeys[:], {"inline_string", "inline_bytes", "inlinestring", "inlinebytes", "kty"}} {
		for _, key := range of {
			s.add(key[len(key)-2], key[len(key)-1])
		}
	}
	for a := range 256 {
		for b := byte('0'); b <= '9'; b++ {
			s.add(byte(a), b)
			s.add(byte(a), '-')
		}
	}
	return &s
}()

// endsLikeKey says whether a key that ends before the sign at i may be secret, by
// its last two letters. It is there because most are not.
func endsLikeKey(b []byte, i int) bool {
	for least := i - 12; i > 0 && i > least && strings.IndexByte(" \t\"'`\\]:_.", b[i-1]) >= 0; i-- {
	}
	return i >= 2 && keyEnds.has(lower(b[i-2]), lower(b[i-1]))
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// mayBeSecret says whether a long word, from start to end, may be a secret or hold
// one.
func mayBeSecret(b []byte, start, end int, seen *jwtSeen) bool {
	if from, to := seen.token(b, start, end); from < to {
		return true
	}
	word := b[start:end]
	if from, to := tokenIn(b, start, end, true); from < to {
		return true
	}
	from, to := base64Text(word)
	return from < to
}

// jwtSeen is up to where it is known that no JSON web token stands: none goes over
// what cannot be in one, and none begins later in what may be.
type jwtSeen int

// token is the JSON web token that begins in the word from start to end.
func (s *jwtSeen) token(b []byte, start, end int) (from, to int) {
	if start < int(*s) {
		return 0, 0
	}
	at := bytes.Index(b[start:end], jwtHead)
	if at < 0 {
		return 0, 0
	}
	from, to = webToken(b, start+at)
	*s = jwtSeen(to)
	return from, to
}
