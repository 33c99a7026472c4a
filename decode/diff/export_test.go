package diff

import "slices"

// Sets are the full names of the fields whose order means nothing, sorted.
func Sets() []string {
	out := make([]string, 0, len(lists))
	for name, rule := range lists {
		if rule.set {
			out = append(out, string(name))
		}
	}
	slices.Sort(out)
	return out
}

// Lists are the full names of all fields of which anything is said, sorted.
func Lists() []string {
	out := make([]string, 0, len(lists))
	for name := range lists {
		out = append(out, string(name))
	}
	slices.Sort(out)
	return out
}
