package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

type discard struct{ n session.Seq }

func (d *discard) Append(session.Entry) session.Seq { d.n++; return d.n }

// BenchmarkTap feeds one response after another, in reads of 64 KiB.
func BenchmarkTap(b *testing.B) {
	for _, size := range []int{1100, 4500, 4_500_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := newRig(nil, 256<<20)
			r.tap.cfg.Sink = &discard{}
			r.grpc(1)
			msg := prefixed(string(make([]byte, size)))
			for rest := msg; len(rest) > 0; {
				n := min(len(rest), 16384)
				r.server.framer.WriteData(1, false, rest[:n])
				rest = rest[n:]
			}
			wire := r.server.out.Bytes()
			at := time.Unix(1, 0)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for rest := wire; len(rest) > 0; {
					n := min(len(rest), 64<<10)
					r.tap.Feed(session.Server, at, rest[:n])
					rest = rest[n:]
				}
			}
		})
	}
}
