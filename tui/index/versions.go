package index

import (
	"github.com/xdsproxy/xdsproxy/session"
)

// Verdict is what a client said of a response: ACK or NACK, Nothing if it has
// not answered.
func (x *Index) Verdict(r *Row) What {
	if !r.What.Response() || r.partner == 0 {
		return Nothing
	}
	answer, ok := x.BySeq(r.Partner())
	switch {
	case !ok:
		return Nothing
	case answer.What == NACK || answer.Also(NACK):
		return NACK
	}
	return ACK
}

// Version is the response before or after an entry that is of the same type and
// on the same stream; 0 if there is none near.
func (x *Index) Version(seq session.Seq, forward bool) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := x.find(seq)
	if i == x.n {
		return 0
	}
	of, step := x.row(i), -1
	if forward {
		step = 1
	}
	for j, n := i+step, 0; j >= 0 && j < x.n && n < maxWalk; j, n = j+step, n+1 {
		if r := x.row(j); r.What.Response() && r.place == of.place && r.typ == of.typ {
			return r.Seq
		}
	}
	return 0
}

// RequestBefore is the request of the same type before an entry, on its stream;
// 0 if there is none near.
func (x *Index) RequestBefore(seq session.Seq) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := x.find(seq)
	if i == x.n {
		return 0
	}
	of := x.row(i)
	for j := i - 1; j >= max(0, i-lookBack); j-- {
		if r := x.row(j); r.place == of.place && r.typ == of.typ && r.What.Request() {
			return r.Seq
		}
	}
	return 0
}

// Connection is the entry that began the connection of an entry, 0 if it is not
// there.
func (x *Index) Connection(seq session.Seq) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i := x.find(seq); i < x.n {
		return x.places.all[x.places.conns[x.places.all[x.row(i).place].conn]].begun
	}
	return 0
}

// FirstRequest is the first request on the stream of an entry, 0 if it is not
// there: the one that names the client.
func (x *Index) FirstRequest(seq session.Seq) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i := x.find(seq); i < x.n && x.places.all[x.row(i).place].stream != 0 {
		return x.places.all[x.row(i).place].begun
	}
	return 0
}

// Conversation are the rows of the stream of an entry, or of a whole client
// where one is named, around a place in the log: at most so many before and
// after it. earlier and later say that there are more.
func (x *Index) Conversation(seq session.Seq, client string, around session.Seq, before, after int) (rows []Row, earlier, later bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.n == 0 {
		return nil, false, false
	}
	of := x.row(min(x.find(seq), x.n-1))
	i := min(x.find(around), x.n-1)
	id, byClient := x.words.ids[client]
	byClient = byClient && client != ""
	place := &x.places.all[of.place]
	in := func(r *Row) bool {
		if byClient {
			return x.clientID(r) == id
		}
		// What is about all of a connection belongs to each of its streams.
		p := &x.places.all[r.place]
		return r.place == of.place || p.conn == place.conn && p.conn != 0 && (p.stream == 0 || place.stream == 0)
	}
	var back []Row
	for j, n := i-1, 0; j >= 0 && n < maxWalk; j, n = j-1, n+1 {
		if r := x.row(j); in(r) {
			if len(back) == before {
				earlier = true
				break
			}
			back = append(back, *r)
		}
	}
	for j := len(back) - 1; j >= 0; j-- {
		rows = append(rows, back[j])
	}
	for j, n := i, 0; j < x.n && n < maxWalk; j, n = j+1, n+1 {
		if r := x.row(j); in(r) {
			if len(rows)-len(back) == after {
				later = true
				break
			}
			rows = append(rows, *r)
		}
	}
	return rows, earlier, later
}

// Client is the node id of a row's client, "" if it never named itself.
func (x *Index) Client(r *Row) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.clientOf(r)
}
