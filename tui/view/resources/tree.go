package resources

import (
	"cmp"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// treeRow is a line of the resources of a client: a node, or the title of a part
// of them.
type treeRow struct {
	node    *engine.Node // nil: a title
	title   string       // or why the node is listed: dangling, missing, uncertain
	depth   uint8
	ends    uint32 // bit d: at depth d nothing follows below
	folds   bool   // there is something to fold
	folded  bool
	section section
}

// section is a part of the list.
type section uint8

const (
	used section = iota
	dangling
	missing
	uncertain
)

func (s section) String() string {
	return [...]string{
		"", "dangling: sent, and nothing refers to it", "missing: referred to or asked for, and not sent",
		"uncertain: part of the conversation was not seen",
	}[s]
}

// treeKey tells a row from others, so that the selection stays with it.
type treeKey struct {
	section   section
	typ, name string
	title     string
	again     bool
}

func (r *treeRow) key() treeKey {
	if r.node == nil {
		return treeKey{section: r.section, title: r.title}
	}
	return treeKey{section: r.section, typ: r.node.Type, name: r.node.Name, again: r.node.Again}
}

// treeQuery is what decides which rows there are.
type treeQuery struct {
	client     string
	generation uint64
	Words      string
	byType     bool
	folds      int // how often something was folded or unfolded
}

// forest is the rows of a client's resources, and how many there are by state.
type forest struct {
	query  treeQuery
	Tree   *engine.Tree
	rows   []treeRow
	States map[engine.ResourceState]int
	Total  int                        // resources
	nodes  map[[2]string]*engine.Node // by type and name
	names  map[string]*shortname.Set  // by type
	// effects are how far the client got with each, nil if nobody says so.
	effects map[[2]string]effect.Effect
}

// Flatten makes rows of a tree. It runs beside the loop: a client may have
// tens of thousands of resources.
func Flatten(q treeQuery, t *engine.Tree, folded map[treeKey]bool) *forest {
	f := &forest{
		query: q, Tree: t, States: make(map[engine.ResourceState]int),
		nodes: make(map[[2]string]*engine.Node),
	}
	if t == nil {
		return f
	}
	g := &flattener{forest: f, folded: folded, words: q.Words}
	for _, list := range [][]*engine.Node{t.Roots, t.Dangling, t.Missing} {
		g.count(list)
	}
	g.told()
	if q.byType {
		g.byType()
	} else {
		g.list(used, t.Roots, 0)
	}
	if !q.byType {
		g.part(dangling, t.Dangling)
	}
	g.part(missing, t.Missing)
	g.part(uncertain, g.doubtful)
	return f
}

type flattener struct {
	forest   *forest
	folded   map[treeKey]bool
	words    string
	doubtful []*engine.Node
}

// count goes over all resources once.
func (g *flattener) count(list []*engine.Node) {
	for _, n := range list {
		key := [2]string{n.Type, n.Name}
		if have := g.forest.nodes[key]; have == nil || have.Again && !n.Again {
			if have == nil {
				g.forest.States[n.State]++
				g.forest.Total++
				if n.State == engine.Uncertain {
					g.doubtful = append(g.doubtful, n)
				}
			}
			g.forest.nodes[key] = n
		}
		g.count(n.Children)
	}
}

// told makes the names of each type ones that can be told apart.
func (g *flattener) told() {
	all := make(map[string][]string)
	for key := range g.forest.nodes {
		all[key[0]] = append(all[key[0]], render.Safe(key[1]))
	}
	g.forest.names = make(map[string]*shortname.Set, len(all))
	for typ, names := range all {
		g.forest.names[typ] = shortname.New(names)
	}
}

// part is one of the lists at the end, with its title.
func (g *flattener) part(s section, list []*engine.Node) {
	g.titled(s, s.String(), list)
}

func (g *flattener) titled(s section, name string, list []*engine.Node) {
	at := len(g.forest.rows)
	row := treeRow{title: name, section: s, folds: true}
	row.folded = g.folded[row.key()]
	g.forest.rows = append(g.forest.rows, row)
	any := false
	if row.folded {
		any = slices.ContainsFunc(list, g.matches)
	} else {
		any = g.list(s, list, 0)
	}
	if !any {
		g.forest.rows = g.forest.rows[:at]
	}
}

// byType lists every resource once, under the name of its type.
func (g *flattener) byType() {
	var all []*engine.Node
	for _, n := range g.forest.nodes {
		if n.State != engine.Missing && n.State != engine.NotOverXDS {
			all = append(all, &engine.Node{Type: n.Type, Name: n.Name, State: n.State, Version: n.Version, Seq: n.Seq, At: n.At})
		}
	}
	order := xds.Order()
	rank := func(typ string) int {
		if i := slices.Index(order, typ); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(all, func(a, b *engine.Node) int {
		return cmp.Or(cmp.Compare(rank(a.Type), rank(b.Type)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(n *engine.Node) bool { return n.Type != all[0].Type })
		if n < 0 {
			n = len(all)
		}
		g.titled(used, all[0].Type, all[:n])
		all = all[n:]
	}
}

// list appends the nodes of a list that match, and those above what matches. It
// says whether there was one.
func (g *flattener) list(s section, list []*engine.Node, depth uint8) bool {
	last := -1
	for _, n := range list {
		at := len(g.forest.rows)
		row := treeRow{node: n, depth: depth, section: s, folds: len(n.Children) > 0 && s <= dangling}
		row.folded = row.folds && g.folded[row.key()]
		g.forest.rows = append(g.forest.rows, row)
		keep := g.matches(n)
		switch {
		case !row.folds:
		case row.folded:
			keep = keep || g.below(n.Children)
		default:
			keep = g.list(s, n.Children, depth+1) || keep
		}
		if !keep {
			g.forest.rows = g.forest.rows[:at]
			continue
		}
		last = at
	}
	if last < 0 {
		return false
	}
	// Nothing follows below the last one that is shown.
	for i := last; i < len(g.forest.rows); i++ {
		g.forest.rows[i].ends |= 1 << depth
	}
	return true
}

func (g *flattener) below(list []*engine.Node) bool {
	return slices.ContainsFunc(list, func(n *engine.Node) bool { return g.matches(n) || g.below(n.Children) })
}

func (g *flattener) matches(n *engine.Node) bool {
	return g.words == "" || widget.HasWords(n.Type+" "+n.Name+" "+string(n.State)+" "+n.Version, g.words)
}
