package secrets

import "bytes"

// Finder is told what Each finds: parts of the text, which it may change in place.
type Finder interface {
	// Secret is given what is to be hidden.
	Secret(b []byte)
	// Base64 is given what is text in base64.
	Base64(b []byte)
	// Brace is asked of the brace or bracket at i, which may begin JSON, up to
	// where it looked at the text: i if it did not.
	Brace(b []byte, i int) int
}

// Each goes over a text from its beginning to its end and finds what gives itself
// away: what begins first counts.
func Each(b []byte, f Finder) {
	start, name := 0, 0 // of the word at hand; where the xdstp name ends that was met last
	var seen jwtSeen
	for i := 0; i <= len(b); i++ {
		class := between
		if i < len(b) {
			class = classes[b[i]]
		}
		if class == inWord {
			continue
		}
		end := i
		if i-start >= minLong {
			end = longWord(b, start, i, &seen, f)
		}
		if end == i && class == anchor {
			end = atAnchor(b, start, i, &name, f)
		}
		if end > i {
			i, start = end-1, end
		} else {
			start = i + 1
		}
	}
}

// atAnchor finds what the byte at i gives away, and returns where to go on: at i if
// that is nothing.
func atAnchor(b []byte, start, i int, name *int, f Finder) int {
	switch c := b[i]; {
	case c == '{', c == '[':
		return f.Brace(b, i)
	case c == ':' && i >= *name && bytes.HasSuffix(b[:i], xdstp) && bytes.HasPrefix(b[i:], urlMark):
		*name = i + wordLength(b[i:])
	case c == '=' && i < *name:
		return i // the context parameters of a name are no credentials
	}
	from, to := secretAt(b, start, i, false)
	if from >= to {
		return i
	}
	f.Secret(b[from:to])
	return max(to, i+1)
}

// longWord finds what a word is or holds, and returns where to go on.
func longWord(b []byte, start, end int, seen *jwtSeen, f Finder) int {
	if from, to := seen.token(b, start, end); from < to {
		f.Secret(b[from:to])
		return to
	}
	word := b[start:end]
	if from, to := tokenIn(b, start, end, false); from < to {
		f.Secret(b[from:to])
		return max(to, end)
	}
	if at := bytes.Index(word, pemBase64); at >= 0 {
		if from, to := pemInBase64(b, start+at); from < to {
			f.Secret(b[from:to])
			return to
		}
	}
	for {
		from, to := base64Text(word)
		if from == to {
			return end
		}
		f.Base64(word[from:to])
		word = word[to:]
	}
}
