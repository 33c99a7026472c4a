package pseudonym

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// LeakError says that a name is in what was written.
type LeakError struct {
	Name  string
	Where string
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("%q was found again in %s", e.Name, e.Where)
}

// leastLeak is how long a name is that is looked for: shorter ones are found
// everywhere, and tell nothing.
const leastLeak = 4

// Search looks in the entries of what was written for the names that were learnt.
type Search struct {
	walk  *Walk
	raw   *rawSearch
	found *LeakError
}

// Search begins a search, after Settle.
func (n *Names) Search() *Search {
	own := *n
	s := &Search{raw: newRawSearch(n)}
	own.leak = s.text(n)
	s.walk = own.Walk()
	return s
}

// Entry searches an entry. The error is a *LeakError.
func (s *Search) Entry(e *session.Entry) error {
	s.walk.Entry(e)
	if s.found == nil && e.Message != nil && !e.Message.Large() {
		if name := s.raw.find(e.Message.Data.Bytes()); name != "" {
			s.found = &LeakError{Name: name}
		}
	}
	if s.found != nil {
		s.found.Where = fmt.Sprintf("the %s of entry %d", e.Kind, e.Seq)
		return s.found
	}
	return nil
}

// Name searches the name of a file.
func (s *Search) Name(file string) error {
	s.walk.names.leak(file, inValue)
	if s.found != nil {
		s.found.Where = "the name of the file"
		return s.found
	}
	return nil
}

// text searches a text: for words that were replaced, and for values. What is in
// base64 is searched as it is, and decoded.
func (s *Search) text(n *Names) func(string, place) {
	return func(text string, in place) {
		if s.found != nil || n.vocab.value(text) || n.vocab.field(text) {
			return
		}
		low := lower(text)
		all := n.vocab.tokens(text, plain)
		for i := range all {
			if word := low[all[i].from:all[i].to]; len(word) >= leastLeak && !all[i].ip.IsValid() {
				if _, replaced := n.words[word]; replaced && !n.vocab.stays(word) && !n.vocab.camel[text[all[i].from:all[i].to]] && !isNumeral(word) {
					s.found = &LeakError{Name: word}
					return
				}
			}
			for j := i; j < len(all) && j < i+maxWords && in != inAgent; j++ {
				name := low[all[i].from:all[j].to]
				if len(name) >= leastLeak && n.wholes[name] && n.changed(name) {
					s.found = &LeakError{Name: name}
					return
				}
			}
		}
		if name := s.raw.decoded(text); name != "" {
			s.found = &LeakError{Name: name}
		}
	}
}

// changed says whether a name is another one when it is mapped. One that consists
// of numbers is not.
func (n *Names) changed(name string) bool {
	for _, t := range n.vocab.tokens(name, plain) {
		w := name[t.from:t.to]
		if t.ip.IsValid() && !isWhole(t.ip) || !t.ip.IsValid() && !isNumeral(w) && n.words[w] != "" && n.words[w] != w {
			return true
		}
	}
	return false
}

// rawSearch finds names in bytes, whatever they are. Since nothing says where a
// word begins there, it looks for those that cannot be there by chance.
type rawSearch struct {
	names map[string]bool
	sizes map[[leastRaw]byte][]int // how long those are that begin so
}

// leastRaw is how long such a name is.
const leastRaw = 10

func newRawSearch(n *Names) *rawSearch {
	r := &rawSearch{names: make(map[string]bool), sizes: make(map[[leastRaw]byte][]int)}
	for name := range n.wholes {
		if len(name) >= leastRaw && strings.ContainsAny(name, "-._/|~:") && n.changed(name) && !n.vocab.madeOfAPI(name) {
			head := [leastRaw]byte([]byte(name[:leastRaw]))
			r.names[name] = true
			if sizes := r.sizes[head]; !slices.Contains(sizes, len(name)) {
				r.sizes[head] = append(sizes, len(name))
			}
		}
	}
	return r
}

// find is a name in b, or "".
func (r *rawSearch) find(b []byte) string {
	if len(r.names) == 0 {
		return ""
	}
	low := lower(string(b))
	for i := 0; i+leastRaw <= len(low); i++ {
		for _, size := range r.sizes[[leastRaw]byte([]byte(low[i:i+leastRaw]))] {
			if i+size <= len(low) && r.names[low[i:i+size]] {
				return low[i : i+size]
			}
		}
	}
	return ""
}
