package replay

import "fmt"

// clientName is a client as texts name it.
func clientName(id string) string {
	if id == "" {
		return "a client without a node id"
	}
	return fmt.Sprintf("%q", id)
}

// bounded cuts a very long text of a peer.
func bounded(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

func boundedNames(names []string) []string {
	const most = 20
	out := []string{}
	for _, n := range names[:min(len(names), most)] {
		out = append(out, bounded(n))
	}
	return out
}

// few lists some of the names.
func few(names []string) string {
	const most = 5
	out := ""
	for i, n := range names {
		if i == most {
			return out + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%q", n)
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func responses(n int, typ string) string {
	return fmt.Sprintf("%d %s of %s", n, plural(n, "response", "responses"), typ)
}
