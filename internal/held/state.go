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
	source := session.HeldAdmin
	if d.By == configdump.ByCSDS {
		source = session.HeldCSDS
	}
	items, _ := new(told).changes(a, true)
	var out []session.Entry
	for len(out) == 0 || len(items) > 0 {
		n, size := 0, 0
		for n < len(items) && (n == 0 || size+len(items[n]) <= maxState) {
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
	return out, nil
}
