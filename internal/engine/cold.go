package engine

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// cold is an inventory of a stream that has ended: names, versions, and hashes
// of contents. What is in it cannot change any more. Contents that other streams
// have are found again, of others it is only known whether they are the same.
type cold struct {
	shared
	list     []coldItem // by name
	contents *contents
}

type coldItem struct {
	name, version string
	stamp         uint64
	seq           session.Seq
	raw           [2]uint64
	hash          [16]byte
	known         bool // the content is
}

// chill makes an inventory cold.
func (k *Engine) chill(v *inventory) *cold {
	c := &cold{list: make([]coldItem, 0, v.Len()), contents: &k.Contents}
	c.bytes = 128
	for _, it := range v.All() {
		c.list = append(c.list, coldOf(it))
		c.bytes += int64(96 + len(it.Name) + len(it.Version)/2)
	}
	slices.SortFunc(c.list, func(a, b coldItem) int { return strings.Compare(a.name, b.name) })
	return c
}

func coldOf(it *Resource) coldItem {
	c := coldItem{name: it.Name, version: it.Version, stamp: it.Stamp, seq: it.Seq}
	if it.Content != nil {
		c.known, c.raw, c.hash = true, it.Content.raw, it.Content.Facts.Hash
	}
	return c
}

func (c *cold) get(name string) *Resource {
	i, found := slices.BinarySearchFunc(c.list, name, func(it coldItem, name string) int { return strings.Compare(it.name, name) })
	if !found {
		return nil
	}
	return c.list[i].resource(c.contents)
}

func (c *coldItem) resource(from *contents) *Resource {
	it := &Resource{Name: c.name, Version: c.version, Stamp: c.stamp, Seq: c.seq}
	if c.known {
		it.Content = from.again(c.raw, c.hash)
	}
	return it
}
