package render

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/origin"
)

// Source is an object of a control plane that a resource was made of.
type Source = origin.Source

// MadeFrom says of which objects of a control plane something was made, such as
// "made from HTTPRoute shop/checkout, rule 2"; "" if nothing tells.
func MadeFrom(list []origin.Source, more bool, most int) string {
	if len(list) == 0 {
		return ""
	}
	return "made from " + Safe(origin.Words(list, more, most))
}

// Renamed are sources with other names, of which each says where it is.
func Renamed(list []origin.Source, rename func(string) string) []origin.Source {
	out := slices.Clone(list)
	for i := range out {
		s := &out[i]
		s.Name, s.Namespace = rename(strings.TrimPrefix(s.Namespace+"/"+s.Name, "/")), ""
		if s.Section != "" {
			s.Section = rename(s.Section)
		}
	}
	return out
}

// FewSources is how many are named where there is room for a sentence.
const FewSources = 6
