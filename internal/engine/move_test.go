package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// A response that comes in the chunks of a recording is known by where they are,
// and what it changes by what it changed of another client. Both must say what
// the message as a whole says when it is read alone.
func TestSharedIsAsOneByOne(t *testing.T) {
	const seeds = 25
	moves := 0
	for seed := range seeds {
		f := &fleetTest{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 14)), chunks: map[string][]byte{}}
		f.shared, f.alone = New(Options{}), New(Options{})
		f.alone.Contents.Seeds = f.shared.Contents.Seeds
		f.play()
		moves += f.moved
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if moves < 10*seeds {
		t.Errorf("only %d responses were known from another client", moves)
	}
}

// fleetTest is a server that pushes to clients of all kinds.
type fleetTest struct {
	t             *testing.T
	rng           *rand.Rand
	shared, alone *Engine
	seq           session.Seq
	stream        session.StreamID
	clients       []*fleetClient
	chunks        map[string][]byte // each distinct resource is in one place
	content       [2]map[string]int // by type: what each name is now
	version       int
	moved         int
}

type fleetClient struct {
	stream session.StreamID
	delta  bool
	nonce  [2]string // of the last response, by type
	sent   [2]string // its version
}

var fleetTypes = [2]string{typeURLs["CDS"], typeURLs["EDS"]}

func fleetName(i int) string {
	return fmt.Sprintf("outbound|8080||service-%02d-of-a-name-that-is-long-enough.shop.svc.cluster.local", i)
}

func (f *fleetTest) play() {
	f.content = [2]map[string]int{{}, {}}
	for typ := range fleetTypes {
		for i := range 8 {
			f.content[typ][fleetName(i)] = 1
		}
	}
	for range 3 + f.rng.IntN(6) {
		f.connect(&fleetClient{delta: f.rng.IntN(2) == 0})
	}
	for range 60 {
		switch f.rng.IntN(12) {
		case 0: // a client comes back
			c := f.clients[f.rng.IntN(len(f.clients))]
			f.step(session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: c.stream, Status: &session.Status{}})
			f.clients = slices.DeleteFunc(f.clients, func(o *fleetClient) bool { return o == c })
			f.connect(&fleetClient{delta: c.delta != (f.rng.IntN(8) == 0)})
		case 1:
			f.subscribe(f.clients[f.rng.IntN(len(f.clients))], 1, f.some(1+f.rng.IntN(8)))
		default:
			f.push()
		}
		if f.t.Failed() {
			return
		}
	}
}

func (f *fleetTest) some(n int) (names []string) {
	for _, i := range f.rng.Perm(10)[:n] {
		names = append(names, fleetName(i))
	}
	return names
}

func (f *fleetTest) connect(c *fleetClient) {
	f.stream++
	c.stream = f.stream
	f.clients = append(f.clients, c)
	method := adsMethod
	if c.delta {
		method = deltaMethod
	}
	f.step(session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: c.stream, Method: method})
	f.subscribe(c, 0, nil)
	f.subscribe(c, 1, f.some(8))
}

func (f *fleetTest) subscribe(c *fleetClient, typ int, names []string) {
	node := lenField(1, fmt.Sprintf("client-%d", c.stream%3))
	var out string
	if c.delta {
		out = lenField(1, node) + lenField(2, fleetTypes[typ])
		for _, n := range names {
			out += lenField(3, n)
		}
		if f.rng.IntN(3) == 0 && len(names) > 0 {
			out += lenField(4, names[0])
		}
	} else {
		out = opt(1, c.sent[typ]) + lenField(2, node)
		for _, n := range names {
			out += lenField(3, n)
		}
		out += lenField(4, fleetTypes[typ]) + opt(5, c.nonce[typ])
	}
	f.say(c, session.Client, session.Chunks{[]byte(out)})
}

// push changes something, mostly, and tells some of the clients the same.
func (f *fleetTest) push() {
	typ := f.rng.IntN(2)
	for range f.rng.IntN(3) {
		f.content[typ][fleetName(f.rng.IntN(10))] = f.rng.IntN(4) // 0: it is not there
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for n, is := range f.content[typ] {
			if is > 0 && !yield(n) {
				return
			}
		}
	})
	switch f.rng.IntN(14) {
	case 0:
		f.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	case 1:
		names = names[:f.rng.IntN(len(names)+1)]
	case 2:
		if len(names) > 0 {
			names = append(names, names[0]) // one name twice
		}
	}
	var removed []string
	if f.rng.IntN(10) == 0 {
		removed = f.some(1 + f.rng.IntN(2))
	}
	if f.rng.IntN(4) > 0 {
		f.version++
	}
	nonce := fmt.Sprintf("n%d-%d", f.version, f.rng.IntN(1000))
	for _, c := range f.clients {
		if f.rng.IntN(12) == 0 {
			continue
		}
		f.respond(c, typ, names, removed, nonce)
		if f.rng.IntN(8) > 0 {
			f.answer(c, typ)
		}
	}
}

func (f *fleetTest) respond(c *fleetClient, typ int, names, removed []string, nonce string) {
	version := fmt.Sprint(f.version)
	data := session.Chunks{[]byte(lenField(1, version))}
	for _, n := range names {
		is := f.content[typ][n]
		body := lenField(1, n) + string([]byte{2 << 3, byte(is)}) // type of a cluster
		if typ == 1 {
			body = lenField(1, n) + lenField(2, string([]byte{5 << 3, byte(is)})) // priority of a locality
		}
		any := lenField(1, fleetTypes[typ]) + lenField(2, body)
		if c.delta {
			any = lenField(3, n) + lenField(1, fmt.Sprint("v", is)) + lenField(2, any)
		}
		data = append(data, f.chunk(lenField(2, any)))
	}
	tail := lenField(4, fleetTypes[typ])
	for _, n := range removed {
		if c.delta {
			tail += lenField(6, n)
		}
	}
	c.nonce[typ], c.sent[typ] = nonce, version
	f.say(c, session.Server, append(data, []byte(tail), []byte(lenField(5, nonce))))
}

func (f *fleetTest) chunk(s string) []byte {
	if f.chunks[s] == nil {
		f.chunks[s] = []byte(s)
	}
	return f.chunks[s]
}

func (f *fleetTest) answer(c *fleetClient, typ int) {
	bad := ""
	if f.rng.IntN(5) == 0 {
		bad = status("no")
	}
	var out string
	if c.delta {
		out = lenField(2, fleetTypes[typ]) + lenField(6, c.nonce[typ]) + opt(7, bad)
	} else {
		out = opt(1, c.sent[typ]) + lenField(4, fleetTypes[typ]) + lenField(5, c.nonce[typ]) + opt(6, bad)
	}
	f.say(c, session.Client, session.Chunks{[]byte(out)})
}

func (f *fleetTest) say(c *fleetClient, side session.Side, data session.Chunks) {
	f.step(session.Entry{
		Kind: session.KindMessage, Side: side, Stream: c.stream,
		Message: &session.Message{Data: data, Size: data.Len(), WireSize: data.Len()},
	})
}

// step gives an entry to both, to one of them in one piece that nobody shares.
func (f *fleetTest) step(e session.Entry) {
	f.seq++
	e.Seq, e.Conn = f.seq, session.ConnID(e.Stream)
	whole := e
	if e.Message != nil {
		m := *e.Message
		m.Data = session.Chunks{e.Message.Data.Bytes()}
		whole.Message = &m
	}
	a, b := f.shared.Step(&e), f.alone.Step(&whole)
	if a.Response != nil && a.Response.moved {
		f.moved++
	}
	if got, want := f.account(&a), f.account(&b); got != want {
		f.t.Errorf("entry %d:\n%s\nand alone:\n%s", f.seq, got, want)
	}
}

// account is all that is known of a type after an entry.
func (f *fleetTest) account(c *Change) string {
	var out strings.Builder
	fmt.Fprintln(&out, describe(*c))
	if n := c.Response; n != nil {
		fmt.Fprintln(&out, n.Was, n.again, n.Twice, n.Sum, n.refused)
		for _, list := range [][]*Resource{n.Resolved, n.Added, n.Changed, n.Before, n.Removed, n.Same, n.Reissued} {
			fmt.Fprintln(&out, resources(slices.Values(list)))
		}
	}
	s := c.Sub
	if s == nil {
		return out.String()
	}
	fmt.Fprintln(&out, "has", s.Have.Len(), resources(func(yield func(*Resource) bool) {
		for _, it := range s.Have.All() {
			if !yield(it) {
				return
			}
		}
	}))
	var open []string
	for name, u := range s.open.all() {
		was := "-"
		if u.accepted != nil {
			was = fmt.Sprint(u.accepted.Version, u.accepted.Content.Facts.Hash)
		}
		open = append(open, fmt.Sprint(name, was, u.rejected(), u.unclear()))
	}
	slices.Sort(open)
	fmt.Fprintln(&out, "open", open, s.open.unsure)
	return out.String()
}

func resources(list func(func(*Resource) bool)) []string {
	var out []string
	for it := range list {
		hash := "?"
		if it.Content != nil {
			hash = fmt.Sprintf("%x", it.Content.Facts.Hash[:4])
		}
		out = append(out, fmt.Sprint(it.Name[20:26], " ", it.Version, " ", hash, " ", it.TTL))
	}
	slices.Sort(out)
	return out
}
