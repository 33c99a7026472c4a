package pseudonym

import (
	"errors"
	"net/netip"
	"slices"
)

// ErrTooMany says that the recording has more names than are kept.
var ErrTooMany = errors.New("there are more names in it than can be kept in memory: take a part out of it first")

const (
	// maxNames bounds the bytes that are kept of names.
	maxNames = 64 << 20
	// perName is what a name costs beside its bytes.
	perName = 64
	// maxWhole is how long a name may be that is looked for as a whole.
	maxWhole = 256
	// maxWords is how many words it may have.
	maxWords = 12
)

// Names knows every name of a recording, and what stands for it. It is used by
// one goroutine.
type Names struct {
	key     *Key
	vocab   *vocabulary
	ips     *addresses
	random  *stream
	words   map[string]string // in lower case: what is replaced, and by what
	used    map[string]string // the other way
	wholes  map[string]bool   // whole values in lower case; true: to be found nowhere
	size    int
	settled bool
	err     error
	typed   bool                     // in a Struct that stands for a message of the API
	leak    func(s string, in place) // not nil: what is walked over is searched, see scan.go

	certificates map[string][]byte // by what they stand for
}

// NewNames returns Names that have learnt what the key has.
func NewNames(key *Key) *Names {
	n := &Names{
		key: key, vocab: newVocabulary(), ips: newAddresses(key.part("addresses"), true), random: newStream(key.part("words")),
		words: make(map[string]string), used: make(map[string]string), wholes: make(map[string]bool), certificates: make(map[string][]byte),
	}
	for word, standIn := range key.Words {
		n.words[word], n.used[standIn] = standIn, word
	}
	return n
}

// keep counts what is remembered.
func (n *Names) keep(bytes int) bool {
	if n.size += bytes + perName; n.size > maxNames {
		n.err = ErrTooMany
		return false
	}
	return true
}

// learn takes a word that is to be replaced.
func (n *Names) learn(word string) {
	word = lower(word)
	if _, known := n.words[word]; !known && n.keep(2*len(word)) {
		n.words[word] = ""
	}
}

// Settle gives every word that was learnt its stand-in. It comes after the
// recording was walked over once, and before anything is mapped.
func (n *Names) Settle() error {
	if n.err != nil {
		return n.err
	}
	var fresh []string
	for word, standIn := range n.words {
		if standIn == "" {
			fresh = append(fresh, word)
		}
	}
	slices.Sort(fresh) // so that the same names have the same stand-ins
	families := make(map[string][]string)
	for _, word := range fresh {
		standIn := n.choose(word)
		n.words[word], n.used[standIn] = standIn, word
		if f := family(word); f != "" {
			families[f] = append(families[f], word)
		}
	}
	for _, words := range families {
		n.inOrder(words)
	}
	n.key.Words, n.settled = n.words, true
	return nil
}

// family is what words have in common that differ in a number, r1 and r2, or are one
// letter, a and b. A hash belongs to none, nor does a word with so many digits that
// they are no number.
func family(word string) string {
	if len(word) == 1 {
		return "a"
	}
	b, digits := []byte(word), 0
	for i, c := range b {
		if isDigit(c) {
			b[i] = '0'
			digits++
		}
	}
	if digits == 0 || digits == len(b) || digits > 5 || isHash(word) {
		return ""
	}
	return string(b)
}

// inOrder hands out the stand-ins of a family in the order of its words: in that
// order rules list what is numbered, and the first one decides what they name.
func (n *Names) inOrder(words []string) {
	standIns := make([]string, len(words))
	for i, word := range words {
		standIns[i] = n.words[word]
	}
	slices.Sort(standIns)
	for i, word := range words {
		if standIns[i] == word {
			return
		}
	}
	for i, word := range words {
		n.words[word], n.used[standIns[i]] = standIns[i], word
	}
}

// choose finds a word that stands for no other one. A long one is no name that
// was learnt either, and no word that stays.
func (n *Names) choose(word string) string {
	for attempt := range uint64(1 << 14) {
		c := n.random.candidate(word, attempt)
		if _, taken := n.used[c]; taken || c == word && attempt < 1<<12 {
			continue
		}
		if _, name := n.words[c]; attempt < 1<<10 && (name || n.vocab.stays(c) || isNumeral(c)) {
			continue
		}
		return c
	}
	return n.exhausted(word)
}

// exhausted goes through all words of a short shape, of which there is one left
// for each name of that shape.
func (n *Names) exhausted(word string) string {
	b := []byte(lower(n.random.candidate(word, 0)))
	for range 1 << 20 {
		if _, taken := n.used[string(b)]; !taken {
			break
		}
		for i := len(b) - 1; i >= 0; i-- {
			switch b[i] {
			case '9':
				b[i] = '0'
				continue
			case 'z':
				b[i] = 'a'
				continue
			case lastInvalid:
				b[i] = firstInvalid
				continue
			}
			b[i]++
			break
		}
	}
	return string(b)
}

// word is what stands for a word.
func (n *Names) word(word string) string {
	if !n.settled {
		n.learn(word)
		return word
	}
	standIn, known := n.words[lower(word)]
	if !known || standIn == "" { // it was not there when the names were learnt
		n.err = errors.New("the recording changed while it was read")
		return n.random.candidate(lower(word), 0)
	}
	return cased(standIn, word)
}

// whole takes a value, which is a name as it stands there.
func (n *Names) whole(s string) {
	if n.settled || len(s) > maxWhole {
		return
	}
	if s = lower(trimmed(s)); s == "" {
		return
	}
	if _, known := n.wholes[s]; !known && n.keep(len(s)) {
		n.wholes[s] = true
	}
}

func (n *Names) address(ip netip.Addr) string {
	return n.ips.cipher(ip, false).String()
}
