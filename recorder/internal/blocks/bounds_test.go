package blocks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// An epoch is full when it has as many contents, or bytes of them, as it may; and what
// it is asked for then changes nothing of that.
func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		sums  int
		bytes int64
		n     int
		want  bool
	}{
		"empty":              {0, 0, format.EpochBytes, true},
		"a byte too much":    {0, 0, format.EpochBytes + 1, false},
		"the last bytes":     {5, format.EpochBytes - 10, 10, true},
		"one more than left": {5, format.EpochBytes - 10, 11, false},
		"the last content":   {format.MaxContents - 1, 100, 100, true},
		"no number is left":  {format.MaxContents, 100, 100, false},
	} {
		k := contents{Sums: make([][2]uint64, c.sums), Bytes: c.bytes}
		if got := k.room(c.n); got != c.want || k.Full == c.want {
			t.Errorf("%s: there is room: %v, full: %v", name, got, k.Full)
		}
		if full := k.Full; !k.room(0) != (c.sums == format.MaxContents) || k.Full != full {
			t.Errorf("%s: and then it is full: %v", name, k.Full)
		}
	}
}

// The table has twice as many places as are used, and the next epoch one of the size of
// this one, unless it was large.
func TestTable(t *testing.T) {
	var c contents
	c.reset()
	for i := range 2 * minSlots {
		c.add([2]uint64{uint64(i) * 0x9e3779b97f4a7c15, 0}, 1, false)
		want := minSlots
		for 2*(i+1) > want {
			want *= 2
		}
		if len(c.slots) != want {
			t.Fatalf("%d places for %d contents", len(c.slots), i+1)
		}
	}
	for n, want := range map[int]int{0: minSlots, minSlots: minSlots, keepSlots: keepSlots, 2 * keepSlots: minSlots} {
		c := contents{slots: make([]uint32, n), Full: true, Bytes: 5, guess: 3, lately: lately{rows: []*row{{}}}}
		if n == 0 {
			c.slots = nil
		} else {
			c.slots[n-1] = 7
		}
		c.reset()
		if len(c.slots) != want || bytes.Contains(fmt.Append(nil, c.slots), []byte("7")) || c.Full || c.Bytes != 0 || c.guess != 0 || len(c.lately.rows) > 0 {
			t.Errorf("after a table of %d places: %d", n, len(c.slots))
		}
	}
}

// near is where a chunk is within eight places to either side.
func TestNear(t *testing.T) {
	r := &row{chunks: resources(40)}
	for at, chunk := range r.chunks {
		want := none
		if at >= 12 && at < 28 {
			want = at
		}
		if got := r.near(20, chunk); got != want {
			t.Errorf("the chunk at %d is found at %d", at, got)
		}
	}
	for _, place := range []int{0, 3, 38, 40, 44, 48} {
		if got := r.near(place, r.chunks[min(place, 39)]); got != min(place, 39) && place < 48 || place == 48 && got != none {
			t.Errorf("from %d on: %d", place, got)
		}
	}
	if got := r.near(20, bytes.Clone(r.chunks[20])); got != none {
		t.Errorf("a copy is found at %d", got)
	}
}

// Which message a row is for: only that of a long one that may be kept, and the one that is most
// like it.
func TestRowOf(t *testing.T) {
	var l lately
	data := resources(longRow)
	const most = maxRowBytes - longRow*rowBytes
	for _, c := range []struct {
		chunks int
		bytes  int64
		want   bool
	}{{longRow - 1, 100, false}, {longRow, most + 1, false}, {longRow, most, true}} {
		if got := l.rowOf(data[:c.chunks], c.bytes) != nil; got != c.want || len(l.rows) > 0 != got {
			t.Errorf("%d chunks of %d bytes: %v", c.chunks, c.bytes, got)
		}
	}
	for _, n := range []int{64, 65, 80, 96, 200} {
		all := resources(n)
		looks := 0
		for i := 1; i < n; i += n / 16 {
			looks++
		}
		for by, want := range map[int]int{-2: 0, -1: looks, 0: looks, 1: looks, 2: 0} {
			before, moved := resources(2), slices.Clone(all)
			if by < 0 { // the row has some that the message has not
				before = append(before[:-by], all...)
			} else {
				before, moved = all, append(before[:by], all...)[:n]
			}
			if got := (&row{chunks: before}).alike(moved); got != want {
				t.Errorf("%d chunks, moved by %d: %d are alike, of %d", n, by, got, looks)
			}
		}
	}
	// Two rows: the message repeats half of the one, and all but a bit of the other.
	a, b := resources(100), resources(100)
	l = lately{rows: []*row{{chunks: append(b[:60:60], a[60:]...)}, {chunks: append(a[:10:10], b[10:]...)}, {chunks: a}, {chunks: a}}}
	first, best := l.rows[0], l.rows[2]
	if got := l.rowOf(a, 100); got != best || !got.used || l.rows[3] != best || l.rows[0] != first || len(l.rows) != 4 || first.used {
		t.Errorf("the row is not the first that is most like it")
	}
	if got := l.rowOf(resources(100), 100); got.used || len(got.chunks) > 0 || l.rows[4] != got {
		t.Error("of a message that is like none the row is not a new one")
	}
}

// What is forgotten, oldest first: what is more than eight, what nothing came again of but for
// the newest four, and what is too long for all to be kept.
func TestBound(t *testing.T) {
	rows := func(of ...row) (out []*row) {
		for i := range of {
			out = append(out, &of[i])
		}
		return out
	}
	used, idle := row{used: true}, row{}
	large := func(n int64) row { return row{used: true, bytes: n} }
	ids := func(n int) row { return row{used: true, ids: make([]int32, n)} }
	for name, c := range map[string]struct {
		rows []*row
		want string
	}{
		"nothing":               {nil, ""},
		"one of each":           {rows(idle, used), "0 1"},
		"eight":                 {rows(used, used, used, used, used, used, used, used), "0 1 2 3 4 5 6 7"},
		"nine":                  {rows(used, used, used, used, used, used, used, used, used), "1 2 3 4 5 6 7 8"},
		"four idle":             {rows(idle, idle, idle, idle), "0 1 2 3"},
		"five idle":             {rows(idle, idle, idle, idle, idle), "1 2 3 4"},
		"idle among used":       {rows(used, idle, idle, used, idle, idle, idle), "0 2 3 4 5 6"},
		"all that may be kept":  {rows(large(maxRowBytes-5), large(5)), "0 1"},
		"a byte more":           {rows(large(maxRowBytes-4), large(5)), "1"},
		"the newest is larger":  {rows(used, large(2*maxRowBytes)), "1"},
		"small ones find room":  {rows(large(1), large(maxRowBytes), large(2)), "0 2"},
		"what chunks take":      {rows(ids(100), large(maxRowBytes-100*rowBytes)), "0 1"},
		"and more of them":      {rows(ids(101), large(maxRowBytes-100*rowBytes)), "1"},
		"both":                  {rows(row{used: true, bytes: 10, ids: make([]int32, 2)}, large(maxRowBytes-10-2*rowBytes)), "0 1"},
		"both, and a byte more": {rows(row{used: true, bytes: 11, ids: make([]int32, 2)}, large(maxRowBytes-10-2*rowBytes)), "1"},
		"three":                 {rows(large(5), large(5), large(maxRowBytes-9)), "1 2"},
	} {
		l := lately{rows: append([]*row(nil), c.rows...)}
		l.bound()
		var got []string
		for _, r := range l.rows {
			for i := range c.rows {
				if c.rows[i] == r {
					got = append(got, fmt.Sprint(i))
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: kept are %q, not %q", name, s, c.want)
		}
	}
}

// planned is a plan as text: what is literal, what is new, and which are repeated.
func planned(t *testing.T, p *plan) string {
	t.Helper()
	var b []byte
	p.write(func(piece []byte) { b = append(b, piece...) })
	if int64(len(b)) != p.size() {
		t.Errorf("%d bytes are written of %d", len(b), p.size())
	}
	var out []string
	for s := protoscan.Of(b); s.Next(); {
		f := s.Field
		switch f.Num {
		case format.FieldData:
			out = append(out, fmt.Sprintf("data %.6q", f.Body))
		case format.FieldContent:
			out = append(out, fmt.Sprintf("new %.6q", f.Body))
		case format.FieldRun:
			first, n := protowire.ConsumeVarint(f.Body)
			count, _ := protowire.ConsumeVarint(f.Body[n:])
			out = append(out, fmt.Sprintf("%d+%d", first, count))
		}
	}
	if p.masked {
		out = append(out, "masked")
	}
	return strings.Join(out, ", ")
}

// How messages are stored: what is short as it is, what is new once, and what came before as
// runs of numbers. They come one after the other.
func TestPlan(t *testing.T) {
	text := func(name string, n int) []byte { return []byte((name + strings.Repeat(" "+name, n))[:n]) }
	a, b, c, d, secret := text("aaaaaa", 48), text("bbbbbb", 60), text("cccccc", 600), text("dddddd", 600), text("secret", 70)
	long := resources(70) // and is known by where it is
	data := func(c ...[]byte) session.Chunks { return c }
	hook := func(chunk []byte) []byte { return bytes.ReplaceAll(chunk, []byte("secret"), []byte("******")) }
	var known contents
	known.reset()
	var p plan
	for i, c := range []struct {
		side session.Side
		data session.Chunks
		want string
	}{
		{session.Server, data(text("alones", 511)), `data "alones"`},
		{session.Server, data(text("alones", 512)), `new "alones"`},
		{session.Client, data(text("client", 511), text("client", 512)), `data "client", new "client"`},
		{session.Server, data(text("shorts", 47), a, text("shorts", 47), text("shorts", 3)), `data "shorts", new "aaaaaa", data "shorts"`},
		{session.Server, data(a, b, nil, c), `2+1, new "bbbbbb", new "cccccc"`},
		{session.Server, data(a, b, c), "2+3"},
		{session.Server, data(a, b, a, b, c), "2+2, 2+3"},
		{session.Server, data(c, b, a), "4+1, 3+1, 2+1"},
		{session.Server, data(a, text("shorts", 5), a), `2+1, data "short", 2+1`},
		{session.Server, data(text("shorts", 5), a, text("second", 5)), `data "short", 2+1, data "secon"`},
		{session.Client, data(d, a, d), `new "dddddd", data "aaaaaa", 5+1`},
		{session.Server, data(secret, a), `new "******", 2+1, masked`},
		{session.Server, data(a, secret), "2+1, 6+1, masked"},
		{session.Server, data(secret, a, b), "6+1, 2+2, masked"},
		{session.Server, data(text("secret", 40), a), `data "******", 2+1, masked`},
		{session.Server, data(a, b), "2+2"},
		{session.Server, data(), ""},
	} {
		p.reset()
		if err := p.make(c.side, c.data, &known, hook); err != nil {
			t.Fatal(err)
		}
		if got := planned(t, &p); got != c.want {
			t.Errorf("message %d: %s, not %s", i, got, c.want)
		}
	}
	// Of a long one the chunks that stay where they are are not looked at.
	start := len(known.Sums)
	long[30] = secret
	changed := append(long[:40:40], text("news", 55))
	changed = append(changed, long[41:]...)
	removed := append(changed[:10:10], changed[13:]...)
	for i, c := range []struct {
		data session.Chunks
		want string
	}{
		{long, ""},
		{long, fmt.Sprintf("%d+30, 6+1, %d+39, masked", start, start+30)},
		{changed, fmt.Sprintf("%d+30, 6+1, %d+9, new \"news n\", %d+29, masked", start, start+30, start+40)},
		{removed, fmt.Sprintf("%d+10, %d+17, 6+1, %d+9, %d+1, %d+29, masked", start, start+13, start+30, start+69, start+40)},
		{removed, fmt.Sprintf("%d+10, %d+17, 6+1, %d+9, %d+1, %d+29, masked", start, start+13, start+30, start+69, start+40)},
	} {
		p.reset()
		if err := p.make(session.Server, c.data, &known, hook); err != nil {
			t.Fatal(err)
		}
		if got := planned(t, &p); got != c.want && c.want != "" {
			t.Errorf("long message %d: %s, not %s", i, got, c.want)
		}
	}
	if len(known.Sums) != start+70 {
		t.Errorf("%d contents are new", len(known.Sums)-start)
	}
	p.parts = make([]part, 0, keepParts)
	if p.reset(); cap(p.parts) != keepParts {
		t.Errorf("room for %d parts is kept", cap(p.parts))
	}
	p.parts = make([]part, 0, keepParts+1)
	if p.reset(); cap(p.parts) > 0 {
		t.Errorf("room for %d parts is kept", cap(p.parts))
	}
}

// A message that is more than half of what an epoch may have is none of it.
func TestPlanOfMost(t *testing.T) {
	mega := make([]byte, 1<<20)
	var half session.Chunks
	for range format.EpochBytes / 2 >> 20 {
		half = append(half, mega)
	}
	for over, want := range map[int]int{0: 1, 1: 0} {
		var known contents
		known.reset()
		var p plan
		if err := p.make(session.Server, append(half[:len(half):len(half)], mega[:over]), &known, nil); err != nil {
			t.Fatal(err)
		}
		if len(known.Sums) != want {
			t.Errorf("%d bytes define %d contents", p.data, len(known.Sums))
		}
	}
}

// A recording is written with few calls, none of which is large; and its blocks say which
// contents are theirs.
func TestHowItIsWritten(t *testing.T) {
	file := &sized{}
	b, err := New(file, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	for seq, c := range map[session.Seq]struct{ size, writes int }{1: {1000, 1}, 2: {SpillSize / 2, 1}, 3: {2*SpillSize + 1000, 4}} {
		file.sizes = nil
		if err := b.Put(number(seq, c.size), nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if len(file.sizes) != c.writes {
			t.Errorf("%d bytes are written in %d pieces", c.size, len(file.sizes))
		}
		for _, n := range file.sizes {
			if n > SpillSize {
				t.Errorf("of %d bytes %d are written at once", c.size, n)
			}
		}
	}
	var content []string
	b, _ = New(&memory{}, &format.FileHeader{}, nil)
	b.Committed = func(h *format.BlockHeader) { content = append(content, fmt.Sprintf("%d+%d", h.Content, h.Contents)) }
	all := resources(20)
	for i, c := range []session.Chunks{all[:3], all[:4], all[:4], all[3:9], all[:20]} {
		e := response(c)
		e.Seq, e.Time = session.Seq(i+1), time.Unix(1, 0)
		if err := b.Put(&e, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(content, " "); got != "0+3 3+1 4+0 4+5 9+11" {
		t.Errorf("blocks define %s", got)
	}
}

// sized is a file in memory that keeps how much each call wrote.
type sized struct {
	memory
	sizes []int
}

func (s *sized) WriteAt(p []byte, at int64) (int, error) {
	s.sizes = append(s.sizes, len(p))
	return s.memory.WriteAt(p, at)
}

// An index is written when as many blocks, or bytes of their headers, are waiting for it as may,
// and a large buffer for heads is not kept.
func TestWhenAnIndexIsDue(t *testing.T) {
	for name, c := range map[string]struct {
		count, bytes int
		want         bool
	}{
		"few":           {format.IndexEvery - 2, 0, false},
		"so many":       {format.IndexEvery - 1, 0, true},
		"many bytes":    {1, format.IndexBytes - 1, true},
		"a little less": {1, format.IndexBytes - 300, false},
	} {
		b, err := New(&memory{}, &format.FileHeader{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.index.count, b.index.raw = c.count, make([]byte, c.bytes)
		if err := b.Put(number(1, 100), nil); err != nil {
			t.Fatal(err)
		}
		if b.Commit(); b.index.count == 0 != c.want || b.index.last > 0 != c.want {
			t.Errorf("%s: %d blocks wait", name, b.index.count)
		}
		for n, want := range map[int]int{keepHead: keepHead, keepHead + 1: 0} {
			b.next = make([]byte, 0, n)
			if b.reset(); cap(b.next) != want {
				t.Errorf("of %d bytes %d are kept", n, cap(b.next))
			}
		}
		b.Free()
	}
}

// The longest head that may be is recorded, and one that is longer is not.
func TestLongestHead(t *testing.T) {
	b, err := New(&memory{}, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	head := func(n int) *session.Entry {
		return &session.Entry{Seq: 1, Headers: []session.Field{{Name: "a", Value: strings.Repeat("x", n)}}}
	}
	b.Measure(head(format.MaxHead / 2))
	around := len(b.next) - format.MaxHead/2
	for over, want := range map[int]int{0: 0, 1: 1} {
		e := head(format.MaxHead - around + over)
		b.Measure(e)
		if len(e.Problems) != want || want == 0 && len(b.next) != format.MaxHead {
			t.Errorf("%d too long: %q, %d bytes", over, e.Problems, len(b.next))
		}
	}
}

// A message is followed along a row while it has the same chunks, whose contents follow each other.
func TestRunAlongARow(t *testing.T) {
	chunks := resources(20)
	ids := make([]int32, 20)
	for i := range ids {
		ids[i] = int32(i + 100)
	}
	ids[12] = 7 // another content is between
	other := resources(1)
	for name, c := range map[string]struct {
		place     int
		data      session.Chunks
		first, n  int
		then      int  // the place that is next
		moved     bool // chunks are not where they were
		remembers int  // of moved ones
	}{
		"all up to another content": {0, chunks, 100, 12, 12, false, 0},
		"that alone":                {12, chunks[12:], 7, 1, 13, false, 0},
		"up to the end":             {13, append(chunks[13:20:20], other...), 113, 7, 20, false, 0},
		"up to the message's end":   {13, chunks[13:15], 113, 2, 15, false, 0},
		"up to what is new":         {13, append(chunks[13:15:15], append(other, chunks[16:]...)...), 113, 2, 15, false, 0},
		"moved":                     {2, chunks[4:8], 104, 4, 8, true, 6},
		"moved back":                {6, chunks[4:8], 104, 4, 8, true, 10},
		"moved too far":             {2, chunks[10:12], none, 0, 2, false, 0},
		"new":                       {2, other, none, 0, 2, false, 0},
		"beyond the end":            {20, chunks[19:], 119, 1, 20, true, 21},
	} {
		m := match{row: &row{chunks: chunks, ids: ids}, place: c.place, done: c.place}
		first, n := m.run(c.data)
		if first != c.first || n != c.n || m.place != c.then || m.done != c.place+c.n || m.moved != c.moved || len(m.ids) != c.remembers {
			t.Errorf("%s: %d from %d on, then %d is next, %d done, moved %v with %d", name, n, first, m.place, m.done, m.moved, len(m.ids))
		}
	}
	if first, n := (&match{}).run(chunks); first != none || n != 0 {
		t.Errorf("without a row: %d from %d on", n, first)
	}
}
