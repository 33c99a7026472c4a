package index

import (
	"github.com/xdsproxy/xdsproxy/internal/session"
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

// ResponsesBefore are the responses of the type of an entry that came before
// it, the latest first: those on its stream, then those that its client got on
// others. There are at most so many of each.
func (x *Index) ResponsesBefore(seq session.Seq, most int) (here, elsewhere []Row) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := x.find(seq)
	if i == x.n {
		return nil, nil
	}
	of := x.row(i)
	client := x.clientID(of)
	for j, n := i-1, 0; j >= 0 && n < maxWalk && len(here) < most; j, n = j-1, n+1 {
		switch r := x.row(j); {
		case r.typ != of.typ || !r.What.Response():
		case r.place == of.place:
			here = append(here, *r)
		case client != 0 && len(elsewhere) < most && x.clientID(r) == client:
			elsewhere = append(elsewhere, *r)
		}
	}
	return here, elsewhere
}

func (x *Index) clientID(r *Row) uint32 {
	if r.client != 0 {
		return r.client
	}
	return x.places.clientAt(r.place)
}

// RequestBefore is the request of the same type before an entry, on its stream;
// 0 if there is none near.
func (x *Index) RequestBefore(seq session.Seq) session.Seq {
	before, _ := x.requestBefore(seq)
	return before
}

// LastResponse is the last response of a type that a client got, or, if there
// is one, the last that it rejected without having accepted another since. No
// type stands for all. It is 0 if there was none.
func (x *Index) LastResponse(client, typ string) session.Seq {
	x.mu.RLock()
	id, known := x.words.ids[client]
	t, typed := x.words.ids[typ]
	var last Row
	for j, n := x.n-1, 0; j >= 0 && n < maxWalk && known && typed; j, n = j-1, n+1 {
		r := x.row(j)
		if !r.What.Response() || x.clientID(r) != id || typ != "" && uint32(r.typ) != t {
			continue
		}
		if last.Seq == 0 {
			last = *r
		}
		if r.partner == 0 {
			continue
		}
		if k := x.find(r.Partner()); k < x.n && x.row(k).What == NACK {
			last = *r
			break
		}
		if typ != "" {
			break // what was accepted
		}
	}
	x.mu.RUnlock()
	return last.Seq
}

// Connection is the entry that began the connection of an entry, 0 if it is not
// there.
func (x *Index) Connection(seq session.Seq) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := x.find(seq)
	if i == x.n {
		return 0
	}
	conn := x.places.all[x.row(i).place].conn
	for j, n := i, 0; j >= 0 && n < maxWalk && conn != 0; j, n = j-1, n+1 {
		if r := x.row(j); r.Kind == session.KindConnect && x.places.all[r.place].conn == conn {
			return r.Seq
		}
	}
	return 0
}

// FirstRequest is the first request on the stream of an entry, 0 if it is not
// there: the one that names the client.
func (x *Index) FirstRequest(seq session.Seq) (first session.Seq) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := x.find(seq)
	if i == x.n {
		return 0
	}
	of := x.row(i)
	for j, n := i, 0; j >= 0 && n < maxWalk; j, n = j-1, n+1 {
		r := x.row(j)
		if r.place != of.place {
			continue
		}
		if r.Kind == session.KindOpen {
			break
		}
		if r.Kind == session.KindMessage && r.Side == session.Client {
			first = r.Seq
		}
	}
	return first
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
