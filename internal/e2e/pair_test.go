package e2e

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

func TestPair(t *testing.T) {
	// stream has what its client asked for first, and so many responses.
	stream := func(local, asked string, responses int) *conversation {
		c := &conversation{local: local, method: "/ADS", sent: map[session.Side][]message{}}
		if asked != "" {
			c.sent[session.Client] = []message{{Names: asked}}
		}
		c.sent[session.Server] = make([]message, responses)
		return c
	}
	for _, c := range []struct {
		name           string
		seen, recorded []*conversation
		want           []int // by what was seen: the place in the recording, -1 for none
	}{
		{
			"the server never saw the second stream of a connection",
			[]*conversation{stream("a", "x", 4)},
			[]*conversation{stream("a", "x", 4), stream("a", "y", 0)},
			[]int{0},
		},
		{
			"the server read nothing of the second stream",
			[]*conversation{stream("a", "x", 4), stream("a", "", 0)},
			[]*conversation{stream("a", "x", 4), stream("a", "x", 0)},
			[]int{0, 1},
		},
		{
			"the server read nothing of the first stream",
			[]*conversation{stream("a", "", 0), stream("a", "x", 4)},
			[]*conversation{stream("a", "y", 0), stream("a", "x", 4)},
			[]int{0, 1},
		},
		{
			"two streams that begin in another order in the server",
			[]*conversation{stream("a", "x", 1), stream("a", "y", 2)},
			[]*conversation{stream("a", "y", 2), stream("a", "x", 1)},
			[]int{1, 0},
		},
		{
			"two streams that ask for the same, one after the other",
			[]*conversation{stream("a", "x", 1), stream("a", "x", 2)},
			[]*conversation{stream("a", "x", 1), stream("a", "x", 2)},
			[]int{0, 1},
		},
		{
			"streams of two connections",
			[]*conversation{stream("a", "x", 1), stream("b", "x", 2)},
			[]*conversation{stream("b", "x", 2), stream("a", "x", 1)},
			[]int{1, 0},
		},
		{
			"a stream that is not in the recording",
			[]*conversation{stream("a", "x", 1)},
			[]*conversation{stream("b", "x", 1)},
			[]int{-1},
		},
	} {
		pairs, alone := pair(c.seen, c.recorded)
		if len(pairs)+len(alone) != len(c.recorded) {
			t.Errorf("%s: %d pairs, and %d of %d are left over", c.name, len(pairs), len(alone), len(c.recorded))
		}
		for i, s := range c.seen {
			if at := slices.Index(c.recorded, pairs[s]); at != c.want[i] {
				t.Errorf("%s: stream %d is paired with %d, not %d", c.name, i, at, c.want[i])
			}
		}
	}
}
