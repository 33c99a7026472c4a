package queue

import "github.com/xdsproxy/xdsproxy/session"

// EntryCost is what an entry is charged besides its payload: its slot, and
// the small things its pointers lead to.
const EntryCost = 512

// fieldCost is what a header field is charged besides its texts: its slot.
const fieldCost = 40

// SpareSlots is how many slots a queue keeps for later while it is empty.
const SpareSlots = 16 << 10

// Record is a queued entry and what it is charged.
type Record struct {
	Entry session.Entry
	cost  int64
	large bool
}

// Queue is the way from Append to the writer. Charged are the bytes of all
// records that wait or that the writer has taken and not released: limit bounds
// them. One record at a time may be larger than half the limit and is charged
// that half, so that a single message beyond every limit passes without
// crowding out the others. Its user locks it.
//
// No connection may hold more than twice what is left free when it adds to it. So
// one that floods gets two thirds of the queue, n of them share all but one part
// in 2n+1, and who holds little finds room in what is left.
type Queue struct {
	Limit   int64
	Charged int64
	held    map[session.ConnID]int64 // of that, by whom; what is of no connection has 0 for one
	large   bool                     // such a record is in
	Waiting []Record
	Bytes   int64 // charged for what is in waiting
}

// New is an empty queue of so many bytes.
func New(limit int64) Queue {
	return Queue{Limit: limit, held: make(map[session.ConnID]int64)}
}

// CostOf is what an entry holds of memory, with all that a peer may make large.
func CostOf(e *session.Entry) int64 {
	n := int64(EntryCost)
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

// Charge returns what a record of this cost is charged, and whether there is
// room for it. What is of no connection may go a little beyond the limit: nobody
// from outside makes much of it.
func (q *Queue) Charge(conn session.ConnID, cost int64) (charged int64, large, room bool) {
	if large = cost > q.Limit/2; large {
		cost = q.Limit / 2
	}
	switch {
	case large && q.large:
	case conn == 0:
		room = cost-q.Limit/16 <= q.Limit-q.Charged
	default:
		room = q.Fair(conn, cost)
	}
	return cost, large, room
}

// Fair says whether there is room that a connection may take. While little is
// charged at all it need not be known by whom.
func (q *Queue) Fair(conn session.ConnID, cost int64) bool {
	free := q.Limit - q.Charged - cost
	return free >= 0 && (q.Charged/2 <= free || q.held[conn]/2 <= free)
}

// Put adds a record as charge said, or, for the log's own entries, regardless.
func (q *Queue) Put(e session.Entry, charged int64, large bool) {
	q.Charged += charged
	q.Bytes += charged
	q.held[e.Conn] += charged
	q.large = q.large || large
	q.Waiting = append(q.Waiting, Record{e, charged, large})
}

// Take hands over what waits and keeps spare, which must be empty, to fill
// next.
func (q *Queue) Take(spare []Record) []Record {
	batch := q.Waiting
	q.Waiting, q.Bytes = spare, 0
	return batch
}

// Release gives back what records were charged.
func (q *Queue) Release(records []Record) {
	for i := 0; i < len(records); {
		conn, sum := records[i].Entry.Conn, int64(0)
		for ; i < len(records) && records[i].Entry.Conn == conn; i++ {
			sum += records[i].cost
			if records[i].large {
				q.large = false
			}
		}
		q.Charged -= sum
		if left := q.held[conn] - sum; left > 0 {
			q.held[conn] = left
		} else {
			delete(q.held, conn)
		}
	}
}
