package index

import (
	"hash/maphash"
	"slices"
	"sort"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// carried are the names that each response told something of, as hashes, so that
// the response which brought a resource is found without reading any. Responses
// that have all there is of a type need no names. Equal lists are one, whoever
// they were sent to; the oldest responses are let go when it gets too much.
type carried struct {
	seed  maphash.Seed
	all   []carrier // oldest first
	lists map[uint64]*nameList
	bytes int
	most  int         // bytes
	let   session.Seq // the newest response that was let go; 0: none was
	names []uint64    // room for those of a response
}

type carrier struct {
	seq  session.Seq
	list *nameList
}

// nameList is a set of names. But for its users it never changes.
type nameList struct {
	sum   uint64 // over names
	names []uint64
	users int
}

const (
	// maxCarried bounds the bytes of all lists.
	maxCarried   = 24 << 20
	carrierBytes = 16
	listBytes    = 96 // without names
	// maxKept is for how many names room is kept from one response to the next.
	maxKept = 1 << 14
)

func newCarried() carried {
	return carried{seed: maphash.MakeSeed(), lists: make(map[uint64]*nameList), most: maxCarried}
}

// hash is that of a name in the form in which names are compared.
func (c *carried) hash(name string) uint64 { return maphash.String(c.seed, decode.NormalName(name)) }

// whole says whether a response has all there is of its type.
func whole(m *decode.Message, typ string) bool {
	return m.Kind == decode.SotwResponse && xds.ByShort(typ).Whole
}

// pulse says whether a response only prolongs what there is.
func pulse(m *decode.Message) bool {
	return len(m.Resources) > 0 && len(m.Removed) == 0 &&
		!slices.ContainsFunc(m.Resources, func(r decode.Resource) bool { return !r.Empty })
}

// add enters a response.
func (c *carried) add(seq session.Seq, of *check.Change) {
	m := of.Message
	if whole(m, of.Type) {
		return
	}
	names := c.names[:0]
	for i := range m.Resources {
		if r := &m.Resources[i]; !r.Empty {
			names = append(names, c.hash(r.Name))
		}
	}
	for _, n := range m.Removed {
		names = append(names, c.hash(n))
	}
	c.names = names
	if cap(names) > maxKept {
		c.names = nil
	}
	if len(names) == 0 {
		return
	}
	sum := uint64(len(names))
	for _, n := range names {
		sum += n * 0x9e3779b97f4a7c15
	}
	list := c.lists[sum]
	if list == nil {
		list = &nameList{sum: sum, names: slices.Clone(names)}
		slices.Sort(list.names)
		c.lists[sum] = list
		c.bytes += listBytes + 8*len(names)
	}
	list.users++
	c.all = append(c.all, carrier{seq, list})
	c.bytes += carrierBytes
	for c.bytes > c.most {
		c.forget()
	}
}

// forget lets go of the oldest response.
func (c *carried) forget() {
	old := c.all[0]
	c.all[0].list, c.all, c.let = nil, c.all[1:], old.seq
	c.bytes -= carrierBytes
	if old.list.users--; old.list.users == 0 {
		delete(c.lists, old.list.sum)
		c.bytes -= listBytes + 8*len(old.list.names)
	}
}

// carries gives the names of a response, nil if it has none. It is false where
// they were let go.
func (x *Index) carries(seq session.Seq) (*nameList, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := x.carried.all
	if i := sort.Search(len(all), func(i int) bool { return all[i].seq >= seq }); i < len(all) && all[i].seq == seq {
		return all[i].list, true
	}
	return nil, seq > x.carried.let
}

func (l *nameList) has(name uint64) bool {
	if l == nil {
		return false
	}
	_, is := slices.BinarySearch(l.names, name)
	return is
}
