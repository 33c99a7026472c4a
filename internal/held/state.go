package held

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxState bounds the message of one entry, in bytes.
const maxState = 32 << 20

// Entries are what a dump says that its client holds, as entries without a number. It is
// one, or several where it would be too long. whole says that the dump was read to its
// end.
func Entries(d *configdump.Dump, address string, at time.Time, whole bool) ([]session.Entry, error) {
	a, err := fromDump(d)
	if err != nil {
		return nil, err
	}
	return a.entries(d.By, address, at, whole, maxState), nil
}

// entries are as long as most, unless one item is longer.
func (a *answer) entries(by configdump.Teller, address string, at time.Time, whole bool, most int) (out []session.Entry) {
	source := session.HeldAdmin
	if by == configdump.ByCSDS {
		source = session.HeldCSDS
	}
	items, _ := new(told).changes(a, true)
	for len(out) == 0 || len(items) > 0 {
		n, size := 0, 0
		for n < len(items) && (n == 0 || size+len(items[n]) <= most) {
			size += len(items[n])
			n++
		}
		data := response(a.node, items[:n])
		items = items[n:]
		size = len(data)
		out = append(out, session.Entry{
			Kind: session.KindHeld, Side: session.Client, Time: at,
			Held:    &session.Held{Node: a.id, Source: source, Address: address, Whole: whole && len(out) == 0},
			Message: &session.Message{Data: session.Chunks{data}, Size: int64(size), WireSize: int64(size)},
		})
	}
	return out
}
