package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Welcome is what an empty live view says.
func Welcome(log *Log) []widget.Line {
	if log.Proxy == nil || len(log.Proxy.Routes) == 0 {
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   Nothing has passed yet.")}
	}
	r := log.Proxy.Routes[0]
	return []widget.Line{
		widget.Blank(), widget.Text(widget.Plain, "   No client has connected yet."),
		widget.Text(widget.Plain, "   Listening on "+r.Listen+", upstream "+r.Upstream+"."),
		widget.Text(widget.Plain, "   Point an Envoy ADS cluster or a gRPC bootstrap at that address."),
		widget.Spans(widget.In(widget.Muted, "   b: "), widget.In(widget.Plain, "show a ready bootstrap   "), widget.In(widget.Muted, "E: "), widget.In(widget.Plain, "event log")),
	}
}

// SourceName is what the source is called, without where it is if that is
// private.
func SourceName(scr Screen) string {
	name := scr.Log().Name
	if scr.Aliases().On {
		name = scr.Aliases().Text(name[strings.LastIndexByte(name, '/')+1:])
	}
	return name
}

// LookOf is the colour and the sign of a row: what it proves, or what it is.
func LookOf(r *index.Row) (widget.Role, string) {
	look, sign := widget.Plain, " "
	switch r.What {
	case index.NACK:
		look, sign = widget.Bad, "!"
	case index.ACK:
		look = widget.Good
	case index.RESP, index.DELTA:
		look = widget.Accent
	}
	if r.Kind != session.KindMessage {
		look = widget.Muted
		if r.Flags&index.Aside != 0 {
			look, sign = widget.Warned, "~"
		}
		if r.Kind == session.KindGap {
			look, sign = widget.Bad, "!"
		}
	}
	switch {
	case r.Severity > index.Severity(check.Warning):
		sign = "!"
	case r.Severity > index.Severity(check.Info) || r.Flags&(index.Troubled|index.Truncated) != 0:
		if sign == " " {
			sign = "~"
		}
	case r.Severity > 0 && sign == " ":
		sign = "i"
	}
	return look, sign
}

func SeverityRole(s check.Severity) widget.Role {
	switch s {
	case check.Error:
		return widget.Bad
	case check.Warning:
		return widget.Warned
	}
	return widget.Muted
}

func EventWord(r *index.Row) string {
	switch r.Kind {
	case session.KindUnknown:
		return "…"
	case session.KindConnect:
		return "CONN"
	case session.KindOpen:
		return "OPEN"
	case session.KindHeader:
		return "HEAD"
	case session.KindHalfClose:
		return "HALF"
	case session.KindTrailer, session.KindCancel:
		return "CLOSE"
	case session.KindGoAway:
		return "GOAWAY"
	case session.KindDisconnect:
		return "GONE"
	}
	return r.Kind.String()
}

func StreamName(w *index.Words) string {
	if w.Stream == 0 {
		return "-"
	}
	return "#" + strconv.FormatUint(uint64(w.Stream), 10)
}

// StateRole is the colour beside a state.
func StateRole(s engine.State) widget.Role {
	switch s {
	case engine.Synced:
		return widget.Good
	case engine.Pending:
		return widget.Accent
	case engine.Unknown, engine.NotSent, engine.Stale:
		return widget.Warned
	case engine.Nacked:
		return widget.Bad
	}
	return widget.Muted
}

// Age writes how long ago something was, short.
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
func SeveritySign(s check.Severity) string {
	switch s {
	case check.Error:
		return "!"
	case check.Warning:
		return "~"
	}
	return "i"
}

func ShortTime(t time.Time) string { return t.UTC().Format("15:04:05") }

// ClientsOf is whom a finding is about: one client by name, or how many.
func ClientsOf(scr Screen, f *check.Finding) string {
	if n := len(f.Clients); n > 0 {
		return render.ClientCount(n, f.MoreClients)
	}
	return scr.Aliases().Name(f.Client)
}

func SeqText(seq session.Seq) string { return strconv.FormatUint(uint64(seq), 10) }
