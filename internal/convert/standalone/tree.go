package standalone

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

func text(s string) document.Tree { return document.Tree{Kind: document.String, Text: s} }

func object(members ...member) document.Tree { return document.Tree{Members: members} }

func list(items ...document.Tree) document.Tree {
	return document.Tree{Kind: document.Array, Items: items}
}

// word is a member that is text, "" if there is none.
func word(t *document.Tree, name string) string {
	if v, is := t.Get(name); is && v.Kind == document.String {
		return v.Text
	}
	return ""
}

// down is a member of a member, an empty object where there is none.
func down(t *document.Tree, names ...string) *document.Tree {
	for _, n := range names {
		v, is := t.Get(n)
		if !is {
			return &document.Tree{}
		}
		t = v
	}
	return t
}

func has(t *document.Tree, name string) bool {
	_, is := t.Get(name)
	return is
}

func without(all []member, names ...string) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return slices.Contains(names, m.Name) })
}

// set puts a member in the place of another, or at the end.
func set(t *document.Tree, old, name string, value document.Tree) {
	for i := range t.Members {
		if t.Members[i].Name == old {
			t.Members[i] = member{Name: name, Value: value}
			return
		}
	}
	t.Members = append(t.Members, member{Name: name, Value: value})
}

func clone(t document.Tree) document.Tree {
	t.Members, t.Items = slices.Clone(t.Members), slices.Clone(t.Items)
	for i := range t.Members {
		t.Members[i].Value = clone(t.Members[i].Value)
	}
	for i := range t.Items {
		t.Items[i] = clone(t.Items[i])
	}
	return t
}

func count(n int) string {
	if n == 1 {
		return "1 resource"
	}
	return fmt.Sprintf("%d resources", n)
}

// some are the first of many names.
func some(names []string) string {
	const most = 5
	out := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		out += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return out
}
