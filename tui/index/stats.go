package index

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// StatSeconds is for how many seconds of the log rates are known.
	StatSeconds = 120
	// maxStatTypes bounds the types that are counted apart; those beyond are
	// counted together.
	maxStatTypes = 48
	// maxBiggest is how many of the biggest messages are remembered.
	maxBiggest = 10
	// maxTalkers is how many clients a Stats has.
	maxTalkers = 10
	// maxSubscriptions bounds the streams and types of which the last response is
	// remembered, to tell what comes again. Those that were quiet for longest go first.
	maxSubscriptions = 1 << 16
)

// Second is what passed in one second of the log: to the server, and to the
// client.
type Second struct {
	Messages [2]uint32
	Bytes    [2]uint64
	Nacks    uint32
}

// Directions of what is counted.
const (
	ToServer = iota
	ToClient
)

// TypeStats is what is counted of one type.
type TypeStats struct {
	Type     string // short; Others for those beyond the bound, "" where it is not known
	Messages [2]uint64
	Bytes    [2]uint64
	Acks     uint64
	Nacks    uint64
	// Again counts responses of the version, the size and the number of
	// resources of the one before on the stream.
	Again  uint64
	Wait   Waits // until an ACK or a NACK
	Recent [StatSeconds]TypeSecond
}

// Others stands for types that are not counted apart.
const Others = "other"

// TypeSecond is how many messages of a type passed in one second.
type TypeSecond [2]uint16

// Talker is a client by what it said and was told.
type Talker struct {
	Client   string
	Messages uint64
	Bytes    uint64
}

// Big is a big message.
type Big struct {
	Row    Row
	Client string
	Type   string
}

// Stats are counts up to one moment. Recent has the last seconds of the log, the
// newest last, and so have the types.
type Stats struct {
	Messages [2]uint64
	Bytes    [2]uint64
	Acks     uint64
	Nacks    uint64
	Again    uint64
	Wait     Waits
	Recent   [StatSeconds]Second
	Types    []TypeStats // the most bytes first
	Talkers  []Talker    // likewise
	Clients  int         // how many have said something
	Biggest  []Big       // the biggest first
	Gaps     uint64
	Missed   uint64 // messages that gaps stand for
	Last     session.Seq
	Long     time.Duration // from the first to the last entry
}

// counter counts what passes, under the lock of the index.
type counter struct {
	total   TypeStats
	types   []*TypeStats // by the word of the type
	shown   []*TypeStats
	others  *TypeStats
	recent  [StatSeconds]Second // by the second modulo its length
	second  int64
	clients []Talker // by the word of the client; without names
	spoke   int
	biggest []big // ascending
	last    recent.Map[subscription, sent]
	missed  uint64
}

type big struct {
	row    Row
	client uint32
}

// subscription is a type on a stream.
type subscription struct {
	place uint32
	typ   uint16
}

// sent is the last response there.
type sent struct {
	version, size uint32
	count         int32
}

func newCounter() *counter { return &counter{} }

// add counts an entry.
func (s *counter) add(x *Index, r *Row, e *session.Entry) {
	s.turn(r.Time / int64(time.Second))
	if e.Gap != nil {
		s.missed += e.Gap.Entries
	}
	if r.Kind != session.KindMessage {
		return
	}
	to := ToServer
	if r.Side == session.Server {
		to = ToClient
	}
	size := uint64(r.Size)
	now := &s.recent[s.second%StatSeconds]
	now.Messages[to]++
	now.Bytes[to] += size
	t := s.of(x, r.typ)
	if n := &t.Recent[s.second%StatSeconds][to]; *n < math.MaxUint16 {
		*n++
	}
	t.Messages[to]++
	t.Bytes[to] += size
	s.total.Messages[to]++
	s.total.Bytes[to] += size
	switch {
	case r.What == ACK:
		t.Acks++
		s.total.Acks++
	case r.What == NACK:
		t.Nacks++
		s.total.Nacks++
		now.Nacks++
	case r.What.Response() && r.version != 0:
		key, is := subscription{r.place, r.typ}, sent{r.version, r.Size, r.Count}
		if was, known := s.last.Get(key); known && was == is {
			t.Again++
			s.total.Again++
		} else {
			s.last.Put(key, is, 1, maxSubscriptions)
		}
	}
	if r.waited != 0 && !r.What.Response() {
		t.Wait.add(r.waited)
		s.total.Wait.add(r.waited)
	}
	s.talker(x, r, size)
	if len(s.biggest) < maxBiggest || r.Size > s.biggest[0].row.Size {
		s.rank(x, r)
	}
}

// turn goes on to a second of the log; what was counted longer ago is cleared.
// Entries that are older than the newest are counted with it.
func (s *counter) turn(to int64) {
	if to <= s.second {
		return
	}
	for at := max(s.second+1, to-StatSeconds+1); at <= to; at++ {
		i := at % StatSeconds
		s.recent[i] = Second{}
		for _, t := range s.shown {
			t.Recent[i] = TypeSecond{}
		}
	}
	s.second = to
}

// of is where a type is counted.
func (s *counter) of(x *Index, typ uint16) *TypeStats {
	if int(typ) < len(s.types) && s.types[typ] != nil {
		return s.types[typ]
	}
	for int(typ) >= len(s.types) {
		s.types = append(s.types, nil)
	}
	t := &TypeStats{Type: x.kinds.list[typ]}
	if len(s.shown) >= maxStatTypes {
		if s.others == nil {
			s.others = &TypeStats{Type: Others}
			s.shown = append(s.shown, s.others)
		}
		t = s.others
	} else {
		s.shown = append(s.shown, t)
	}
	s.types[typ] = t
	return t
}

// talker counts for the client. There are as many counts as words, of which the
// index keeps each anyhow.
func (s *counter) talker(x *Index, r *Row, size uint64) {
	c := x.clientID(r)
	if int(c) >= len(s.clients) {
		s.clients = append(s.clients, make([]Talker, int(c)+1-len(s.clients))...)
	}
	t := &s.clients[c]
	if t.Messages == 0 && c != 0 {
		s.spoke++
	}
	t.Messages++
	t.Bytes += size
}

// rank enters one of the biggest messages.
func (s *counter) rank(x *Index, r *Row) {
	b := big{*r, x.clientID(r)}
	if len(s.biggest) == maxBiggest {
		s.biggest = s.biggest[1:]
	}
	at, _ := slices.BinarySearchFunc(s.biggest, r.Size, func(b big, size uint32) int {
		if b.row.Size < size {
			return -1
		}
		return 1 // before equal ones: of those, the first to come is the bigger
	})
	s.biggest = slices.Insert(s.biggest, at, b)
}

// Stats are the counts as they are now.
func (x *Index) Stats() *Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.stats
	out := &Stats{
		Messages: s.total.Messages, Bytes: s.total.Bytes, Acks: s.total.Acks, Nacks: s.total.Nacks, Again: s.total.Again,
		Wait: s.total.Wait, Clients: s.spoke, Gaps: x.gaps, Missed: s.missed, Last: x.last, Long: time.Duration(x.at - x.first),
	}
	at := s.second % StatSeconds
	unroll(out.Recent[:], s.recent[:], at)
	for _, t := range s.shown {
		one := *t
		unroll(one.Recent[:], t.Recent[:], at)
		out.Types = append(out.Types, one)
	}
	slices.SortFunc(out.Types, func(a, b TypeStats) int {
		if a.total() != b.total() {
			return sign(a.total() < b.total())
		}
		return strings.Compare(a.Type, b.Type)
	})
	for i, t := range s.clients {
		if n := len(out.Talkers); t.Messages == 0 || i == 0 || n == maxTalkers && t.Bytes <= out.Talkers[n-1].Bytes {
			continue
		}
		t.Client = x.words.list[i]
		if len(out.Talkers) == maxTalkers {
			out.Talkers = out.Talkers[:maxTalkers-1]
		}
		where := len(out.Talkers)
		for where > 0 && out.Talkers[where-1].Bytes < t.Bytes {
			where--
		}
		out.Talkers = slices.Insert(out.Talkers, where, t)
	}
	for _, b := range slices.Backward(s.biggest) {
		out.Biggest = append(out.Biggest, Big{b.row, x.words.list[b.client], x.kinds.list[b.row.typ]})
	}
	return out
}

func (t *TypeStats) total() uint64 { return t.Bytes[ToServer] + t.Bytes[ToClient] }

func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}

// unroll copies a ring whose newest element is at, the oldest first.
func unroll[T any](dst, ring []T, at int64) {
	n := copy(dst, ring[at+1:])
	copy(dst[n:], ring[:at+1])
}
