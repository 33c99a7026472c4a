package render

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// What a brief document has at most.
const (
	briefNode  = 2 << 10 // bytes of a node's metadata
	briefNames = 20      // of a list
)

// Brief leaves out of a document what does not help a reader who asks about some
// resources of it: the extensions of a node, its metadata if that is long, the
// middle of long lists of names, and the resources that are not asked about, unless
// there are few. What is left out is counted in its place.
func (d *Document) Brief(c *check.Change, names []string) {
	root := &d.doc.Root
	for i := range root.Members {
		briefList(&root.Members[i].Value)
	}
	message, ok := root.Get("message")
	if !ok {
		return
	}
	if node, ok := message.Get("node"); ok {
		briefNodeOf(node)
	}
	for i := range message.Members {
		if list := &message.Members[i].Value; message.Members[i].Name != "resources" {
			briefList(list)
		}
	}
	resources, ok := message.Get("resources")
	if !ok || c.Message == nil || len(resources.Items) != len(c.Message.Resources) {
		return
	}
	asked := func(i int) bool { return slices.Contains(names, c.Message.Resources[i].Name) }
	var kept []document.Tree
	for i := range resources.Items {
		if asked(i) {
			kept = append(kept, resources.Items[i])
		}
	}
	if len(kept) == 0 {
		return // then the first ones are as good as any
	}
	if n := len(resources.Items) - len(kept); n > 0 {
		kept = append(kept, leftOut(n, "resource", "resources"))
	}
	resources.Items = kept
}

func briefNodeOf(node *document.Tree) {
	if x, ok := node.Get("extensions"); ok {
		*x = leftOut(len(x.Items), "extension", "extensions")
	}
	if x, ok := node.Get("metadata"); ok && len((&document.Document{Root: *x}).JSON()) > briefNode {
		*x = leftOut(len(x.Members), "member", "members")
	}
}

func briefList(list *document.Tree) {
	n := len(list.Items) - briefNames
	if n <= 0 || list.Items[0].Kind != document.String {
		return
	}
	list.Items = append(slices.Clone(list.Items[:briefNames]), leftOut(n, "more", "more"))
}

func leftOut(n int, one, many string) document.Tree {
	return document.Tree{Kind: document.String, Text: "(" + Count(n, one, many) + " left out)"}
}
