package recorder

import "github.com/xdsproxy/xdsproxy/internal/session"

// entryCost is what an entry is charged besides its payload: its slot, and
// the small things its pointers lead to.
const entryCost = 512

// spareSlots is how many slots a queue keeps for later while it is empty.
const spareSlots = 16 << 10

// record is a queued entry and what it is charged.
type record struct {
	entry session.Entry
	cost  int64
	large bool
}

// queue is the way from Append to the writer. Charged are the bytes of all
// records that wait or that the writer has taken and not released: limit bounds
// them. One record at a time may be larger than half the limit and is charged
// that half, so that a single message beyond every limit passes without
// crowding out the others. Its user locks it.
type queue struct {
	limit   int64
	charged int64
	large   bool // such a record is in
	waiting []record
	bytes   int64 // charged for what is in waiting
}

func costOf(e *session.Entry) int64 {
	n := int64(entryCost)
	if e.Message != nil {
		n += e.Message.Data.Len()
	}
	return n + costOfFields(e.Headers) + costOfFields(e.Sent)
}

func costOfFields(fields []session.Field) (n int64) {
	for i := range fields {
		n += int64(len(fields[i].Name) + len(fields[i].Value))
	}
	return n
}

// charge returns what a record of this cost is charged, and whether there is
// room for it.
func (q *queue) charge(cost int64) (charged int64, large, room bool) {
	if large = cost > q.limit/2; large {
		cost = q.limit / 2
	}
	return cost, large, q.charged+cost <= q.limit && !(large && q.large)
}

// put adds a record as charge said, or, for the log's own entries, regardless.
func (q *queue) put(e session.Entry, charged int64, large bool) {
	q.charged += charged
	q.bytes += charged
	q.large = q.large || large
	q.waiting = append(q.waiting, record{e, charged, large})
}

// take hands over what waits and keeps spare, which must be empty, to fill
// next.
func (q *queue) take(spare []record) []record {
	batch := q.waiting
	q.waiting, q.bytes = spare, 0
	return batch
}

// release gives back what records were charged.
func (q *queue) release(records []record) {
	for i := range records {
		q.charged -= records[i].cost
		if records[i].large {
			q.large = false
		}
	}
}
