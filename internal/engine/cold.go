package engine

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// cold is an inventory of a stream that has ended. What is in it cannot change
// any more. The contents are those that open streams have, too; as long as an
// ended one has them they are charged, each once.
type cold struct {
	shared
	list []coldItem // by name
}

type coldItem struct {
	name, version string
	stamp         uint64
	seq           session.Seq
	content       *Content // nil where only the name and version are known
}

// chill makes an inventory cold.
func (k *Engine) chill(v *inventory) *cold {
	c := &cold{list: make([]coldItem, 0, v.Len())}
	c.bytes = 128
	for _, it := range v.All() {
		c.list = append(c.list, coldItem{it.Name, it.Version, it.Stamp, it.Seq, it.Content})
		c.bytes += int64(96 + len(it.Name) + len(it.Version)/2)
	}
	slices.SortFunc(c.list, func(a, b coldItem) int { return strings.Compare(a.name, b.name) })
	return c
}

func (k *Engine) holdCold(c *cold) {
	if k.past.hold(&c.shared); c.refs > 1 {
		return
	}
	for i := range c.list {
		if of := c.list[i].content; of != nil {
			of.kept.bytes = of.bytes()
			k.past.hold(&of.kept)
		}
	}
}

func (k *Engine) releaseCold(c *cold) {
	if k.past.release(&c.shared); c.refs > 0 {
		return
	}
	for i := range c.list {
		if of := c.list[i].content; of != nil {
			k.past.release(&of.kept)
		}
	}
}

func (c *cold) get(name string) *Resource {
	i, found := slices.BinarySearchFunc(c.list, name, func(it coldItem, name string) int { return strings.Compare(it.name, name) })
	if !found {
		return nil
	}
	return c.list[i].resource()
}

func (c *coldItem) resource() *Resource {
	return &Resource{Name: c.name, Version: c.version, Stamp: c.stamp, Seq: c.seq, Content: c.content}
}
