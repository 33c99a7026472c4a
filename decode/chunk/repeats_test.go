package chunk

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/session"
)

// ofType are so many resources of a type, of a size.
func ofType(typ string, from, n, size int) (out session.Chunks) {
	for i := range n {
		name := handmade.Str(1, fmt.Sprintf("%08d", from+i))
		around := len(handmade.AnyOf(2, typ, name, handmade.Str(9, "")))
		out = append(out, handmade.AnyOf(2, typ, name, handmade.Str(9, strings.Repeat("x", size-around))))
	}
	return out
}

// Where a resource is looked for: in its place, and up to eight places from it; and less where
// hardly anything is as it was.
func TestWhereRepeatsAreLookedFor(t *testing.T) {
	have := &repeated{resources: ofType("t", 0, 60, 100)}
	none := ofType("t", 100, 1, 100)[0]
	for name, c := range map[string]struct {
		r            repeats
		from, before int // which are found
	}{
		"in the middle":            {repeats{place: 20}, 12, 28},
		"at the beginning":         {repeats{}, 0, 8},
		"near the end":             {repeats{place: 55}, 47, 60},
		"at the end":               {repeats{place: 60}, 52, 60},
		"beyond it":                {repeats{place: 67}, 59, 60},
		"far beyond it":            {repeats{place: 68}, 0, 0},
		"many were missed":         {repeats{place: 20, missed: 33}, 20, 21},
		"as many as may be":        {repeats{place: 20, missed: 32}, 12, 28},
		"now and then":             {repeats{place: 20, missed: 40}, 12, 28},
		"and not between":          {repeats{place: 20, missed: 41}, 20, 21},
		"hardly any found":         {repeats{place: 20, fresh: make([]int, 65), found: 8}, 0, 0},
		"some found":               {repeats{place: 20, fresh: make([]int, 65), found: 9}, 12, 28},
		"an eighth of what is new": {repeats{place: 20, fresh: make([]int, 72), found: 9}, 12, 28},
		"a little less":            {repeats{place: 20, fresh: make([]int, 73), found: 9}, 0, 0},
		"few are new":              {repeats{place: 20, fresh: make([]int, 64)}, 12, 28},
		"every 32nd is tried":      {repeats{place: 20, fresh: make([]int, 96)}, 12, 28},
		"the 97th is not":          {repeats{place: 20, fresh: make([]int, 97)}, 0, 0},
	} {
		for i, b := range have.resources {
			r := c.r
			r.at = have
			got := r.next(append(b[:len(b):len(b)], "and more"...))
			if want := i >= c.from && i < c.before; want != (got != nil) {
				t.Fatalf("%s: resource %d is found: %v", name, i, !want)
			}
			if got != nil && (unsafe.SliceData(got) != unsafe.SliceData(b) || len(got) != len(b) || r.place != i+1 || r.missed != 0 || r.found != c.r.found+1) {
				t.Errorf("%s: resource %d: %d bytes, and then %d is next, %d found", name, i, len(got), r.place, r.found)
			}
			if got == nil && (r.place != c.r.place || r.found != c.r.found || r.missed != c.r.missed) {
				t.Errorf("%s: what is not found is counted", name)
			}
		}
		r := c.r
		r.at = have
		for what, b := range map[string][]byte{"nothing": nil, "another resource": none, "another field": handmade.Str(3, "x"), "a part": have.resources[20][:50]} {
			if got := r.next(b); got != nil {
				t.Errorf("%s: %s is found", name, what)
			}
		}
	}
	if got := (&repeats{}).next(none); got != nil {
		t.Error("something is found in nothing")
	}
	r := repeats{place: 3, missed: 2, fresh: []int{1}}
	if r.miss(7); r.place != 4 || r.missed != 3 || !slices.Equal(r.fresh, []int{1, 7}) {
		t.Errorf("%+v", r)
	}
}

// A response is compared with one of its kind and type: the last that begins as it does, or the last.
func TestWhatARepeatIsComparedWith(t *testing.T) {
	const sotw, delta = decode.SotwResponse, decode.DeltaResponse
	one := func(kind decode.Kind, typ string, first int) *repeated {
		return &repeated{kind: kind, typeURL: typ, resources: ofType(typ, first, 2, 100)}
	}
	all := []*repeated{one(sotw, "a", 1), one(sotw, "b", 1), one(sotw, "a", 1), one(sotw, "a", 2), one(delta, "a", 1), one(sotw, "b", 5)}
	for name, c := range map[string]struct {
		typ   string
		first int
		want  int // -1: none
	}{
		"as the third":    {"a", 1, 2},
		"as the fourth":   {"a", 2, 3},
		"as none of them": {"a", 9, 3},
		"of another type": {"b", 1, 1},
		"the last of it":  {"b", 9, 5},
		"an unknown type": {"c", 1, -1},
	} {
		r := repeats{all: all}
		r.choose(sotw, ofType(c.typ, c.first, 1, 100)[0])
		var want *repeated
		if c.want >= 0 {
			want = all[c.want]
		}
		if r.at != want || !r.chosen {
			t.Errorf("%s: it is compared with %d", name, slices.Index(all, r.at))
		}
	}
}

// What is remembered of a row of responses: each is given as its resources, and what is said is which
// of them were in the memory of an earlier one, and what is kept then.
func TestWhatIsRemembered(t *testing.T) {
	a := ofType("type.googleapis.com/a", 0, 100, 100)
	with := func(rows ...session.Chunks) session.Chunks { return slices.Concat(rows...) }
	rest := handmade.Msg(handmade.Str(4, "type.googleapis.com/a"), handmade.Str(6, "plane"))
	tail := func(c session.Chunks) session.Chunks { return append(c[:len(c):len(c)], rest) }
	var others []session.Chunks
	for i := range 9 {
		others = append(others, ofType(fmt.Sprint("type ", i), 0, 30, 100))
	}
	for name, c := range map[string]struct {
		rows []session.Chunks
		want string // of each: how many came again, how many responses are known, and what they hold
	}{
		"again":                 {[]session.Chunks{a[:30], a[:30], a[:30]}, "0 of 30, 3000 in 1; 30 of 30, 3000 in 1; 30 of 30, 3000 in 1"},
		"with more":             {[]session.Chunks{tail(a[:30]), tail(a[:30])}, "0 of 30, 3000 in 1; 30 of 30, 3000 in 1"},
		"one is new":            {[]session.Chunks{a[:30], with(a[:9], a[40:41], a[10:30]), a[:30]}, "0 of 30, 3000 in 1; 29 of 30, 3100 in 1; 29 of 30, 3200 in 1"},
		"one is gone":           {[]session.Chunks{a[:30], with(a[:9], a[10:30]), a[:30]}, "0 of 30, 3000 in 1; 29 of 29, 3000 in 1; 29 of 30, 3100 in 1"},
		"one more":              {[]session.Chunks{a[:30], a[:31], a[:30]}, "0 of 30, 3000 in 1; 30 of 31, 3100 in 1; 30 of 30, 3100 in 1"},
		"half of it":            {[]session.Chunks{a[:40], with(a[:20], a[50:70])}, "0 of 40, 4000 in 1; 20 of 40, 6000 in 1"},
		"less than half":        {[]session.Chunks{a[:40], with(a[:19], a[50:71])}, "0 of 40, 4000 in 1; 19 of 40, 8000 in 2"},
		"too short":             {[]session.Chunks{a[:20], a[:20]}, "0 of 20, 0 in 0; 0 of 20, 0 in 0"},
		"just long enough":      {[]session.Chunks{with(a[:20], ofType("s", 0, 1, 48)), with(a[:20], ofType("s", 0, 1, 48))}, "0 of 21, 2048 in 1; 21 of 21, 2048 in 1"},
		"a byte less":           {[]session.Chunks{with(a[:19], ofType("s", 0, 1, 99), ofType("s", 0, 1, 48)), a[:20]}, "0 of 21, 0 in 0; 0 of 20, 0 in 0"},
		"types":                 {others[:3], "0 of 30, 3000 in 1; 0 of 30, 6000 in 2; 0 of 30, 9000 in 3"},
		"all types":             {others[:8], "0 of 30, 3000 in 1; 0 of 30, 6000 in 2; 0 of 30, 9000 in 3; 0 of 30, 12000 in 4; 0 of 30, 15000 in 5; 0 of 30, 18000 in 6; 0 of 30, 21000 in 7; 0 of 30, 24000 in 8"},
		"a type too many":       {and(others[:8], others[8], others[1], others[0]), "0 of 30, 3000 in 1; 0 of 30, 6000 in 2; 0 of 30, 9000 in 3; 0 of 30, 12000 in 4; 0 of 30, 15000 in 5; 0 of 30, 18000 in 6; 0 of 30, 21000 in 7; 0 of 30, 24000 in 8; 0 of 30, 24000 in 8; 30 of 30, 24000 in 8; 0 of 30, 24000 in 8"},
		"moved by seven":        {[]session.Chunks{a[:30], a[7:30]}, "0 of 30, 3000 in 1; 23 of 23, 3000 in 1"},
		"let go of what is not": {[]session.Chunks{a[:60], a[:30], a[:29], with(a[:29], a[99:])}, "0 of 60, 6000 in 1; 30 of 30, 6000 in 1; 29 of 29, 2900 in 1; 29 of 30, 3000 in 1"},
	} {
		var cut Cutter
		var got []string
		given := map[*byte]bool{}
		for _, row := range c.rows {
			data := bytes.Join(row, nil)
			cut.Response(decode.SotwResponse, session.Chunks{data})
			again, n := 0, len(cut.Chunks)-len(cut.Between)
			for i, chunk := range cut.Chunks {
				if given[unsafe.SliceData(chunk)] && !slices.Contains(cut.Between, i) {
					again++
				}
			}
			cut.Keep()
			if !bytes.Equal(cut.Chunks.Bytes(), data) {
				t.Errorf("%s: it is another", name)
			}
			var held int64
			for _, r := range cut.repeats.all {
				held += r.held
			}
			for _, chunk := range cut.Chunks {
				given[unsafe.SliceData(chunk)] = true
			}
			got = append(got, fmt.Sprintf("%d of %d, %d in %d", again, n, held, len(cut.repeats.all)))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n%s\n%s", name, s, c.want)
		}
	}
	// After 16 responses of which nothing came again, one of 16 more is remembered.
	var cut Cutter
	var kept []int
	for i := range 70 {
		cut.Response(decode.SotwResponse, session.Chunks{bytes.Join(ofType("v", 100*i, 30, 100), nil)})
		if cut.Keep(); cut.kept {
			kept = append(kept, i+1)
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 48, 64}; !slices.Equal(kept, want) {
		t.Errorf("remembered are %v", kept)
	}
	last := bytes.Join(ofType("v", 100*63, 30, 100), nil)
	cut.Response(decode.SotwResponse, session.Chunks{last})
	if cut.Keep(); !cut.kept || cut.repeats.vain != 0 {
		t.Errorf("one that came again: %v, %d in vain", cut.kept, cut.repeats.vain)
	}
}

// and is some rows and more of them.
func and(rows []session.Chunks, more ...session.Chunks) []session.Chunks {
	return append(rows[:len(rows):len(rows)], more...)
}

// What is kept of responses is bounded, but for one that is longer; and that has a bound, too.
func TestRepeatsAreBounded(t *testing.T) {
	one := func(held int64, resources, between int) *repeated {
		r := &repeated{held: held, resources: make(session.Chunks, 0, resources), between: make(session.Chunks, between)}
		for i := range r.between {
			r.between[i] = make([]byte, 10)
		}
		return r
	}
	for name, c := range map[string]struct {
		all  []*repeated
		want int // the first that is left
	}{
		"none":                  {nil, 0},
		"eight":                 {slices.Repeat([]*repeated{one(1, 0, 0)}, 8), 0},
		"nine":                  {slices.Repeat([]*repeated{one(1, 0, 0)}, 9), 1},
		"all there is room for": {[]*repeated{one(5, 0, 0), one(maxRepeated-5, 0, 0)}, 0},
		"a byte more":           {[]*repeated{one(6, 0, 0), one(maxRepeated-5, 0, 0)}, 1},
		"resources":             {[]*repeated{one(0, 2, 0), one(maxRepeated-2*repeatedBytes, 0, 0)}, 0},
		"resources, more":       {[]*repeated{one(1, 2, 0), one(maxRepeated-2*repeatedBytes, 0, 0)}, 1},
		"between":               {[]*repeated{one(0, 2, 1), one(maxRepeated-3*repeatedBytes-10, 0, 0)}, 0},
		"between, more":         {[]*repeated{one(1, 2, 1), one(maxRepeated-3*repeatedBytes-10, 0, 0)}, 1},
		"the last is longer":    {[]*repeated{one(5, 0, 0), one(2*maxRepeated, 0, 0)}, 1},
	} {
		r := repeats{all: slices.Clone(c.all)}
		if r.bound(); !slices.Equal(r.all, c.all[c.want:]) {
			t.Errorf("%s: of %d %d are left", name, len(c.all), len(r.all))
		}
	}
	for over, want := range map[int]bool{0: true, 1: false} {
		var r repeats
		const size = (maxOne-2*repeatedBytes)/2 - 5
		r.reset()
		r.miss(0)
		chunks := session.Chunks{field(2, size), make([]byte, 10+over)}
		if got := r.keep(decode.SotwResponse, chunks, []int{1}); got != want || len(r.all) > 0 != want {
			t.Errorf("one that is %d bytes too long is remembered: %v", over, got)
		}
	}
}

// Copies lie one after the other in memory of their own, in pieces of 256 KiB.
func TestCopies(t *testing.T) {
	chunks := session.Chunks{field(2, 100), field(2, 50), field(2, 60), field(2, 300<<10), field(2, 70), field(2, 80)}
	was := slices.Clone(chunks)
	copyChunks(chunks, []int{0, 2, 3, 4, 5}, 100+60+300<<10+70+80)
	for i := range chunks {
		if !bytes.Equal(chunks[i], was[i]) || (unsafe.SliceData(chunks[i]) == unsafe.SliceData(was[i])) != (i == 1) || i != 1 && cap(chunks[i]) != len(chunks[i]) {
			t.Errorf("chunk %d", i)
		}
	}
	follows := func(a, b []byte) bool {
		return uintptr(unsafe.Pointer(unsafe.SliceData(b)))-uintptr(unsafe.Pointer(unsafe.SliceData(a))) == uintptr(len(a))
	}
	if !follows(chunks[0], chunks[2]) || !follows(chunks[4], chunks[5]) {
		t.Error("they do not follow each other")
	}
	if got := everyBut(nil, 6, []int{0, 3, 5}); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("%v", got)
	}
	used := []*repeated{{held: 1}, {held: 2}, {held: 3}}
	for i, want := range [][]int64{{2, 3, 1}, {1, 3, 2}, {1, 2, 3}} {
		r := repeats{all: slices.Clone(used)}
		r.used(used[i])
		var got []int64
		for _, one := range r.all {
			got = append(got, one.held)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d was used: %v", i, got)
		}
	}
}
