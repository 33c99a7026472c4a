package columns

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// text is a text of a peer as Parquet takes it: a byte that is no UTF-8 is written
// as \xNN, so that different names stay different.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02X`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func texts(list []string) []string {
	for i, s := range list {
		if !utf8.ValidString(s) {
			out := append([]string(nil), list[:i]...)
			for _, s := range list[i:] {
				out = append(out, text(s))
			}
			return out
		}
	}
	return list
}

func ptr[T any](v T) *T { return &v }

// micros is a time; nil if it is not known.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return ptr(microsOf(t))
}

// The years from 1 to 9999 are those that engines can print.
const (
	leastMicros = -62135596800 * 1_000_000
	mostMicros  = 253402300800*1_000_000 - 1
)

// microsOf is a time in microseconds since 1970, rounded down.
func microsOf(t time.Time) int64 {
	sec := t.Unix()
	if sec < leastMicros/1_000_000 || sec > mostMicros/1_000_000 {
		return map[bool]int64{false: leastMicros, true: mostMicros}[sec > 0]
	}
	return t.UnixMicro()
}
