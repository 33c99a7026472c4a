package chunk

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// field is one of so many bytes in all.
func field(num protowire.Number, size int) []byte {
	for body := size - 1; body >= 0; body-- {
		if b := handmade.Str(num, string(bytes.Repeat([]byte{'x'}, body))); len(b) == size {
			return b
		}
	}
	panic("no field has this size")
}

func lengths(c session.Chunks) (out []int) {
	for _, b := range c {
		out = append(out, len(b))
	}
	return out
}

// A resource is a chunk of its own from 48 bytes on, and so is a nonce of any
// length; what is between them stays together.
func TestWhereResponsesAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		data    []byte
		chunks  []int
		between []int
		typ     string
	}{
		"nothing":         {nil, nil, nil, ""},
		"small":           {handmade.Msg(field(2, 47), field(2, 20)), []int{67}, []int{0}, ""},
		"large enough":    {handmade.Msg(field(2, 48), field(2, 47), field(2, 48)), []int{48, 47, 48}, []int{1}, ""},
		"with a nonce":    {handmade.Msg(field(1, 5), field(2, 50), handmade.Str(4, "t"), handmade.Str(5, "n"), field(6, 9)), []int{5, 50, 3, 3, 9}, []int{0, 2, 3, 4}, "t"},
		"numbers":         {handmade.Msg(handmade.Num(4, 7), handmade.Num(2, 7), handmade.Num(5, 7)), []int{6}, []int{0}, ""},
		"a torn end":      {handmade.Msg(field(2, 50), field(2, 60)[:30]), []int{50}, nil, ""},
		"types, the last": {handmade.Msg(handmade.Str(4, "t"), handmade.Str(4, "u")), []int{6}, []int{0}, "u"},
	} {
		var cut Cutter
		if c.data == nil {
			cut.Response(decode.SotwResponse, nil)
		} else {
			cut.Response(decode.SotwResponse, session.Chunks{c.data})
		}
		size := int64(0)
		for _, n := range c.chunks {
			size += int64(n)
		}
		if !slices.Equal(lengths(cut.Chunks), c.chunks) || !slices.Equal(cut.Between, c.between) || string(cut.TypeURL) != c.typ || cut.Size != size {
			t.Errorf("%s: %v, of which %v are no resource, %d bytes of type %q", name, lengths(cut.Chunks), cut.Between, cut.Size, cut.TypeURL)
		}
	}
}

// A field that lies across pieces is whole, of whatever type it is, wherever it is
// cut; one that has no end is none.
func TestFieldsAcrossPieces(t *testing.T) {
	group := append(append(protowire.AppendTag(nil, 3, protowire.StartGroupType), handmade.Num(1, 300)...), protowire.AppendTag(nil, 3, protowire.EndGroupType)...)
	after := handmade.Str(1, "what follows")
	for name, f := range map[string][]byte{
		"a text":   field(2, 300),
		"nothing":  handmade.Str(2, ""),
		"a number": handmade.Num(1<<20, 1<<60),
		"i32":      protowire.AppendFixed32(protowire.AppendTag(nil, 2, protowire.Fixed32Type), 7),
		"i64":      protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), 7),
		"a group":  group,
	} {
		all := handmade.Msg(f, after)
		for i := 1; i < len(f); i++ {
			for j := i + 1; j < len(all); j += 1 + len(all)/40 {
				if got := across(all[:i:i], session.Chunks{all[i:j], all[j:]}); !bytes.Equal(got, f) {
					t.Fatalf("%s, cut at %d and %d: %q", name, i, j, got)
				}
			}
			if got := across(f[:i:i], session.Chunks{f[i : len(f)-1]}); got != nil {
				t.Errorf("%s without its end, cut at %d: %q", name, i, got)
			}
			if got := across(f[:i:i], session.Chunks{f[i:]}); !bytes.Equal(got, f) {
				t.Errorf("%s alone, cut at %d: %q", name, i, got)
			}
		}
	}
	for name, b := range map[string]string{"no tag": "\x00", "a length without end": "\x12\xff", "too long": "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if got := across([]byte(b), session.Chunks{[]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")}); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a request says at length is a chunk of its own: from 512 bytes on, and in
// requests of at most 4 MiB.
func TestWhereRequestsAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want []int // nil: it is left as it is
	}{
		"a short run":       {handmade.Msg(field(1, 100), field(2, 511)), nil},
		"a long run":        {handmade.Msg(field(1, 100), field(2, 512)), []int{100, 512}},
		"two of one number": {handmade.Msg(field(3, 256), field(3, 256), field(4, 9)), []int{512, 9}},
		"two of two":        {handmade.Msg(field(3, 256), field(4, 256)), nil},
		"nothing else":      {field(2, 600), nil},
		"two runs":          {handmade.Msg(field(2, 600), field(3, 700)), []int{600, 700}},
		"in between":        {handmade.Msg(field(1, 10), field(2, 600), field(3, 20), field(4, 700), field(5, 30)), []int{10, 600, 20, 700, 30}},
		"torn":              {handmade.Msg(field(1, 100), field(2, 600), field(3, 20)[:19]), nil},
		"the largest":       {handmade.Msg(field(1, 100), field(2, maxRequest-100)), []int{100, maxRequest - 100}},
		"one byte larger":   {handmade.Msg(field(1, 100), field(2, maxRequest-99)), nil},
	} {
		var cut Cutter
		m := &session.Message{Data: session.Chunks{c.data}}
		e := session.Entry{Kind: session.KindMessage, Side: session.Client, Message: m}
		cut.Request(&e)
		want := c.want
		if want == nil {
			want = []int{len(c.data)}
		}
		if got := lengths(e.Message.Data); !slices.Equal(got, want) || (e.Message == m) != (c.want == nil) || !bytes.Equal(e.Message.Data.Bytes(), c.data) {
			t.Errorf("%s: %v", name, got)
		}
		if !slices.Equal(lengths(m.Data), []int{len(c.data)}) {
			t.Errorf("%s: the message itself was cut", name)
		}
		// What is large is not kept alive.
		if large := c.want != nil && len(c.data) > 1<<20; large != (c.want != nil && cut.Chunks == nil) {
			t.Errorf("%s: %d chunks are kept", name, len(cut.Chunks))
		}
	}
}

// Most requests are shorter than what may be cut, and not looked at.
func TestShortRequestsAreNotScanned(t *testing.T) {
	for size, want := range map[int]int{minRun - 1: 0, minRun: 1} {
		var cut Cutter
		e := session.Entry{Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: session.Chunks{field(2, size)}}}
		if cut.Request(&e); len(cut.Chunks) != want || len(e.Message.Data) != 1 {
			t.Errorf("%d bytes: %d chunks were found, %d are given", size, len(cut.Chunks), len(e.Message.Data))
		}
	}
}

// What a client says that it holds is cut around the contents of 48 bytes and more.
func TestWhereHeldIsCut(t *testing.T) {
	held := func(sizes ...int) []byte {
		var config []byte
		for _, n := range sizes {
			config = append(config, handmade.Sub(3, handmade.Str(1, "t"), field(4, n))...)
		}
		return handmade.Sub(1, handmade.Sub(1, handmade.Str(1, "n1")), config)
	}
	for name, c := range map[string]struct {
		data []byte
		want int
	}{
		"all short":  {held(47, 20), 1},
		"one":        {held(48), 2},
		"two":        {held(48, 200), 4},
		"and short":  {held(20, 48, 20), 3},
		"very short": {held(4), 1},
		"no config":  {field(2, 100), 1},
		"nothing":    {nil, 1},
		"numbers":    {handmade.Msg(handmade.Num(1, 7), held(48), handmade.Num(3, 7)), 3},
		"largest":    {handmade.Msg(held(48), field(9, maxHeld-len(held(48)))), 3},
		"too large":  {handmade.Msg(held(48), field(9, maxHeld-len(held(48))+1)), 1},
	} {
		var cut Cutter
		m := &session.Message{Data: session.Chunks{c.data}}
		e := session.Entry{Kind: session.KindHeld, Message: m}
		cut.Held(&e)
		if (e.Message == m) != (c.want == 1) || len(e.Message.Data) != c.want || !bytes.Equal(e.Message.Data.Bytes(), c.data) {
			t.Errorf("%s: %v", name, lengths(e.Message.Data))
		}
	}
}

// Only discovery messages in protobuf are cut, and reports of load.
func TestWhatIsCut(t *testing.T) {
	const rest, lrs = "/v3/discovery:clusters", "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
	long := handmade.Msg(field(1, 60), field(2, 600), handmade.Str(4, handmade.ClusterURL), handmade.Str(5, "n"))
	for name, c := range map[string]struct {
		path string
		side session.Side
		kind session.Kind
		m    *session.Message
		cut  bool
	}{
		"a request":       {handmade.ADSPath, session.Client, session.KindMessage, &session.Message{Data: session.Chunks{long}}, true},
		"a response":      {handmade.ADSPath, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long}}, true},
		"delta":           {handmade.DeltaADSPath, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long}}, true},
		"compressed":      {handmade.ADSPath, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long}, Compressed: true}, false},
		"JSON":            {rest, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long}}, false},
		"a load report":   {lrs, session.Client, session.KindMessage, &session.Message{Data: session.Chunks{long}}, true},
		"what it is told": {lrs, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long}}, false},
		"another service": {"/a.B/C", session.Client, session.KindMessage, &session.Message{Data: session.Chunks{long}}, false},
		"no data":         {handmade.ADSPath, session.Server, session.KindMessage, &session.Message{}, false},
		"no message":      {handmade.ADSPath, session.Server, session.KindMessage, nil, false},
		"another entry":   {handmade.ADSPath, session.Server, session.KindNote, &session.Message{Data: session.Chunks{long}}, false},
		"torn":            {handmade.ADSPath, session.Server, session.KindMessage, &session.Message{Data: session.Chunks{long[:len(long)-1]}}, false},
	} {
		k := NewSplitter()
		k.Transform(&session.Entry{Kind: session.KindOpen, Side: session.Client, Conn: 1, Stream: 1, Method: c.path})
		e := session.Entry{Kind: c.kind, Side: c.side, Conn: 1, Stream: 1, Message: c.m}
		k.Transform(&e)
		if got := e.Message != nil && len(e.Message.Data) > 1; got != c.cut || !c.cut && e.Message != c.m {
			t.Errorf("%s: it is cut: %v", name, got)
		}
	}
	for variant, want := range map[xds.Variant]bool{xds.VariantLRS: true, xds.VariantSotwADS: false} {
		m := xds.Method{Variant: variant}
		if RepeatsNode(m, session.Client) != want || RepeatsNode(m, session.Server) {
			t.Errorf("%s", variant)
		}
	}
}

// A cache gives what Peek does, and knows in which places two responses have the
// same resource in the same memory.
func TestCacheKnowsPlaces(t *testing.T) {
	resource := func(name string) []byte {
		return handmade.AnyOf(2, handmade.ClusterURL, handmade.Str(1, name), handmade.Str(9, fmt.Sprintf("%060d", 0)))
	}
	a, b, c := resource("a"), resource("b"), resource("c")
	end := func(nonce string) []byte {
		return handmade.Msg(handmade.Str(1, "v"+nonce), handmade.Str(4, handmade.ClusterURL), handmade.Str(5, nonce), handmade.Sub(6, handmade.Str(1, "cp")))
	}
	m := xds.LookupMethod(handmade.ADSPath)
	var s Cache
	see := func(again bool, data ...[]byte) *Batch {
		t.Helper()
		got, batch := s.Peek(m, session.Server, "", data)
		want := decode.Peek(m, session.Server, "", bytes.Join(data, nil))
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || batch == nil || batch.Again != again {
			t.Fatalf("%+v\n%+v\nbatch %+v", got, want, batch)
		}
		return batch
	}
	first := see(false, a, b, end("1"))
	if again := see(true, a, b, end("2")); again != first {
		t.Error("the same resources are another batch")
	}
	other := see(false, a, c, end("3"))
	longer := see(false, a, b, c, end("4"))
	for i, want := range []bool{true, false, false} {
		if first.Same(&other.Places, i) != want || other.Same(&first.Places, i) != want {
			t.Errorf("position %d of two is the same: %v", i, !want)
		}
	}
	for i, want := range []bool{true, true, false, false} {
		if first.Same(&longer.Places, i) != want || longer.Same(&first.Places, i) != want {
			t.Errorf("position %d of three is the same: %v", i, !want)
		}
	}
	delta := Places{kind: decode.DeltaResponse, pointers: first.pointers}
	if first.Same(&delta, 0) {
		t.Error("a delta response is like one of state of the world")
	}
	if back := see(true, a, b, end("5")); back != first {
		t.Error("the batch before the last is not known")
	}
	// The same resource elsewhere in memory is another place.
	moved := see(false, bytes.Clone(a), b, end("6"))
	if moved.Same(&first.Places, 0) || !moved.Same(&first.Places, 1) {
		t.Error("a resource elsewhere is in the same place")
	}
	if s.Held() <= 0 {
		t.Errorf("%d bytes are held", s.Held())
	}
	for bytes, want := range map[int64]int64{0: 16 << 20, 5: 5, -1: 0} {
		if got := (&Cache{Bytes: bytes}).bytes(); got != want {
			t.Errorf("of %d: %d", bytes, got)
		}
	}
	if got := see(false, a, end("8")); got == nil || len(got.Resources) != 1 {
		t.Errorf("of one resource the batch is %+v", got)
	}
	// What cannot be read in pieces is read as a whole.
	for name, data := range map[string]session.Chunks{
		"one piece":      {handmade.Msg(a, end("7"))},
		"no resources":   {handmade.Str(1, "v"), handmade.Str(5, "n")},
		"a small one":    {a, handmade.AnyOf(2, "t"), end("7")},
		"cut in a field": {a, end("7")[:3], end("7")[3:]},
	} {
		got, batch := s.Peek(m, session.Server, "", data)
		if want := decode.Peek(m, session.Server, "", data.Bytes()); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || batch != nil {
			t.Errorf("%s: %+v, batch %v", name, got, batch)
		}
	}
}

// A list of names is read once, while it is where it was and as long as it was; and what is kept for
// it is bounded.
func TestCachedNames(t *testing.T) {
	var list []byte
	for i := range 40 {
		list = append(list, handmade.Str(3, fmt.Sprintf("%018d", i))...)
	}
	var s Cache
	if got := s.names(list); len(got) != 40 || s.Held() != 40*(2*20+nameBytes) {
		t.Errorf("%d names, %d bytes are held", len(got), s.Held())
	}
	if got := s.names(list[:30*20]); len(got) != 30 {
		t.Errorf("%d names of the first 30", len(got))
	}
	for name, c := range map[string]struct {
		b    []byte
		want int
	}{
		"short":           {list[:25*20], 0},
		"long enough":     {append(list[:25*20:25*20], field(3, minRun-25*20)...), 26},
		"a byte less":     {append(list[:25*20:25*20], field(3, minRun-25*20-1)...), 0},
		"a number in it":  {append(list[:40*20:40*20], handmade.Num(3, 1)...), 0},
		"another field":   {append(list[:40*20:40*20], field(4, 10)...), 0},
		"begins with one": {append(field(4, 10), list...), 0},
		"torn":            {list[: 40*20-1 : 40*20-1], 0},
	} {
		if got := s.names(c.b); len(got) != c.want {
			t.Errorf("%s: %d names", name, len(got))
		}
	}
	cost := int64(40 * (2*20 + nameBytes))
	for bytes, want := range map[int64]int64{16 * cost: cost, 16*cost - 1: 0} {
		s := Cache{Bytes: bytes}
		if s.names(list); s.Held() != want {
			t.Errorf("of %d bytes %d are held", bytes, s.Held())
		}
	}
}

// What a cache keeps: twice Bytes, or what the largest message of late needs.
func TestCacheIsBounded(t *testing.T) {
	m := xds.LookupMethod(handmade.ADSPath)
	end := handmade.Msg(handmade.Str(4, "t"), handmade.Str(5, "n"))
	message := func(from, n int) session.Chunks { return append(ofType("t", from, n, 1000), end) }
	s := Cache{Bytes: -1} // nothing but what the largest message needs
	of := func(n int64) int64 { return n*(1003+resourceBytes) + int64(len(end)) }
	s.Peek(m, session.Server, "", message(0, 100))
	if s.most != of(100) || s.Held() != 100*(1003+resourceBytes)+104*batchedBytes {
		t.Errorf("%d is the most, %d are held", s.most, s.Held())
	}
	s.Peek(m, session.Server, "", message(1000, 10))
	if want := of(100) - of(100)/64; s.most != want {
		t.Errorf("%d is the most, not %d", s.most, want)
	}
	var most, least int64
	for i := range 300 {
		s.Peek(m, session.Server, "", message(2000+100*i, 10))
		if i == 20 {
			most = s.Held()
		}
		least = s.Held()
	}
	if s.most != of(10) || most < 2*of(50) || least > 5*of(10) || least < 2*of(10) {
		t.Errorf("%d is the most, of which %d were held, and %d are", s.most, most, least)
	}
	s = Cache{Bytes: 100_000}
	for i := range 300 {
		s.Peek(m, session.Server, "", message(100*i, 10))
	}
	if got := s.Held(); got < 150_000 || got > 2*100_000+2*of(10) {
		t.Errorf("%d bytes are held", got)
	}
}
