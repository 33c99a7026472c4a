// Package push turns pushes into text: lines of a list, what there is to say of
// one, and objects for machines. It decides nothing of them: that is for package
// pushes.
package push

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Look is how a word is coloured.
type Look uint8

const (
	Plain Look = iota
	Muted
	Good
	Accent
	Warned
	Bad
)

// Word is a text in its colour.
type Word struct {
	Look Look
	Text string
}

// Row is what one line says of a push. Its texts are safe on a terminal.
type Row struct {
	Sign     Word // the worst that is to be said of it
	N        string
	Time     string // to the second
	LongTime string // to the millisecond
	Version  string
	Types    []string
	Changed  Word   // how many resources
	Clients  Word   // how many of them accepted it
	In       string // the time until it was accepted last
	Notes    []Word // the worst first
}

// NewRow makes the line of a push.
func NewRow(h *pushes.Head) Row {
	r := Row{
		N: fmt.Sprint(h.N), Time: render.ShortTime(h.Begun), LongTime: render.TimeOfDay(h.Begun),
		Version: render.OrDash(render.Safe(h.Version)), Changed: changed(h), In: "-",
	}
	for _, t := range h.Types {
		r.Types = append(r.Types, render.Safe(t))
	}
	r.Sign = Word{Worst(h), " "}
	switch r.Sign.Look {
	case Bad:
		r.Sign.Text = "!"
	case Warned:
		r.Sign.Text = "~"
	}
	r.Clients = Word{Plain, render.ShortSize(int64(h.Accepted)) + "/" + render.ShortSize(int64(h.Clients))}
	if h.Accepted == h.Clients {
		r.Clients.Look = Good
	}
	if !h.LastACK.IsZero() {
		r.In = render.Duration(h.LastACK.Sub(h.Begun))
	}
	r.Notes = notes(h)
	return r
}

// Worst is the colour of the worst that is to be said of a push.
func Worst(h *pushes.Head) Look {
	switch {
	case h.Rejected > 0:
		return Bad
	case h.Gap > 0 || h.Open > 0 || h.Unsent > 0:
		return Warned
	case h.Pending > 0:
		return Accent
	case h.Left > 0 || h.Unclear > 0:
		return Muted
	}
	return Good
}

// changed says how many resources were added, changed and removed. One with a new
// name is none of these: it stands among the notes. Where part of the streams was not
// seen, that no change is known does not say that there was none.
func changed(h *pushes.Head) Word {
	var out []string
	for _, n := range []struct {
		sign  string
		count int
	}{{"+", h.Added}, {"~", h.Changed}, {"-", h.Removed}} {
		if n.count > 0 {
			out = append(out, n.sign+render.ShortSize(int64(n.count)))
		}
	}
	switch {
	case len(out) > 0:
		return Word{Plain, strings.Join(out, " ")}
	case h.Renamed > 0:
		return Word{Plain, "names"}
	case h.Unsure:
		return Word{Muted, "unknown"}
	}
	return Word{Muted, "nothing"}
}

func notes(h *pushes.Head) (out []Word) {
	add := func(look Look, n int, word string) {
		if n > 0 {
			out = append(out, Word{look, render.Number(n) + " " + word})
		}
	}
	add(Bad, h.Rejected, "rejected")
	switch {
	case h.Open > 0:
		out = append(out, Word{Warned, "gap still open"})
	case h.Gap > 0:
		out = append(out, Word{Warned, "gap " + render.Duration(h.Gap)})
	}
	add(Warned, h.Unsent, "not sent")
	add(Accent, h.Pending, "pending")
	add(Muted, h.Left, "left")
	add(Muted, h.Unclear, "unclear")
	add(Plain, h.Renamed, "renamed")
	if h.Start {
		out = append(out, Word{Muted, "start"})
	}
	if h.Unsure {
		out = append(out, Word{Muted, "not all seen"})
	}
	return out
}

// TypesIn are the types of a row in so many columns, and how many have no room.
func (r *Row) TypesIn(columns int) string {
	all := strings.Join(r.Types, " ")
	for n := len(r.Types) - 1; n > 0 && render.Width(all) > columns; n-- {
		all = strings.Join(r.Types[:n], " ") + fmt.Sprintf(" +%d", len(r.Types)-n)
	}
	return render.End(all, columns)
}

// Columns are how wide the columns of a list are, 0 for one that is left out. The
// notes have what is left.
type Columns struct{ N, Time, Version, Types, Changed, Clients, In int }

// ColumnsFor are the columns of a list where so many columns are left beside the
// sign; 0: as many as it takes.
func ColumnsFor(columns int) Columns {
	c := Columns{N: 4, Time: 8, Types: 11, Changed: 10, Clients: 9, In: 6}
	switch {
	case columns == 0 || columns >= 112:
		c.Time, c.Version, c.Types = len("15:04:05.000"), 22, 19
	case columns >= 90:
		c.Time, c.Types = len("15:04:05.000"), 15
	case columns < 60:
		c.Types, c.Changed, c.In = 7, 0, 0
	}
	return c
}

// Notable is a row's notes as one text.
func (r *Row) Notable() string {
	words := make([]string, len(r.Notes))
	for i, n := range r.Notes {
		words[i] = n.Text
	}
	return strings.Join(words, ", ")
}

func since(at, begun time.Time) string { return render.Duration(at.Sub(begun)) }
