package alias

import (
	"strings"
	"testing"
)

// BenchmarkHostileCuts is of texts that look cut everywhere: a byte more costs the same
// however long they are.
func BenchmarkHostileCuts(b *testing.B) {
	for name, part := range map[string]string{"marks": "…", "words": "ab …", "halves": "x … y ", "colons": "a:", "beginnings": "outb…"} {
		for size, n := range map[string]int{"64K": 64 << 10, "1M": 1 << 20} {
			b.Run(name+"/"+size, func(b *testing.B) {
				a := Table{On: true}
				a.Meet("cluster", "outbound|80||web.prod")
				text := strings.Repeat(part, n/len(part))
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_ = a.Text(text)
				}
			})
		}
	}
}
