// Package survey says which resources of a response are not plain ones.
package survey

import "github.com/xdsproxy/xdsproxy/decode"

// Peculiar are the resources of a response that are not plain ones.
type Peculiar struct {
	// Timed are the positions of resources with a TTL, Misnamed of those that
	// do not say one name, and Wrapped counts the envelopes.
	Timed, Misnamed []int
	Wrapped         int
	Aliased         bool // a resource has other names
	// Variants says that resources come with constraints on parameters, so
	// that a name may stand for several.
	Variants bool
	// Typed is the position of the first payload plus one, 0 if there is none,
	// and Odd are those of payloads of another type than the first.
	Typed int
	Odd   []int
}

// Of finds them.
func Of(resources []decode.Resource) (p Peculiar) {
	for i := range resources {
		r := &resources[i]
		if r.HasTTL {
			p.Timed = append(p.Timed, i)
		}
		if r.Wrapped {
			p.Wrapped++
		}
		if r.Name == "" || r.Unnamed || r.BothNames {
			p.Misnamed = append(p.Misnamed, i)
		}
		p.Aliased = p.Aliased || len(r.Aliases) > 0
		p.Variants = p.Variants || r.Constraints != ""
		switch {
		case r.Empty:
		case p.Typed == 0:
			p.Typed = i + 1
		case r.TypeURL != resources[p.Typed-1].TypeURL:
			p.Odd = append(p.Odd, i)
		}
	}
	return p
}

// None says whether names, versions and contents are all there is to the response,
// but for envelopes.
func (p *Peculiar) None() bool {
	return len(p.Timed)+len(p.Misnamed)+len(p.Odd) == 0 && !p.Aliased && !p.Variants
}
