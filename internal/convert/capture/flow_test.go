package capture

import "testing"

// shaken is a connection of which both ends are known, with nothing said on it.
func shaken() (*reader, *conn) {
	r, c := following()
	c.take(0, &segment{syn: true})
	c.take(1, &segment{syn: true, acks: true, ack: 1})
	return r, c
}

// A piece that came again is kept once, and the longer one of two that begin alike.
func TestPiecesThatComeAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []piece
		count  int
		bytes  int
	}{
		{"the same", []piece{{seq: 5, data: []byte("abc")}, {seq: 5, data: []byte("abc")}}, 1, 3},
		{"shorter", []piece{{seq: 5, data: []byte("abc")}, {seq: 5, data: []byte("ab")}}, 1, 3},
		{"longer", []piece{{seq: 5, data: []byte("abc")}, {seq: 5, data: []byte("abcd")}}, 2, 7},
		{"within", []piece{{seq: 5, data: []byte("abc")}, {seq: 6, data: []byte("b")}}, 1, 3},
		{"to its end", []piece{{seq: 5, data: []byte("abc")}, {seq: 6, data: []byte("bc")}}, 1, 3},
		{"beyond its end", []piece{{seq: 5, data: []byte("abc")}, {seq: 6, data: []byte("bcd")}}, 2, 6},
		{"behind it", []piece{{seq: 5, data: []byte("abc")}, {seq: 8, data: []byte("d")}}, 2, 4},
		{"before it", []piece{{seq: 5, data: []byte("abc")}, {seq: 4, data: []byte("x")}}, 2, 4},
	} {
		var f flow
		f.begin(1)
		for _, p := range c.pieces {
			f.keep(p)
		}
		if len(f.ahead) != c.count || f.bytes != c.bytes {
			t.Errorf("%s: %d pieces of %d bytes wait, want %d of %d", c.name, len(f.ahead), f.bytes, c.count, c.bytes)
		}
		for i := 1; i < len(f.ahead); i++ {
			if before(f.ahead[i-1].seq, f.ahead[i].seq) < 0 {
				t.Errorf("%s: they are not in order", c.name)
			}
		}
	}
}

// Bytes that wait are counted in all, until they are in order.
func TestWhatWaitsIsCounted(t *testing.T) {
	r, c := shaken()
	for i, s := range []struct {
		seq     uint32
		data    string
		waiting int
	}{{7, "ghi", 3}, {4, "def", 6}, {1, "abc", 0}, {12, "l", 1}, {10, "jk", 0}} {
		if c.take(0, &segment{seq: s.seq, data: []byte(s.data)}); r.waiting != s.waiting {
			t.Errorf("segment %d: %d bytes wait, want %d", i, r.waiting, s.waiting)
		}
	}
}

// The end of a direction is behind the bytes that its segment brings, and is not there
// before they are.
func TestFINWithBytes(t *testing.T) {
	_, c := shaken()
	f := &c.flows[0]
	c.take(0, &segment{seq: 4, data: []byte("def"), fin: true})
	if f.over() || !f.ended || f.end != 7 || f.missing() != 3 {
		t.Errorf("it is over: %v, at %d, %d are missing", f.over(), f.end, f.missing())
	}
	c.take(0, &segment{seq: 1, data: []byte("abc")})
	if !f.over() || f.missing() != 0 || c.over {
		t.Errorf("it is over: %v, %d are missing; both are: %v", f.over(), f.missing(), c.over)
	}
	if c.take(1, &segment{seq: 1, fin: true}); !c.over {
		t.Error("both ends are over, and the connection is not")
	}
}

// Of two pieces in order the one goes first that came first, but an answer behind what it
// answers.
func TestWhichPieceIsNext(t *testing.T) {
	for _, tc := range []struct {
		name string
		nth  [2]uint64
		ack  [2]uint32
		want int
	}{
		{"the first came first", [2]uint64{4, 5}, [2]uint32{1, 1}, 0},
		{"the second came first", [2]uint64{5, 4}, [2]uint32{1, 1}, 1},
		{"the first is an answer", [2]uint64{4, 5}, [2]uint32{2, 1}, 1},
		{"the second is an answer", [2]uint64{5, 4}, [2]uint32{1, 2}, 0},
		{"both are, and the second came first", [2]uint64{5, 4}, [2]uint32{2, 2}, 1},
		{"both are, and the first came first", [2]uint64{4, 5}, [2]uint32{2, 2}, 0},
	} {
		_, c := shaken()
		for from := range c.flows {
			c.flows[from].keep(piece{seq: 1, data: []byte("x"), nth: tc.nth[from], ack: tc.ack[from]})
		}
		if got := c.ready(); got != tc.want {
			t.Errorf("%s: %d goes first", tc.name, got)
		}
	}
}
