package alias

import (
	"slices"
	"sort"
	"strings"
)

// search finds texts at the beginning of others. Ever new ones cost little: they are
// kept in runs, each of which is at least twice as long as the one behind it.
type search struct {
	runs  [][]string // each in order, and never changed
	fresh []string   // what is in no run yet
}

func (r *search) add(text string) { r.fresh = append(r.fresh, text) }

// settle makes what was added known to longest.
func (r *search) settle() {
	if len(r.fresh) == 0 {
		return
	}
	run, last := r.fresh, len(r.runs)-1
	r.fresh = nil
	for ; last >= 0 && len(r.runs[last]) < 2*len(run); last-- {
		run = append(run, r.runs[last]...)
	}
	slices.Sort(run)
	r.runs = append(r.runs[:last+1], run)
}

func (r *search) clone() search {
	return search{runs: slices.Clone(r.runs), fresh: slices.Clone(r.fresh)}
}

// longest is the longest text that s begins with, and that ends there as a word.
func (r *search) longest(s string) string {
	found := ""
	for _, run := range r.runs {
		if text := longestOf(run, s); len(text) > len(found) {
			found = text
		}
	}
	return found
}

// begins says whether some text begins with s, and goes on.
func (r *search) begins(s string) bool {
	r.settle()
	return slices.ContainsFunc(r.runs, func(run []string) bool {
		i := sort.SearchStrings(run, s)
		if i < len(run) && run[i] == s {
			i++
		}
		return i < len(run) && strings.HasPrefix(run[i], s)
	})
}

func longestOf(sorted []string, s string) string {
	for key := s; key != ""; {
		// The last text that is not after key: if it is no beginning of s, no
		// text is that is longer than what both have in common.
		i := sort.SearchStrings(sorted, key)
		if i == len(sorted) || sorted[i] != key {
			i--
		}
		if i < 0 {
			return ""
		}
		text := sorted[i]
		n := commonPrefix(text, key)
		if n == len(text) {
			if n == len(s) || !WordByte(s[n]) || !WordByte(s[n-1]) {
				return text
			}
			n--
		}
		key = key[:n]
	}
	return ""
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
