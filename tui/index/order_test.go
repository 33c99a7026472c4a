package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// mixed is an index of entries with all kinds of cells, some of them empty.
func mixed(n int) *Index {
	x, r := New(), rand.New(rand.NewPCG(3, 4))
	for i := range n {
		e := session.Entry{Seq: session.Seq(i + 1), Time: time.Unix(1, int64(i)), Conn: session.ConnID(i%9 + 1), Stream: session.StreamID(i%9 + 1), Kind: session.KindGoAway}
		c := check.Change{Change: engine.Change{Client: fmt.Sprintf("client-%d", i%9)}}
		if i%5 != 0 {
			e.Kind, e.Message = session.KindMessage, &session.Message{Size: int64(r.IntN(1000))}
			c.Type, c.What = []string{"CDS", "EDS", "LDS"}[r.IntN(3)], []string{engine.ACK, engine.NACK, engine.RESP}[r.IntN(3)]
			c.Message = &decode.Message{Version: fmt.Sprintf("2026-01-01T00:00:%02d", r.IntN(60))}
		}
		x.add(&e, &c)
	}
	return x
}

// Each order has every row once; texts rise, numbers fall, what has neither is at
// the end whichever way round, and equal rows are as they came.
func TestOrder(t *testing.T) {
	x := mixed(3 * blockRows / 2)
	part := x.Order(ByVersion, []uint32{9, 7, 8, 6}, false)
	if slices.Sort(part); !slices.Equal(part, []uint32{6, 7, 8, 9}) {
		t.Errorf("of four rows, %v", part)
	}
	text := map[Column]func(Words, *Row) string{
		ByClient:  func(w Words, _ *Row) string { return w.Client },
		ByType:    func(w Words, _ *Row) string { return w.Type },
		ByVersion: func(w Words, _ *Row) string { return w.Version },
		BySize:    func(_ Words, r *Row) string { return cell(r.Size) },
		ByWhat: func(_ Words, r *Row) string {
			if r.What == Nothing {
				return ""
			}
			return fmt.Sprint(int(r.What))
		},
	}
	for by, of := range text {
		for _, turned := range []bool{false, true} {
			rows := x.Order(by, nil, turned)
			all := slices.Clone(rows)
			slices.Sort(all)
			if len(all) != x.Len() || all[0] != 0 || len(slices.Compact(all)) != x.Len() {
				t.Fatalf("%d: %d rows of %d", by, len(all), x.Len())
			}
			falls := turned != (by == BySize)
			for i := 1; i < len(rows); i++ {
				ra, _ := x.Row(int(rows[i-1]))
				rb, _ := x.Row(int(rows[i]))
				a, b := of(x.Words(&ra), &ra), of(x.Words(&rb), &rb)
				switch {
				case a == b && rows[i-1] > rows[i]:
					t.Fatalf("%d, turned %v: two that are equal changed places", by, turned)
				case a == b, b == "":
				case a == "", (a < b) == falls:
					t.Fatalf("%d, turned %v: %q comes before %q", by, turned, a, b)
				}
			}
		}
	}
	if rows := x.Order(BySeq, nil, true); !slices.IsSortedFunc(rows, func(a, b uint32) int { return int(b) - int(a) }) {
		t.Error("the last one is not the first")
	}
}

func cell(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%012d", n)
}

func BenchmarkOrder(b *testing.B) {
	x := mixed(1_000_000)
	for _, by := range []Column{ByClient, ByVersion, BySize} {
		b.Run(fmt.Sprint(by), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Order(by, nil, false)
			}
		})
	}
}
