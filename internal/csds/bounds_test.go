package csds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pb "google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// A request may have so many matchers, so deep ones and so long expressions, and no more.
func TestBoundsOfRequests(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		value := `{"null_match": {}}`
		for i := range depth {
			if i%2 == 0 {
				value = `{"list_match": {"one_of": ` + value + `}}`
			} else {
				value = `{"or_match": {"value_matchers": [` + value + `]}}`
			}
		}
		return `{"node_metadatas": [{"path": [{"key": "a"}], "value": ` + value + `}]}`
	}
	regex := func(bytes int) string {
		return `{"node_id": {"safe_regex": {"regex": "` + strings.Repeat("a", bytes) + `"}}}`
	}
	for name, c := range map[string]struct {
		matchers string
		want     bool
	}{
		"as many as may be": {strings.Repeat("{}, ", maxMatchers-1) + "{}", true},
		"one more":          {strings.Repeat("{}, ", maxMatchers) + "{}", false},
		"as deep as may be": {nested(maxNesting), true},
		"one deeper":        {nested(maxNesting + 1), false},
		"as long as may be": {regex(maxRegex), true},
		"one byte more":     {regex(maxRegex + 1), false},
		"together as long":  {regex(maxRegex/2) + ", " + regex(maxRegex/2), true},
		"together longer":   {regex(maxRegex/2) + ", " + regex(maxRegex/2+1), false},
	} {
		_, err := selectionOf(requestOf(t, `{"node_matchers": [`+c.matchers+`]}`).NodeMatchers)
		if (err == nil) != c.want {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// Whose ids no matcher takes are not looked at at all.
func TestNamed(t *testing.T) {
	t.Parallel()
	for matchers, want := range map[string]string{
		``: "ab", `{}`: "ab", `{"node_id": {"exact": "a"}}`: "a", `{"node_id": {"exact": "c"}}`: "", `{"node_id": {"exact": "c"}}, {"node_id": {"exact": "b"}}`: "b",
	} {
		s, err := selectionOf(requestOf(t, `{"node_matchers": [`+matchers+`]}`).NodeMatchers)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, id := range []string{"a", "b"} {
			if s.named(id) {
				got += id
			}
			if s.takes(&corev3.Node{Id: id}) != s.named(id) {
				t.Errorf("%s: %s is taken, or named, and not the other", matchers, id)
			}
		}
		if got != want {
			t.Errorf("%s: %q", matchers, got)
		}
	}
}

// Only what is large counts as unread, until it was given back; and there is room for
// answers until as many bytes wait as may.
func TestUnreadAtBounds(t *testing.T) {
	t.Parallel()
	for size, counted := range map[int]int64{charged - 1: 0, charged: charged, charged + 1: charged + 1} {
		u := newUnread()
		m := &corev3.Node{}
		for m.Id = strings.Repeat("x", size-3); pb.Size(m) > size; {
			m.Id = m.Id[1:]
		}
		if pb.Size(m) != size {
			t.Fatalf("%d bytes, not %d", pb.Size(m), size)
		}
		b, err := u.Marshal(m)
		if err != nil || len(b.Materialize()) != size || u.bytes.Load() != counted {
			t.Errorf("of %d bytes %d count as unread, %v", size, u.bytes.Load(), err)
		}
		for most, want := range map[int]codes.Code{size: codes.ResourceExhausted, size + 1: codes.OK} {
			if got := status.Code(u.room(most)); counted > 0 && got != want {
				t.Errorf("with %d bytes and room for %d: %v", size, most, got)
			}
		}
		b.Free()
		if u.bytes.Load() != 0 {
			t.Errorf("%d bytes are still unread", u.bytes.Load())
		}
	}
	if _, err := newUnread().Marshal("no message"); err == nil {
		t.Error("anything is marshalled")
	}
}

// counted is a reader that knows how it was used.
type counted struct {
	*recorder.Reader
	said *strings.Builder
}

func (c counted) Next(ctx context.Context) (session.Entry, error) {
	e, err := c.Reader.Next(ctx)
	if err == nil {
		fmt.Fprintf(c.said, " %d", e.Seq)
	}
	return e, err
}

func (c counted) Seek(seq session.Seq) error {
	fmt.Fprintf(c.said, " to %d", seq)
	return c.Reader.Seek(seq)
}

// What is read again is what is wanted: what is near is read up to, and what is far is
// jumped to.
func TestReread(t *testing.T) {
	t.Parallel()
	log, err := recorder.NewRing(recorder.Options{NoTicks: true, QueueBytes: 1 << 40, Memory: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	const all = 3 * stride
	for i := range all {
		log.Append(session.Entry{Conn: 1, Stream: 1, Side: session.Client, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{[]byte{0x0a, 1, byte('a' + i%26)}}}})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(from, to int) (text string) {
		for i := from; i <= to; i++ {
			text += fmt.Sprintf(" %d", i)
		}
		return text
	}
	for name, c := range map[string]struct {
		wants []session.Seq
		want  string
	}{
		"nothing":         {nil, ""},
		"none":            {[]session.Seq{0}, ""},
		"the first":       {[]session.Seq{1}, run(1, 1)},
		"near":            {[]session.Seq{1 + stride}, run(1, 1+stride)},
		"just too far":    {[]session.Seq{2 + stride}, " 1 to 258 258"},
		"two":             {[]session.Seq{3, 2}, run(1, 3)},
		"near, then far":  {[]session.Seq{2, 3 + stride}, run(1, 2) + " to 259 259"},
		"far, then near":  {[]session.Seq{300, 303}, " 1 to 300" + run(300, 303)},
		"not there":       {[]session.Seq{all + 1}, " 1 to 769"},
		"not there, near": {[]session.Seq{all, all + 1}, " 1 to 768 768"},
	} {
		var said strings.Builder
		opened := 0
		r := newRereader(func() (Reader, error) {
			opened++
			of, err := log.Reader()
			return counted{of, &said}, err
		})
		got := map[session.Seq]int{}
		for _, seq := range c.wants {
			r.want(seq, xds.Method{}, func(f *found) error { got[seq] += len(f.data); return nil })
		}
		if err := r.read(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if said.String() != c.want || (opened > 0) != (c.want != "") || len(r.wanted) != 0 {
			t.Errorf("%s: opened %d times, read%s, want%s", name, opened, said.String(), c.want)
		}
		for _, seq := range c.wants {
			if want := map[bool]int{true: 3}[seq > 0 && seq <= all]; got[seq] != want {
				t.Errorf("%s: of entry %d %d bytes", name, seq, got[seq])
			}
		}
	}

	// Of what is no message, or not a whole one, there is nothing.
	part := &page{takers: []func(*found) error{func(f *found) error {
		if f.data != nil {
			t.Errorf("there is %q", f.data)
		}
		return nil
	}}}
	for _, m := range []*session.Message{nil, {Data: session.Chunks{[]byte("part")}, Truncated: true, Size: 9}, {Data: session.Chunks{[]byte("{}")}, Size: 2}} {
		if err := part.give(&session.Entry{Message: m}); err != nil {
			t.Error(err)
		}
	}

	// Who wanted something may have had enough, and who asks may have left.
	enough := errors.New("enough")
	ended, end := context.WithCancel(t.Context())
	end()
	for want, ctx := range map[error]context.Context{enough: t.Context(), context.Canceled: ended} {
		r := newRereader(func() (Reader, error) { return log.Reader() })
		r.want(2, xds.Method{}, func(*found) error { return enough })
		if err := r.read(ctx); !errors.Is(err, want) && status.Code(err) != status.FromContextError(want).Code() {
			t.Errorf("%v, want %v", err, want)
		}
	}
	r := newRereader(func() (Reader, error) { return nil, io.ErrUnexpectedEOF })
	r.want(2, xds.Method{}, func(*found) error { return nil })
	if err := r.read(t.Context()); status.Code(err) != codes.DataLoss {
		t.Error(err)
	}
}

// Numbers are within a range from its start on, and not at its end.
func TestNumberRange(t *testing.T) {
	t.Parallel()
	node := gateway(t) // WEIGHT is 3.5
	for _, c := range []struct {
		start, end float64
		want       bool
	}{{3.5, 3.6, true}, {3.4, 3.5, false}, {3.6, 4, false}, {0, 9, true}} {
		m := &matcherv3.NodeMatcher{NodeMetadatas: []*matcherv3.StructMatcher{{
			Path:  []*matcherv3.StructMatcher_PathSegment{{Segment: &matcherv3.StructMatcher_PathSegment_Key{Key: "WEIGHT"}}},
			Value: requestOf(t, fmt.Sprintf(`{"node_matchers": [{"node_metadatas": [{"value": {"double_match": {"range": {"start": %v, "end": %v}}}}]}]}`, c.start, c.end)).NodeMatchers[0].NodeMetadatas[0].Value,
		}}}
		s, err := selectionOf([]*matcherv3.NodeMatcher{m})
		if err != nil || s.takes(node) != c.want {
			t.Errorf("from %v to %v: %v, %v", c.start, c.end, !c.want, err)
		}
	}
}
