package view

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
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
	if !scr.Aliases().On {
		return name
	}
	if _, _, is := alias.HostPort(name); is {
		return scr.Aliases().Name(name)
	}
	return scr.Aliases().Text(name[strings.LastIndexByte(name, '/')+1:])
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
	case r.Severity > index.Severity(check.Error): // that of an entry is one more
		sign = "!"
	case r.Severity > index.Severity(check.Warning) || r.Flags&(index.Troubled|index.Truncated) != 0:
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

func StreamName(w *index.Words) string {
	if w.Stream == 0 {
		return "-"
	}
	return "#" + strconv.FormatUint(uint64(w.Stream), 10)
}

// Pair is the answer to a response, or what an answer is about; 0, with a word on
// why, if there is none.
func Pair(scr Screen, r *index.Row) session.Seq {
	switch other := r.Partner(); {
	case other != 0:
		return other
	case r.What.Response():
		scr.Say("no answer to %d was seen", r.Seq)
	case r.What == index.SUB || r.What == index.REQ || r.What == index.UNSUB:
		scr.Say("%d answers no response: it asks", r.Seq)
	default:
		scr.Say("%d is no message that is answered", r.Seq)
	}
	return 0
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

// ClientsOf is whom a finding is about: one client by name, or how many.
func ClientsOf(scr Screen, f *check.Finding) string {
	if n := len(f.Clients); n > 0 {
		return render.ClientCount(n, f.MoreClients)
	}
	return scr.Aliases().Name(f.Client)
}

// ClientName is the name of a client in a column.
func ClientName(scr Screen, client string, columns int) string {
	return widget.Name(scr.Seen().Names, scr.Aliases().Name(client), columns)
}

// MadeFrom says of which objects of a control plane something was made; "" if
// nothing tells.
func MadeFrom(scr Screen, list []render.Source, more bool, most int) string {
	if a := scr.Aliases(); a.On {
		list = render.Renamed(list, a.Name)
	}
	return render.MadeFrom(list, more, most)
}

func SeqText(seq session.Seq) string { return strconv.FormatUint(uint64(seq), 10) }

const (
	// ShortWidth is below which views draw their rows in a short form, without
	// titles: in a pane beside another, or on a very narrow screen.
	ShortWidth = 60
	// SplitWidth is from which what is selected is explained beside the list.
	SplitWidth = 120
	// TypeWidth is that of a column of types, StateWidth of one of states:
	// "NOTSENT" and a space.
	TypeWidth, StateWidth = 4, 8
)
