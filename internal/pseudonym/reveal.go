package pseudonym

import "strings"

// Reveal translates a text back, such as one that somebody wrote of a recording
// with stand-ins.
type Reveal struct {
	words map[string]string
	ips   *addresses
}

// NewReveal returns a Reveal of what stands for names.
func NewReveal(key *Key) *Reveal {
	r := &Reveal{words: make(map[string]string, len(key.Words)), ips: newAddresses(key.part("addresses"), true)}
	for word, standIn := range key.Words {
		r.words[standIn] = word
	}
	return r
}

// Text puts the names where their stand-ins are. Words that stand for nothing stay.
func (r *Reveal) Text(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if t, ok := addressAt(s, i); ok {
			if isWhole(t.ip) {
				out.WriteString(s[i:t.to])
			} else {
				out.WriteString(t.text(r.ips.cipher(t.ip, true).String()))
			}
			i = t.to
			continue
		}
		if n := escape(s[i:]); n > 0 {
			out.WriteString(s[i : i+n])
			i += n
			continue
		}
		if !isWord(s[i]) {
			out.WriteByte(s[i])
			i++
			continue
		}
		end := i
		for end < len(s) && isWord(s[end]) {
			end++
		}
		word := s[i:end]
		if was, known := r.words[lower(word)]; known {
			word = cased(was, word)
		}
		out.WriteString(word)
		i = end
	}
	return out.String()
}
