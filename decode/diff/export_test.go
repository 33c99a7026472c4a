package diff

import "slices"

// Sets are the full names of the fields whose order means nothing, sorted.
func Sets() []string {
	out := make([]string, 0, len(lists))
	for name := range lists {
		out = append(out, string(name))
	}
	slices.Sort(out)
	return out
}
