package stats

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.known == nil {
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   counting")}
	}
	s := v.known
	out := v.rates(scr, w)
	roomy := h >= 30
	if roomy {
		out = append(out, widget.Blank())
	}
	// The recorder has the last lines, the biggest messages at least four.
	last := v.recorder(scr)
	types := min(len(s.Types), max(1, h-len(out)-2-4-len(last)))
	if w >= view.ShortWidth {
		types = min(types, max(3, (h-len(out))/2))
	}
	out = append(out, v.types(scr, w, types)...)
	if roomy {
		out = append(out, widget.Blank())
	}
	rest := h - len(out) - len(last)
	if roomy {
		rest--
	}
	big := v.biggest(scr, w, rest, len(out))
	out = append(out, big...)
	if roomy {
		out = append(out, widget.Blank())
	}
	out = append(out, last...)
	if room := h - len(out) - 1; room > 4 && w >= 100 {
		out = append(append(out, widget.Blank()), v.waits(scr, w, room)...)
	}
	return out[:min(len(out), h)]
}

// rates are the lines for both directions, and for NACKs.
func (v *View) rates(scr view.Screen, w int) []widget.Line {
	s := v.known
	const label, number = 10, 8
	spark := min(max(w-label-5*(number+1)-2, 0), index.StatSeconds)
	if w < view.ShortWidth {
		spark = max(w-label-2*(number+1)-2, 0)
	}
	seconds := min(max(int(s.Long/time.Second)+1, 1), index.StatSeconds)
	if w >= view.ShortWidth {
		spark = min(spark, max(seconds, len("last 2 minutes")))
	}
	head := " " + widget.Left("PER SECOND", label) + " " + widget.Left(lastSeconds(seconds), spark)
	head += widget.Right("now", number) + " " + widget.Right("mean", number)
	if w >= view.ShortWidth {
		head += " " + widget.Right("most", number) + " " + widget.Right("MESSAGES", number+1) + " " + widget.Right("BYTES", number)
	}
	out := []widget.Line{widget.Text(widget.Muted, head)}
	row := func(name string, look widget.Role, per func(*index.Second) float64, total, bytes uint64, size bool) {
		rates := make([]float64, 0, index.StatSeconds)
		for i := range s.Recent {
			rates = append(rates, per(&s.Recent[i]))
		}
		rates = rates[index.StatSeconds-seconds:]
		now, mean, most := rateSummary(rates)
		write := func(f float64) string {
			if size {
				return render.ShortSize(int64(f))
			}
			return rate(f)
		}
		l := widget.Text(widget.Plain, " "+widget.Left(name, label)+" ")
		l.Add(look, widget.Left(sparkline(rates, spark, scr.Theme().Glyph.Spark), spark))
		l.Add(widget.Plain, widget.Right(write(now), number)+" "+widget.Right(write(mean), number))
		if w >= view.ShortWidth {
			l.Add(widget.Plain, " "+widget.Right(write(most), number)+" "+widget.Right(render.Number(total), number+1)+" ")
			if bytes > 0 {
				l.Add(widget.Plain, widget.Right(render.ShortSize(int64(bytes)), number))
			}
		}
		out = append(out, l)
	}
	row("requests", widget.Accent, func(x *index.Second) float64 { return float64(x.Messages[index.ToServer]) }, s.Messages[index.ToServer], s.Bytes[index.ToServer], false)
	row("responses", widget.Accent, func(x *index.Second) float64 { return float64(x.Messages[index.ToClient]) }, s.Messages[index.ToClient], s.Bytes[index.ToClient], false)
	look := widget.Plain
	if s.Nacks > 0 {
		look = widget.Bad
	}
	row("NACKs", look, func(x *index.Second) float64 { return float64(x.Nacks) }, s.Nacks, 0, false)
	return out
}

// lastSeconds says what the columns of a sparkline are.
func lastSeconds(n int) string {
	if n == index.StatSeconds {
		return "last 2 minutes"
	}
	return fmt.Sprintf("last %d s", n)
}

// rateSummary is the rate of the last ten seconds, of all, and the highest.
func rateSummary(rates []float64) (now, mean, most float64) {
	for i, r := range rates {
		mean += r
		most = math.Max(most, r)
		if i >= len(rates)-10 {
			now += r
		}
	}
	return now / float64(min(10, len(rates))), mean / float64(len(rates)), most
}

func rate(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.1:
		return "<0.1"
	case f < 10:
		return fmt.Sprintf("%.1f", f)
	}
	return render.ShortSize(int64(f + 0.5))
}

// sparkline draws values in so many columns, the lowest sign for what is not
// nothing but little. Each column is the highest of its values.
func sparkline(values []float64, columns int, signs string) string {
	if columns <= 0 || len(values) == 0 {
		return ""
	}
	steps := []rune(signs)
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v)
	}
	var b strings.Builder
	for c := range min(columns, len(values)) {
		n := min(columns, len(values))
		from, to := c*len(values)/n, (c+1)*len(values)/n
		high := 0.0
		for _, v := range values[from:to] {
			high = math.Max(high, v)
		}
		if high == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(steps[min(int(high/most*float64(len(steps))), len(steps)-1)])
	}
	return b.String()
}

// types is the table of types.
func (v *View) types(scr view.Screen, w, most int) []widget.Line {
	s := v.known
	wide := w >= 100
	short := w < view.ShortWidth
	seconds := min(max(int(s.Long/time.Second)+1, 1), index.StatSeconds)
	head := " " + widget.Left("TYPE", 6) + widget.Right("REQ", 8) + widget.Right("RESP", 8)
	if wide {
		head += widget.Right("REQ/s", 7) + widget.Right("RESP/s", 7)
	}
	if !short {
		head += widget.Right("IN", 7) + widget.Right("OUT", 7) + widget.Right("ACK", 7)
	}
	head += widget.Right("NACK", 6)
	if !short {
		head += widget.Right("AGAIN", 6) + widget.Right("ACK p50", 9) + widget.Right("p99", 7) + widget.Right("max ms", 8)
	}
	if wide {
		head += "  " + lastSeconds(seconds)
	}
	out := []widget.Line{widget.Text(widget.Muted, head)}
	for i := range s.Types[:min(most, len(s.Types))] {
		t := &s.Types[i]
		l := widget.Text(widget.Plain, " "+widget.Middle(render.OrDash(t.Type), 5)+" ")
		l.Add(widget.Plain, widget.Right(render.ShortSize(int64(t.Messages[index.ToServer])), 8)+widget.Right(render.ShortSize(int64(t.Messages[index.ToClient])), 8))
		rates := [2][]float64{}
		for _, x := range t.Recent[index.StatSeconds-seconds:] {
			for d := range rates {
				rates[d] = append(rates[d], float64(x[d]))
			}
		}
		if wide {
			for d := range rates {
				now, _, _ := rateSummary(rates[d])
				l.Add(widget.Plain, widget.Right(rate(now), 7))
			}
		}
		if !short {
			l.Add(widget.Plain, widget.Right(render.ShortSize(int64(t.Bytes[index.ToServer])), 7)+widget.Right(render.ShortSize(int64(t.Bytes[index.ToClient])), 7))
			l.Add(widget.Plain, widget.Right(render.ShortSize(int64(t.Acks)), 7))
		}
		look := widget.Plain
		if t.Nacks > 0 {
			look = widget.Bad
		}
		l.Add(look, widget.Right(render.ShortSize(int64(t.Nacks)), 6))
		if !short {
			look = widget.Plain
			if t.Again > 0 {
				look = widget.Warned
			}
			l.Add(look, widget.Right(render.ShortSize(int64(t.Again)), 6))
			l.Add(widget.Plain, widget.Right(waitWords(&t.Wait, 0.5), 9)+widget.Right(waitWords(&t.Wait, 0.99), 7)+widget.Right(waitWords(&t.Wait, 1), 8))
		}
		if wide {
			both := make([]float64, len(rates[0]))
			for i := range both {
				both[i] = rates[0][i] + rates[1][i]
			}
			l.Add(widget.Accent, "  "+sparkline(both, min(w-l.Width()-3, index.StatSeconds), scr.Theme().Glyph.Spark))
		}
		out = append(out, l)
	}
	if more := len(s.Types) - most; more > 0 {
		out = append(out, widget.Text(widget.Muted, fmt.Sprintf(" and %s", render.Count(more, "more type", "more types"))))
	}
	return out
}

// waits is how long answers took, in steps of a power of two.
func (v *View) waits(scr view.Screen, w, h int) []widget.Line {
	counts, from := v.known.Wait.Buckets()
	if len(counts) == 0 {
		return nil
	}
	out := []widget.Line{widget.Text(widget.Muted, " UNTIL AN ACK OR NACK      COUNT")}
	step := time.Duration(2)
	for len(counts) >= h { // there is room for several
		var pairs []uint64
		for i := 0; i < len(counts); i += 2 {
			n := counts[i]
			if i+1 < len(counts) {
				n += counts[i+1]
			}
			pairs = append(pairs, n)
		}
		counts, step = pairs, step*step
	}
	full := []rune(scr.Theme().Glyph.Spark)
	most := uint64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	for _, n := range counts {
		l := widget.Text(widget.Plain, " "+widget.Right("< "+render.Duration(from*step), 18)+widget.Right(render.Number(n), 14)+"  ")
		bar := int(n * uint64(min(max(w-l.Width()-2, 1), 60)) / max(most, 1))
		if n > 0 {
			bar = max(bar, 1)
		}
		l.Add(widget.Accent, widget.Repeat(string(full[len(full)-1]), bar))
		out = append(out, l)
		from *= step
	}
	return out
}

func waitWords(x *index.Waits, share float64) string {
	if x.Count() == 0 {
		return "-"
	}
	d := x.Quantile(share)
	if share == 1 {
		d = x.Max()
	}
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
	}
	return render.Number(int64(d / time.Millisecond))
}

// biggest is the list of the biggest messages, and beside it, or below, that of
// the clients that talk most.
func (v *View) biggest(scr view.Screen, w, h, top int) []widget.Line {
	beneath := w < 80
	half := w/2 - 1
	if beneath {
		half = w
	}
	list := v.bigLines(scr, half, h)
	v.first, v.columns = top+1, half
	if beneath {
		return list
	}
	s := v.known
	talk := []widget.Line{widget.Spans(widget.In(widget.Muted, " "+widget.Left("TOP TALKERS", half-20)+widget.Right("MESSAGES", 9)+widget.Right("BYTES", 8)))}
	for i := range s.Talkers[:min(len(s.Talkers), max(h-1, 0))] {
		t := &s.Talkers[i]
		talk = append(talk, widget.Spans(widget.In(widget.Plain, " "+view.ClientName(scr, t.Client, half-20)),
			widget.In(widget.Plain, widget.Right(render.ShortSize(int64(t.Messages)), 9)+widget.Right(render.ShortSize(int64(t.Bytes)), 8))))
	}
	if len(s.Talkers) == 0 {
		talk = append(talk, widget.Text(widget.Muted, " no client has named itself"))
	}
	return widget.Beside(scr.Theme(), list, half, talk)
}

func (v *View) bigLines(scr view.Screen, w, h int) []widget.Line {
	s := v.known
	name := max(w-4-8-5-6-7, 4)
	out := []widget.Line{widget.Text(widget.Muted, "  "+widget.Left("BIGGEST", 8)+" "+widget.Left("CLIENT", name)+" "+widget.Left("TYPE", 5)+widget.Left("WHAT", 6)+widget.Right("SIZE", 6))}
	rows := max(h-1, 1)
	v.win.Fit(len(s.Biggest), rows)
	for i := v.win.Top; i < min(v.win.Top+rows, len(s.Biggest)); i++ {
		b := &s.Biggest[i]
		l := widget.Text(widget.Plain, "  ")
		l.Choose(i == v.win.At)
		l.Add(widget.Plain, widget.Left(fmt.Sprint(uint64(b.Row.Seq)), 8)+" "+view.ClientName(scr, render.OrDash(b.Client), name)+" ")
		l.Add(widget.Plain, widget.Middle(render.OrDash(b.Type), 4)+" ")
		look, _ := view.LookOf(&b.Row)
		l.Add(look, widget.Left(render.OrDash(b.Row.What.String()), 6))
		l.Add(widget.Plain, widget.Right(render.ShortSize(int64(b.Row.Size)), 6))
		out = append(out, l)
	}
	if len(s.Biggest) == 0 {
		out = append(out, widget.Text(widget.Muted, "  no message has passed yet"))
	}
	return out
}

// recorder is how the log and this process do.
func (v *View) recorder(scr view.Screen) []widget.Line {
	s := v.known
	l := widget.Text(widget.Muted, " LOG   ")
	add := func(name string, n uint64, look widget.Role) {
		if n == 0 {
			look = widget.Plain
		}
		l.Add(widget.Muted, name+" ")
		l.Add(look, render.Number(n)+"   ")
	}
	add("entries", uint64(s.Last), widget.Plain)
	add("gaps", s.Gaps, widget.Bad)
	add("lost", s.Missed, widget.Bad)
	more := widget.Text(widget.Muted, " ")
	if st := v.log; st != nil {
		add("behind", uint64(max(st.Last, s.Last)-s.Last), widget.Warned)
		more.Add(widget.Muted, "RECORDER   queued ")
		more.Add(widget.Plain, render.Size(st.Queued)+"   ")
		more.Add(widget.Muted, "file ")
		more.Add(widget.Plain, render.Size(st.Bytes)+"   ")
		look := widget.Plain
		if st.Lost > 0 {
			look = widget.Bad
		}
		more.Add(widget.Muted, "dropped ")
		more.Add(look, render.Number(st.Lost)+"   ")
		if st.Losses > 0 {
			more.Add(widget.Muted, "files taken away ")
			more.Add(widget.Bad, render.Number(st.Losses)+"   ")
		}
		if st.Failing {
			more.Add(widget.Bad, "THE FILE CANNOT BE WRITTEN   ")
		}
	} else {
		add("behind", uint64(max(scr.Log().Last, s.Last)-s.Last), widget.Warned)
		facts := scr.Log().Feed.Facts()
		if facts.Bytes > 0 {
			more.Add(widget.Muted, "FILE   ")
			more.Add(widget.Plain, render.Size(facts.Bytes)+"   ")
		}
	}
	more.Add(widget.Muted, "memory of this process ")
	more.Add(widget.Plain, render.Size(int64(v.memory)))
	out := []widget.Line{l, more}
	if v.archive != nil {
		out = append(out, archiveLine(v.archive))
	}
	if n := v.Past.Forgotten; n > 0 {
		out = append(out, widget.Spans(widget.In(widget.Muted, " PAST   "), widget.In(widget.Warned, "forgotten "+render.Count(n, "time", "times")),
			widget.In(widget.Muted, "   "+render.Size(v.Past.Past)+" of "+render.Size(v.Past.Budget)+" are what is over: rules know less of it")))
	}
	return out
}

// archiveLine is what was uploaded, and what is not yet.
func archiveLine(a *source.Archived) widget.Line {
	l := widget.Text(widget.Muted, " ARCHIVE   uploaded ")
	l.Add(widget.Plain, render.Count(a.Done, "segment", "segments")+", "+render.Size(a.DoneBytes)+"   ")
	l.Add(widget.Muted, "waiting ")
	waiting, look := render.Number(a.Pending), widget.Plain
	if a.Pending > 0 {
		waiting += ", " + render.Size(a.PendingBytes) + ", for " + render.Duration(a.Oldest.Truncate(time.Second))
	}
	if a.Stalled {
		look = widget.Warned
	}
	l.Add(look, waiting+"   ")
	for _, x := range []struct {
		name string
		n    uint64
	}{{"failed", a.Failed}, {"deleted before", a.Dropped}} {
		if x.n > 0 {
			l.Add(widget.Muted, x.name+" ")
			l.Add(widget.Bad, render.Number(x.n)+"   ")
		}
	}
	if a.Stalled {
		l.Add(widget.Bad, "THE ARCHIVE CANNOT BE REACHED   ")
	}
	return l
}
