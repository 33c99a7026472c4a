package blocks

import (
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// contents knows what was stored in the current epoch, by two hashes with keys
// that are made per epoch and never leave it, 128 bits in all. It keeps no
// content itself.
type contents struct {
	seeds  [2]maphash.Seed
	Sums   [][2]uint64 // by content id
	masked []bool      // by content id: not stored as it came
	Bytes  int64       // of content
	Full   bool        // something found no room
	// slots is a hash table with linear probing of ids, each plus one; its
	// length is a power of two, at most half of which is used.
	slots []uint32
	// guess is the id that comes next if a message repeats an earlier one.
	guess int
	// lately has those of the latest messages by where they are in memory.
	lately lately
}

const (
	minSlots = 1 << 10
	// keepSlots is how large a table is kept for the next epoch.
	keepSlots = 1 << 18
)

// reset begins a new epoch. A large table goes to the garbage collector: the
// next epoch may be small.
func (c *contents) reset() {
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	if c.slots == nil || len(c.slots) > keepSlots {
		*c = contents{seeds: seeds, slots: make([]uint32, minSlots)}
		return
	}
	clear(c.slots)
	*c = contents{seeds: seeds, Sums: c.Sums[:0], masked: c.masked[:0], slots: c.slots}
}

// find returns the hashes of a chunk and its id, none if it is not known.
func (c *contents) find(chunk []byte) (sum [2]uint64, id int) {
	sum = [2]uint64{maphash.Bytes(c.seeds[0], chunk), maphash.Bytes(c.seeds[1], chunk)}
	if c.guess < len(c.Sums) && c.Sums[c.guess] == sum {
		id = c.guess
		c.guess++
		return sum, id
	}
	mask := uint64(len(c.slots) - 1)
	for at := sum[0] & mask; c.slots[at] != 0; at = (at + 1) & mask {
		if id = int(c.slots[at] - 1); c.Sums[id] == sum {
			c.guess = id + 1
			return sum, id
		}
	}
	c.guess++ // one that changed stands where the old one stood
	return sum, none
}

// room says whether n more bytes can be defined in this epoch.
func (c *contents) room(n int) bool {
	fits := len(c.Sums) < format.MaxContents && c.Bytes+int64(n) <= format.EpochBytes
	c.Full = c.Full || !fits
	return fits
}

// add gives the next id to a chunk that is not known.
func (c *contents) add(sum [2]uint64, n int, masked bool) {
	c.Sums, c.masked = append(c.Sums, sum), append(c.masked, masked)
	c.Bytes += int64(n)
	if 2*len(c.Sums) > len(c.slots) {
		c.rehash(2 * len(c.slots))
		return
	}
	c.put(len(c.Sums) - 1)
}

func (c *contents) put(id int) {
	mask := uint64(len(c.slots) - 1)
	at := c.Sums[id][0] & mask
	for c.slots[at] != 0 {
		at = (at + 1) & mask
	}
	c.slots[at] = uint32(id + 1)
}

func (c *contents) rehash(n int) {
	c.slots = make([]uint32, n)
	for id := range c.Sums {
		c.put(id)
	}
}

// forget takes back all ids from n on, which were of so many bytes.
func (c *contents) forget(n int, bytes int64) {
	c.Sums, c.masked = c.Sums[:n], c.masked[:n]
	c.Bytes -= bytes
	c.rehash(len(c.slots))
}
