package engine

import "github.com/xdsproxy/xdsproxy/decode"

// index is the set of the names of a list, normalized, without the wildcard
// and the empty name. It is made when it is first needed.
func (n *NameList) index() map[string]struct{} {
	if n.set == nil {
		n.set = make(map[string]struct{}, len(n.Names))
		for _, name := range n.Names {
			if name != "*" && name != "" {
				n.set[decode.NormalName(name)] = struct{}{}
			}
		}
	}
	return n.set
}

// has says whether a list has a normalized name; a nil list has none.
func (n *NameList) has(name string) bool {
	if n == nil {
		return false
	}
	_, ok := n.index()[name]
	return ok
}
