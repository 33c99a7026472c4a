package diff

import (
	"iter"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

// Kind says what became of a value.
type Kind uint8

// The kinds of nodes.
const (
	Same    Kind = iota
	Added        // it is in the new tree only
	Removed      // it is in the old tree only
	Changed      // it is in both, and differs
	Moved        // it is in both, and stands elsewhere in a list whose order counts
)

// String is the word that the machine-readable forms use.
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Changed:
		return "changed"
	case Moved:
		return "moved"
	}
	return "same"
}

// Result is what differs between two trees.
type Result struct {
	// Root is both trees, laid over each other.
	Root Node
	// Count is how many Changes there are of each kind.
	Count [Moved + 1]int
	// Ignored are the names of those fields that were to be ignored and differ,
	// each once, in the order of the new tree.
	Ignored []string
	// Coarse says that there were too many differences to go into all of them:
	// some values are said to be changed, added or removed as a whole that may
	// have parts in common.
	Coarse bool
}

// Same says whether nothing differs, but for what was to be ignored.
func (r *Result) Same() bool { return r.Root.Kind == Same }

// Node is one place in both trees: a value, or a run of members or items that
// are the same.
type Node struct {
	Kind Kind
	// Name is that of a member, Key what an item of a list is known by, such as
	// "name=edge"; both are "" of the root, and of an item that only its
	// position tells from others.
	Name, Key string
	// Old and New are the value; nil in the tree that does not have it. Of a
	// run they are the first of it.
	Old, New *document.Tree
	// OldAt and NewAt are the positions among the members or items; -1 in the
	// tree that does not have it.
	OldAt, NewAt int
	// Run is how many members or items it stands for, one after the other in
	// the new tree; 1 unless they are the Same. In a list whose order counts,
	// and only there, they are one after the other in the old tree, too.
	Run int
	// Moved says of an item in a list whose order counts that it stands
	// elsewhere. Its Kind is Moved or, if it also differs, Changed.
	Moved bool
	// Ghost says that this is where a moved item was: it is in the list once
	// more where it is.
	Ghost bool
	// Nodes are the members or items of a Changed value, in the order of the
	// new tree, with what was removed where it was. There are none if both are
	// not objects of one type, or not arrays: then all of it has changed.
	Nodes []Node

	in where
}

// Change is one difference.
type Change struct {
	Kind  Kind // never Same
	Path  Path
	Old   *document.Tree // nil if Added
	New   *document.Tree // nil if Removed
	Moved bool           // see Node; Path has both positions
}

// Path leads from the root to a value.
type Path []Step

// Step is one step of a Path: to a member, or to an item.
type Step struct {
	Name, Key    string // as of a Node
	OldAt, NewAt int
	item         bool
}

// Item says whether the step is to an item of a list.
func (s *Step) Item() bool { return s.item }

// String is such as "filter_chains[name=edge].filters[1]". A position is that
// in the old tree, of what was added that in the new one.
func (p Path) String() string {
	var b strings.Builder
	for i := range p {
		p[i].write(&b, i > 0)
	}
	return b.String()
}

func (s *Step) write(b *strings.Builder, inner bool) {
	switch {
	case !s.item && isWord(s.Name):
		if inner {
			b.WriteByte('.')
		}
		b.WriteString(s.Name)
	case !s.item:
		b.WriteString("[" + strconv.Quote(s.Name) + "]")
	case s.Key != "":
		b.WriteString("[" + s.Key + "]")
	case s.OldAt >= 0:
		b.WriteString("[" + strconv.Itoa(s.OldAt) + "]")
	default:
		b.WriteString("[" + strconv.Itoa(s.NewAt) + "]")
	}
}

// isWord says whether a name can stand in a path bare.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '_' && c != '@' && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return s != ""
}

// where is what a node is a part of.
type where uint8

const (
	atRoot where = iota
	inObject
	inList
)

// Item says whether a node is an item of a list, and not a member.
func (n *Node) Item() bool { return n.in == inList }

// Root says whether a node is neither an item nor a member.
func (n *Node) Root() bool { return n.in == atRoot }

// Change returns the difference that a node itself is, without those within
// it; false if there is none. up is the path to where it stands.
func (n *Node) Change(up Path) (Change, bool) {
	if n.Ghost || n.Kind == Same || n.Kind == Changed && len(n.Nodes) > 0 && !n.Moved {
		return Change{}, false
	}
	c := Change{Kind: n.Kind, Path: n.Path(up), Old: n.Old, New: n.New, Moved: n.Moved}
	if n.Kind == Changed && len(n.Nodes) > 0 {
		c.Kind = Moved // what has changed are the nodes
	}
	return c, true
}

// Path returns the path to a node that stands at up, in memory of its own.
func (n *Node) Path(up Path) Path {
	if n.in == atRoot {
		return nil
	}
	out := make(Path, len(up), len(up)+1)
	copy(out, up)
	return append(out, Step{Name: n.Name, Key: n.Key, OldAt: n.OldAt, NewAt: n.NewAt, item: n.in == inList})
}

// Changes yields the differences in the order of the new tree, with what was
// removed where it was.
func (r *Result) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) { r.Root.changes(nil, yield) }
}

func (n *Node) changes(up Path, yield func(Change) bool) bool {
	if n.Ghost || n.Kind == Same {
		return true
	}
	if c, is := n.Change(up); is && !yield(c) {
		return false
	}
	if len(n.Nodes) == 0 {
		return true
	}
	at := n.Path(up)
	for i := range n.Nodes {
		if !n.Nodes[i].changes(at, yield) {
			return false
		}
	}
	return true
}
