package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

func (v *stats) draw(m *Model, w, h int) []line {
	if v.known == nil {
		return []line{blank(), text(muted, "   counting")}
	}
	s := v.known
	out := v.rates(m, w)
	roomy := h >= 30
	if roomy {
		out = append(out, blank())
	}
	// The recorder has the last lines, the biggest messages at least four.
	last := v.recorder(m)
	types := min(len(s.Types), max(1, h-len(out)-2-4-len(last)))
	if w >= shortWidth {
		types = min(types, max(3, (h-len(out))/2))
	}
	out = append(out, v.types(m, w, types)...)
	if roomy {
		out = append(out, blank())
	}
	rest := h - len(out) - len(last)
	if roomy {
		rest--
	}
	big := v.biggest(m, w, rest, len(out))
	out = append(out, big...)
	if roomy {
		out = append(out, blank())
	}
	out = append(out, last...)
	if room := h - len(out) - 1; room > 4 && w >= 100 {
		out = append(append(out, blank()), v.waits(m, w, room)...)
	}
	return out[:min(len(out), h)]
}

// rates are the lines for both directions, and for NACKs.
func (v *stats) rates(m *Model, w int) []line {
	s := v.known
	const label, number = 10, 8
	spark := min(max(w-label-5*(number+1)-2, 0), index.StatSeconds)
	if w < shortWidth {
		spark = max(w-label-2*(number+1)-2, 0)
	}
	seconds := min(max(int(s.Long/time.Second)+1, 1), index.StatSeconds)
	if w >= shortWidth {
		spark = min(spark, max(seconds, len("last 2 minutes")))
	}
	head := " " + left("PER SECOND", label) + " " + left(lastSeconds(seconds), spark)
	head += right("now", number) + " " + right("mean", number)
	if w >= shortWidth {
		head += " " + right("most", number) + " " + right("MESSAGES", number+1) + " " + right("BYTES", number)
	}
	out := []line{text(muted, head)}
	row := func(name string, look role, per func(*index.Second) float64, total, bytes uint64, size bool) {
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
		l := text(plain, " "+left(name, label)+" ")
		l.add(look, left(sparkline(rates, spark, m.theme.glyph.spark), spark))
		l.add(plain, right(write(now), number)+" "+right(write(mean), number))
		if w >= shortWidth {
			l.add(plain, " "+right(write(most), number)+" "+right(render.Number(total), number+1)+" ")
			if bytes > 0 {
				l.add(plain, right(render.ShortSize(int64(bytes)), number))
			}
		}
		out = append(out, l)
	}
	row("requests", accent, func(x *index.Second) float64 { return float64(x.Messages[index.ToServer]) }, s.Messages[index.ToServer], s.Bytes[index.ToServer], false)
	row("responses", accent, func(x *index.Second) float64 { return float64(x.Messages[index.ToClient]) }, s.Messages[index.ToClient], s.Bytes[index.ToClient], false)
	look := plain
	if s.Nacks > 0 {
		look = bad
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
func (v *stats) types(m *Model, w, most int) []line {
	s := v.known
	wide := w >= 100
	short := w < shortWidth
	seconds := min(max(int(s.Long/time.Second)+1, 1), index.StatSeconds)
	head := " " + left("TYPE", 6) + right("REQ", 8) + right("RESP", 8)
	if wide {
		head += right("REQ/s", 7) + right("RESP/s", 7)
	}
	if !short {
		head += right("IN", 7) + right("OUT", 7) + right("ACK", 7)
	}
	head += right("NACK", 6)
	if !short {
		head += right("AGAIN", 6) + right("ACK p50", 9) + right("p99", 7) + right("max ms", 8)
	}
	if wide {
		head += "  " + lastSeconds(seconds)
	}
	out := []line{text(muted, head)}
	for i := range s.Types[:min(most, len(s.Types))] {
		t := &s.Types[i]
		l := text(plain, " "+middle(orDash(t.Type), 5)+" ")
		l.add(plain, right(render.ShortSize(int64(t.Messages[index.ToServer])), 8)+right(render.ShortSize(int64(t.Messages[index.ToClient])), 8))
		rates := [2][]float64{}
		for _, x := range t.Recent[index.StatSeconds-seconds:] {
			for d := range rates {
				rates[d] = append(rates[d], float64(x[d]))
			}
		}
		if wide {
			for d := range rates {
				now, _, _ := rateSummary(rates[d])
				l.add(plain, right(rate(now), 7))
			}
		}
		if !short {
			l.add(plain, right(render.ShortSize(int64(t.Bytes[index.ToServer])), 7)+right(render.ShortSize(int64(t.Bytes[index.ToClient])), 7))
			l.add(plain, right(render.ShortSize(int64(t.Acks)), 7))
		}
		look := plain
		if t.Nacks > 0 {
			look = bad
		}
		l.add(look, right(render.ShortSize(int64(t.Nacks)), 6))
		if !short {
			look = plain
			if t.Again > 0 {
				look = warned
			}
			l.add(look, right(render.ShortSize(int64(t.Again)), 6))
			l.add(plain, right(waitWords(&t.Wait, 0.5), 9)+right(waitWords(&t.Wait, 0.99), 7)+right(waitWords(&t.Wait, 1), 8))
		}
		if wide {
			both := make([]float64, len(rates[0]))
			for i := range both {
				both[i] = rates[0][i] + rates[1][i]
			}
			l.add(accent, "  "+sparkline(both, min(w-l.width()-3, index.StatSeconds), m.theme.glyph.spark))
		}
		out = append(out, l)
	}
	if more := len(s.Types) - most; more > 0 {
		out = append(out, text(muted, fmt.Sprintf(" and %s", render.Count(more, "more type", "more types"))))
	}
	return out
}

// waits is how long answers took, in steps of a power of two.
func (v *stats) waits(m *Model, w, h int) []line {
	counts, from := v.known.Wait.Buckets()
	if len(counts) == 0 {
		return nil
	}
	out := []line{text(muted, " UNTIL AN ACK OR NACK      COUNT")}
	step := time.Duration(2)
	for len(counts) >= h && len(counts) > 1 {
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
	full := []rune(m.theme.glyph.spark)
	most := uint64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	for _, n := range counts[:min(len(counts), h-1)] {
		l := text(plain, " "+right("< "+render.Duration(from*step), 18)+right(render.Number(n), 14)+"  ")
		bar := int(n * uint64(min(max(w-l.width()-2, 1), 60)) / max(most, 1))
		if n > 0 {
			bar = max(bar, 1)
		}
		l.add(accent, repeat(string(full[len(full)-1]), bar))
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
func (v *stats) biggest(m *Model, w, h, top int) []line {
	beneath := w < 80
	half := w/2 - 1
	if beneath {
		half = w
	}
	list := v.bigLines(m, half, h)
	v.first, v.columns = top+1, [2]int{0, half}
	if beneath {
		return list
	}
	s := v.known
	talk := []line{spans(span{muted, " " + left("TOP TALKERS", half-20) + right("MESSAGES", 9) + right("BYTES", 8)})}
	for i := range s.Talkers[:min(len(s.Talkers), max(h-1, 0))] {
		t := &s.Talkers[i]
		talk = append(talk, spans(span{plain, " " + middle(m.alias(t.Client), half-20)},
			span{plain, right(render.ShortSize(int64(t.Messages)), 9) + right(render.ShortSize(int64(t.Bytes)), 8)}))
	}
	if len(s.Talkers) == 0 {
		talk = append(talk, text(muted, " no client has named itself"))
	}
	return beside(&m.theme, list, half, talk)
}

func (v *stats) bigLines(m *Model, w, h int) []line {
	s := v.known
	name := max(w-4-8-5-6-7, 4)
	out := []line{text(muted, "  "+left("BIGGEST", 8)+" "+left("CLIENT", name)+" "+left("TYPE", 5)+left("WHAT", 6)+right("SIZE", 6))}
	rows := max(h-1, 1)
	v.win.fit(len(s.Biggest), rows)
	for i := v.win.top; i < min(v.win.top+rows, len(s.Biggest)); i++ {
		b := &s.Biggest[i]
		l := text(plain, "  ")
		if l.selected = i == v.win.at; l.selected {
			l.spans[0].text = "> "
		}
		l.add(plain, left(fmt.Sprint(uint64(b.Row.Seq)), 8)+" "+middle(orDash(m.alias(b.Client)), name)+" ")
		l.add(plain, middle(orDash(b.Type), 4)+" ")
		look, _ := lookOf(&b.Row)
		l.add(look, left(orDash(b.Row.What.String()), 6))
		l.add(plain, right(render.ShortSize(int64(b.Row.Size)), 6))
		out = append(out, l)
	}
	if len(s.Biggest) == 0 {
		out = append(out, text(muted, "  no message has passed yet"))
	}
	return out
}

// recorder is how the log and this process do.
func (v *stats) recorder(m *Model) []line {
	s := v.known
	l := text(muted, " LOG   ")
	add := func(name string, n uint64, look role) {
		if n == 0 {
			look = plain
		}
		l.add(muted, name+" ")
		l.add(look, render.Number(n)+"   ")
	}
	add("entries", uint64(s.Last), plain)
	add("gaps", s.Gaps, bad)
	add("lost", s.Missed, bad)
	more := text(muted, " ")
	if st := v.log; st != nil {
		behind := uint64(0)
		if st.Last > s.Last {
			behind = uint64(st.Last - s.Last)
		}
		add("behind", behind, warned)
		more.add(muted, "RECORDER   queued ")
		more.add(plain, render.Size(st.Queued)+"   ")
		more.add(muted, "file ")
		more.add(plain, render.Size(st.Bytes)+"   ")
		look := plain
		if st.Lost > 0 {
			look = bad
		}
		more.add(muted, "dropped ")
		more.add(look, render.Number(st.Lost)+"   ")
		if st.Losses > 0 {
			more.add(muted, "files taken away ")
			more.add(bad, render.Number(st.Losses)+"   ")
		}
		if st.Failing {
			more.add(bad, "THE FILE CANNOT BE WRITTEN   ")
		}
	} else {
		end := uint64(m.last)
		behind := uint64(0)
		if end > uint64(s.Last) {
			behind = end - uint64(s.Last)
		}
		add("behind", behind, warned)
		facts := m.feed.Facts()
		if facts.Bytes > 0 {
			more.add(muted, "FILE   ")
			more.add(plain, render.Size(facts.Bytes)+"   ")
		}
	}
	more.add(muted, "memory of this process ")
	more.add(plain, render.Size(int64(v.memory)))
	out := []line{l, more}
	if n := v.past.Forgotten; n > 0 {
		out = append(out, spans(span{muted, " PAST   "}, span{warned, "forgotten " + render.Count(n, "time", "times")},
			span{muted, "   " + render.Size(v.past.Past) + " of " + render.Size(v.past.Budget) + " are what is over: rules know less of it"}))
	}
	return out
}
