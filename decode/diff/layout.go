package diff

// layout lays two lists of values, of which some are paired, over each other.
type layout struct {
	c       *comparer
	a, b    []value
	pairs   pairing
	ordered bool
	part    func(n *Node, i, j int) // says which one it is; -1 for one that is not there
	compare func(i, j int) Node     // of a pair
}

// nodes are in the order of the new list; what is only in the old one stands
// before what came in its place.
func (l *layout) nodes() []Node {
	var out []Node
	anchor := anchors(l.pairs)
	next := 0 // of the old list, to be laid out
	for j := range len(l.b) + 1 {
		if j == 0 || j == len(l.b) || anchor[j-1] {
			until := len(l.a)
			for k := j; k < len(l.b); k++ {
				if anchor[k] {
					until = l.pairs.new[k]
					break
				}
			}
			for ; next < until; next++ {
				out = l.old(out, next, anchor)
			}
		}
		if j == len(l.b) {
			break
		}
		i := l.pairs.new[j]
		if i < 0 {
			n := Node{Kind: Added, New: l.b[j].tree, OldAt: -1, NewAt: j, Run: 1}
			l.part(&n, -1, j)
			out = append(out, n)
			continue
		}
		n := l.compare(i, j)
		n.OldAt, n.NewAt = i, j
		if anchor[j] {
			next = i + 1
		} else if l.ordered {
			n.Moved = true
			if n.Kind == Same {
				n.Kind = Moved
			}
		}
		if last := len(out) - 1; n.Kind == Same && last >= 0 && l.follows(&out[last], i, j) {
			out[last].Run++
			continue
		}
		l.part(&n, i, j)
		out = append(out, n)
	}
	return out
}

// old lays out one that is not in the new list, or not where it was.
func (l *layout) old(out []Node, i int, anchor []bool) []Node {
	j := l.pairs.old[i]
	if j >= 0 && (!l.ordered || anchor[j]) {
		return out
	}
	n := Node{Kind: Removed, Old: l.a[i].tree, OldAt: i, NewAt: -1, Run: 1}
	if j >= 0 {
		n.Kind, n.Moved, n.Ghost, n.New, n.NewAt = Moved, true, true, l.b[j].tree, j
	}
	l.part(&n, i, j)
	return append(out, n)
}

// follows says whether a pair that is the same makes a run longer.
func (l *layout) follows(run *Node, i, j int) bool {
	return run.Kind == Same && run.NewAt+run.Run == j && (!l.ordered || run.OldAt+run.Run == i)
}
