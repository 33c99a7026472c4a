// Package nearest finds what someone meant who mistyped a name. It only
// proposes: nothing is ever taken for something else because of it.
package nearest

import "strings"

// Name returns the candidate that was probably meant by a mistyped name, or
// "" if none is near: it may differ in a third of the name's letters, and in
// two at least for names of four letters or more. Candidates are in lower case.
func Name(name string, candidates []string) string {
	name = strings.ToLower(name)
	if len(name) > maxName {
		return ""
	}
	best, least := "", max(1, len(name)/3)
	if len(name) >= 4 {
		least = max(2, least)
	}
	work := maxWork
	for _, c := range candidates {
		if len(name) >= 3 && strings.HasPrefix(c, name) {
			return c
		}
		if n := len(name) - len(c); n > least || -n > least || work < 0 {
			continue
		}
		a, b := differing(name, c)
		if work -= (len(a) + 1) * (len(b) + 1); work < 0 {
			continue
		}
		if d := distance(a, b); d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// maxName and maxWork bound the work: what is longer is no name, and
// so many pairs of letters are compared for one name, which takes some
// milliseconds. After that only a beginning is found.
const (
	maxName = 256
	maxWork = 1 << 22
)

// differing is what two names have between what they begin and end with alike.
func differing(a, b string) (string, string) {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// distance counts the letters to insert, delete, replace, or swap with their
// neighbour to come from a to b.
func distance(a, b string) int {
	n := len(b) + 1
	rows := make([]int, 3*n)
	before, row, next := rows[:n], rows[n:2*n], rows[2*n:]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
