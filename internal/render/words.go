package render

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// EventWord is what an entry that is no message is called in a column. Where it is of
// a file that is watched, headers are what happened to that.
func EventWord(k session.Kind, v xds.Variant) string {
	switch k {
	case session.KindUnknown:
		return "…"
	case session.KindConnect:
		return "CONN"
	case session.KindOpen:
		return "OPEN"
	case session.KindHeader:
		if v == xds.VariantFile {
			return "FILE"
		}
		return "HEAD"
	case session.KindHalfClose:
		return "HALF"
	case session.KindTrailer, session.KindCancel:
		return "CLOSE"
	case session.KindGoAway:
		return "GOAWAY"
	case session.KindDisconnect:
		return "GONE"
	case session.KindHeld:
		return "HELD"
	}
	return k.String()
}

// SeveritySign is the sign before what a rule found.
func SeveritySign(s check.Severity) string {
	sign, _ := severityLook(s.String())
	return sign
}

// Age is how long ago something was, in one unit, rounded down but for tenths of
// seconds below ten.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// ShortTime is a time of day in seconds, LongTime one in microseconds, both of
// UTC.
func ShortTime(t time.Time) string { return t.UTC().Format("15:04:05") }

func LongTime(t time.Time) string { return t.UTC().Format("15:04:05.000000") }

// TimeOfDay is a time of day in milliseconds, of UTC.
func TimeOfDay(t time.Time) string { return t.UTC().Format(timeForm) }

// OrDash is a text in a column, where there is nothing a dash.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Clock writes a duration as hours, minutes and seconds.
func Clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
