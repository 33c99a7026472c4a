package replay

import (
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// ClientName is a client as texts name it.
func ClientName(id string) string {
	if id == "" {
		return "a client without a node id"
	}
	return fmt.Sprintf("%q", id)
}

// Bounded cuts a very long text of a peer.
func Bounded(s string) string { return clip.Text(s, 200) }

func BoundedNames(names []string) []string {
	const most = 20
	out := []string{}
	for _, n := range names[:min(len(names), most)] {
		out = append(out, Bounded(n))
	}
	return out
}

// Few lists some of the names.
func Few(names []string) string {
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

func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func Responses(n int, typ string) string {
	return fmt.Sprintf("%d %s of %s", n, Plural(n, "response", "responses"), typ)
}
