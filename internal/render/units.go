package render

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// ShortSize writes a number of bytes in at most five characters, in powers of
// 1,000: "980", "6.2k", "41k", "1.1M".
func ShortSize(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return scaled(n, 1000, []string{"k", "M", "G", "T", "P", "E"})
}

// Size writes a number of bytes with its unit, in powers of 1,024: "980 B",
// "4.4 MiB".
func Size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return scaled(n, 1024, []string{" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

// scaled keeps one decimal below ten and none above, and never writes ".0".
func scaled(n, base int64, units []string) string {
	v, unit := float64(n)/float64(base), 0
	for unit < len(units)-1 && v >= float64(base)-0.5 {
		v /= float64(base)
		unit++
	}
	if tenths := int64(v*10 + 0.5); tenths < 100 && tenths%10 != 0 {
		return strconv.FormatFloat(v, 'f', 1, 64) + units[unit]
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + units[unit]
}

// Duration writes a span of time as people say it, two units at most: "3.1ms",
// "4.1s", "12m 41s", "3d 4h".
func Duration(d time.Duration) string {
	switch {
	case d == math.MinInt64: // what time.Time.Sub says of times too far apart
		return "-" + Duration(math.MaxInt64)
	case d < 0:
		return "-" + Duration(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d.Nanoseconds())
	case d < time.Millisecond:
		return spanOf(d, time.Microsecond) + "µs"
	case d < time.Second:
		return spanOf(d, time.Millisecond) + "ms"
	case d < time.Minute:
		return spanOf(d, time.Second) + "s"
	case d < time.Hour:
		return pair(d, time.Minute, "m", time.Second, "s")
	case d < 24*time.Hour:
		return pair(d, time.Hour, "h", time.Minute, "m")
	}
	return pair(d, 24*time.Hour, "d", time.Hour, "h")
}

// spanOf cuts instead of rounding, so that 999.9ms never reads as 1000ms.
func spanOf(d, unit time.Duration) string {
	tenths := d / (unit / 10)
	if tenths < 100 && tenths%10 != 0 {
		return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
	}
	return strconv.FormatInt(int64(d/unit), 10)
}

func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d%s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d%s", rest, smallName)
	}
	return s
}

// Count writes a number with its noun: "1 stream", "12,345 entries".
func Count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number writes a number with its thousands set apart.
func Number[N int | int64 | uint64](n N) string {
	s, start := fmt.Sprint(n), 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
