package recorder

import "github.com/xdsproxy/xdsproxy/internal/session"

// entryCost is what an entry is charged besides its payload: its slot, and
// the small things its pointers lead to.
const entryCost = 512

// fieldCost is what a header field is charged besides its texts: its slot.
const fieldCost = 40

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
//
// No connection may hold more than twice what is left free when it adds to it. So
// one that floods gets two thirds of the queue, n of them share all but one part
// in 2n+1, and who holds little finds room in what is left.
type queue struct {
	limit   int64
	charged int64
	held    map[session.ConnID]int64 // of that, by whom; what is of no connection has 0 for one
	large   bool                     // such a record is in
	waiting []record
	bytes   int64 // charged for what is in waiting
}

// costOf is what an entry holds of memory, with all that a peer may make large.
func costOf(e *session.Entry) int64 {
	n := int64(entryCost)
	if e.Message != nil {
		n += e.Message.Data.Len()
	}
	if e.Status != nil {
		n += int64(len(e.Status.Message))
	}
	if e.GoAway != nil {
		n += int64(len(e.GoAway.Debug))
	}
	if e.Gap != nil {
		n += int64(8 * len(e.Gap.Streams))
	}
	return n + costOfFields(e.Headers) + costOfFields(e.Sent)
}

func costOfFields(fields []session.Field) int64 {
	n := len(fields) * fieldCost
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value)
	}
	return int64(n)
}

// charge returns what a record of this cost is charged, and whether there is
// room for it. What is of no connection may go a little beyond the limit: nobody
// from outside makes much of it.
func (q *queue) charge(conn session.ConnID, cost int64) (charged int64, large, room bool) {
	if large = cost > q.limit/2; large {
		cost = q.limit / 2
	}
	switch {
	case large && q.large:
	case conn == 0:
		room = cost-q.limit/16 <= q.limit-q.charged
	default:
		room = q.fair(conn, cost)
	}
	return cost, large, room
}

// fair says whether there is room that a connection may take. While little is
// charged at all it need not be known by whom.
func (q *queue) fair(conn session.ConnID, cost int64) bool {
	free := q.limit - q.charged - cost
	return free >= 0 && (q.charged/2 <= free || q.held[conn]/2 <= free)
}

// put adds a record as charge said, or, for the log's own entries, regardless.
func (q *queue) put(e session.Entry, charged int64, large bool) {
	q.charged += charged
	q.bytes += charged
	q.held[e.Conn] += charged
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
	for i := 0; i < len(records); {
		conn, sum := records[i].entry.Conn, int64(0)
		for ; i < len(records) && records[i].entry.Conn == conn; i++ {
			sum += records[i].cost
			if records[i].large {
				q.large = false
			}
		}
		q.charged -= sum
		if left := q.held[conn] - sum; left > 0 {
			q.held[conn] = left
		} else {
			delete(q.held, conn)
		}
	}
}
