package capture

import (
	"bufio"
	"container/list"
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxConns is how many connections are followed at once; of more, those that
	// were silent longest are given up.
	maxConns = 1 << 14
	// maxWaiting is how many bytes wait for others, of all connections.
	maxWaiting = 64 << 20
	// maxHeld is how many bytes of entries are held until it is known what they are
	// of.
	maxHeld = 64 << 20
	// maxUnder is the budget of the messages that are put together.
	maxUnder = 256 << 20
)

// Result is what was read.
type Result struct {
	Entries, Messages uint64
	Packets           uint64
	Connections       uint64 // with xDS
	OtherConnections  uint64 // without, in which something was said
	TLS               uint64 // of which nothing can be read, beside the others
	Streams           uint64 // of xDS
	OtherStreams      uint64 // of something else, on connections with xDS
	UnknownStreams    uint64 // neither headers nor messages tell what they are
	Midway            uint64 // connections with xDS that had begun before
	Headless          uint64 // streams of xDS whose beginning was not seen
	Gaps              uint64 // places where packets of a connection with xDS are missing
	Missing           uint64 // bytes in them
	GivenUp           uint64 // connections with xDS that were silent when others needed the room
	Cut               uint64 // packets of TCP of which the end was not captured
	Fragments         uint64 // of IP packets: these are not put together
	UnknownLinks      uint64 // packets of a link type that is not known
	Torn              bool   // the file ends within a packet
}

// Read gives the entries of all connections with xDS, in the order of the packets.
// Beside them it says how much of the file was read. It ends at the first error of
// emit, or when the file ends or cannot be read any further.
func Read(in *bufio.Reader, emit func(*session.Entry) error) (Result, error) {
	f, err := openFile(in)
	if err != nil {
		return Result{}, err
	}
	r := &reader{
		emit: emit, conns: make(map[ends]*conn), holes: make(map[*conn]struct{}), memory: wire.NewMemory(maxUnder),
	}
	var u unread
	for r.err == nil {
		data, of, link, err := f.next()
		if err != nil {
			r.done.Torn = errors.Is(err, io.ErrUnexpectedEOF)
			if !r.done.Torn && !errors.Is(err, io.EOF) {
				r.err = err
			}
			break
		}
		r.done.Packets++
		r.tick(of.Timestamp)
		if s, ok := u.segmentOf(data, link, of); ok {
			r.take(s)
		}
	}
	err = r.err
	if _, damaged := errors.AsType[*FormatError](err); damaged {
		r.err = nil // what was read counts
	}
	for e := r.idle.Front(); e != nil && r.err == nil; e = e.Next() {
		e.Value.(*conn).finish(nobody, "")
	}
	r.tellGap()
	r.done.Cut, r.done.Fragments, r.done.UnknownLinks = u.Cut, u.Fragments, u.Links
	if err == nil {
		err = r.err
	}
	return r.done, err
}

// reader reads a capture.
type reader struct {
	emit   func(*session.Entry) error
	err    error // of emit
	now    time.Time
	conns  map[ends]*conn
	idle   list.List // of them, the one that was silent longest first
	memory *wire.Memory
	// waiting is how many bytes wait for others in all flows.
	waiting int
	holes   map[*conn]struct{} // those of which bytes are missing
	swept   time.Time
	gap     *queued // what came last, if that was a gap
	queue   []queued
	held    int64     // bytes of entries in it, and of those that views have seen
	last    time.Time // of the last entry
	conn    session.ConnID
	stream  session.StreamID
	done    Result
}

// ends are the two of a connection, the lesser first.
type ends [2]netip.AddrPort

func (s *segment) ends() (of ends, from int) {
	if s.to.Compare(s.from) < 0 {
		return ends{s.to, s.from}, 1
	}
	return ends{s.from, s.to}, 0
}

// tick sets the time. It does not run backwards, and no packet is of another time.
func (r *reader) tick(at time.Time) {
	if y := at.Year(); y >= 1970 && y <= 2200 && at.After(r.now) {
		r.now = at.UTC()
	}
	if len(r.holes) > 0 && r.now.Sub(r.swept) > maxAcked {
		r.swept = r.now
		for c := range r.holes {
			c.advance()
		}
	}
}

// take takes the next segment.
func (r *reader) take(s segment) {
	of, from := s.ends()
	c := r.conns[of]
	if c != nil && c.again(from, &s) {
		r.forget(c)
		c = nil
	}
	switch {
	case c != nil && c.over:
		return
	case c == nil:
		if s.rst || !s.syn && len(s.data) == 0 {
			return // what is over
		}
		c = r.begin(of)
	}
	r.idle.MoveToBack(c.place)
	c.take(from, &s)
}

func (r *reader) begin(of ends) *conn {
	if len(r.conns) >= maxConns {
		oldest := r.idle.Front().Value.(*conn)
		if oldest.kept && !oldest.over {
			r.done.GivenUp++
		}
		r.forget(oldest)
	}
	c := &conn{r: r, ends: of, client: nobody}
	c.place = r.idle.PushBack(c)
	r.conns[of] = c
	c.append(session.Entry{Time: r.now, Side: session.Client, Kind: session.KindConnect})
	return c
}

// forget ends a connection whose room or ports another one needs.
func (r *reader) forget(c *conn) {
	c.finish(nobody, "")
	r.idle.Remove(c.place)
	delete(r.conns, c.ends)
}
