package timeline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// timeForm is how times are written.
type timeForm uint8

const (
	timeOfDay timeForm = iota
	sinceStart
	sinceRow
)

func (f timeForm) next() timeForm { return (f + 1) % 3 }

func (f timeForm) String() string { return [...]string{"abs", "since start", "since row above"}[f] }

// columns are those that there is room for.
type columns struct {
	client, version    int
	dir, stream, nonce int
	summary            int
	time, typ, what    int
	res, size          int
	seq, ack           int
}

const (
	signWidth = 3 // what is selected, the sign, a space
	seqWidth  = 6
	ackWidth  = 6
)

// columnsFor chooses columns for a width; last is the highest number to show.
func columnsFor(w int, last session.Seq) columns {
	c := columns{client: 13, version: 9, time: 12, typ: view.TypeWidth, what: 5, res: 4, size: 6, seq: seqWidth, ack: ackWidth}
	c.seq = max(c.seq, len(strconv.FormatUint(uint64(last), 10)))
	switch {
	case w < 80:
		c.client, c.version, c.size, c.res = max(6, w-62), 6, 0, 4
		if w < 70 {
			c.time = 8
		}
		return c
	case w >= 160:
		c.dir, c.stream, c.nonce, c.client, c.version = 2, 6, 10, 18, 12
		c.summary = w - c.fixed() - 1
		return c
	case w >= 110:
		c.dir, c.stream, c.client = 2, 6, 18
		c.summary = w - c.fixed() - 1
		return c
	}
	c.client += max(0, w-c.fixed())
	if c.client > 24 {
		c.summary = c.client - 24
		c.client = 24
		if c.summary < 16 {
			c.version += c.summary
			c.summary = 0
		}
	}
	return c
}

// columns are those of the list as it is filtered: where all rows are of one
// client, its name gives its room to the summary.
func (v *View) columns(scr view.Screen, w int) columns {
	c := columnsFor(w, v.newest(scr))
	if v.brief {
		c.dir, c.stream, c.version, c.nonce, c.res, c.size, c.ack = 0, 0, 0, 0, 0, 0, 0
		c.summary = 0
		c.summary = max(0, w-c.fixed()-1)
	}
	if len(v.folds.all) > 0 {
		c.widen()
	}
	if c.summary > 0 && v.oneClient() {
		c.summary, c.client = c.summary+c.client+1, 0
	}
	c.choose(scr.Choice(v.Title()), w)
	return c
}

// list are the columns that can be chosen, as they stand.
func (c *columns) list() []chosen.Column {
	return []chosen.Column{
		{Title: "SEQ", Width: c.seq, Fixed: true},
		{Title: "TIME", Width: c.time},
		{Title: "CLIENT", Width: c.client},
		{Title: "STREAM", Width: c.stream},
		{Title: "TYPE", Width: c.typ},
		{Title: "WHAT", Width: c.what, Fixed: true},
		{Title: "VERSION", Width: c.version},
		{Title: "NONCE", Width: c.nonce},
		{Title: "RES", Width: c.res},
		{Title: "SIZE", Width: c.size},
		{Title: "ACK ms", Width: c.ack},
		{Title: "SUMMARY", Width: c.summary},
	}
}

// choose makes the columns those that were chosen. The summary has what is left,
// or the client.
func (c *columns) choose(by *chosen.List, w int) {
	if by.Plain() {
		return
	}
	for i, width := range []*int{&c.seq, &c.time, &c.client, &c.stream, &c.typ, &c.what, &c.version, &c.nonce, &c.res, &c.size, &c.ack} {
		*width = by.Width(c.list()[i].Title, *width, w/2)
	}
	const leastSummary = 12
	spare := w - c.fixed()
	if c.stream == 0 {
		spare, c.dir = spare+c.dir, 0
	}
	switch {
	case c.summary > 0 || by.Width("SUMMARY", 1, 1) > 0 && spare > leastSummary:
		c.summary = max(by.Width("SUMMARY", spare-1, spare-1), 0)
	case c.client > 0 && !by.Chosen("CLIENT"):
		c.client = max(c.client+spare, 6)
	}
}

func (v *View) Columns(scr view.Screen) []chosen.Column {
	c := v.columns(scr, scr.Columns())
	return c.list()
}

func (v *View) oneClient() bool {
	return slices.ContainsFunc(view.SplitTerms(v.Query()), func(t string) bool {
		name, is := strings.CutPrefix(t, "client:")
		return is && name != "" && !strings.ContainsAny(name, "*,/")
	})
}

// widen makes room for how often a row came again, behind what it is.
func (c *columns) widen() {
	const by = 5
	switch {
	case c.summary > 2*by:
		c.summary -= by
	case c.client >= 2*by:
		c.client -= by
	default:
		return
	}
	c.what += by
}

// fixed is how wide all columns are together.
func (c *columns) fixed() int {
	n := signWidth + c.seq + 1
	for _, w := range []int{c.time, c.client, c.dir, c.stream, c.typ, c.what, c.version, c.nonce, c.res, c.size, c.ack} {
		if w > 0 {
			n += w + 1
		}
	}
	return n
}

func (c *columns) titles() widget.Line {
	var b strings.Builder
	b.WriteString(widget.Spaces(signWidth) + widget.Right("SEQ", c.seq) + " ")
	if c.time > 0 {
		b.WriteString(" " + widget.Left("TIME", c.time) + " ")
	}
	if c.client > 0 {
		b.WriteString(widget.Left("CLIENT", c.client) + " ")
	}
	if c.dir > 0 {
		b.WriteString(widget.Spaces(c.dir+1) + widget.Left("STREAM", c.stream) + " ")
	}
	if c.typ > 0 {
		b.WriteString(widget.Left("TYPE", c.typ) + " ")
	}
	b.WriteString(widget.Left("WHAT", c.what) + " ")
	if c.version > 0 {
		b.WriteString(widget.Left("VERSION", c.version) + " ")
	}
	if c.nonce > 0 {
		b.WriteString(widget.Left("NONCE", c.nonce) + " ")
	}
	if c.res > 0 {
		b.WriteString(widget.Right("RES", c.res) + " ")
	}
	if c.size > 0 {
		b.WriteString(widget.Right("SIZE", c.size) + " ")
	}
	if c.ack > 0 {
		b.WriteString(widget.Right("ACK ms", c.ack))
	}
	if c.summary > 0 {
		b.WriteString("  SUMMARY")
	}
	return widget.Text(widget.Muted, b.String())
}

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.win.Rows != h-1 {
		v.win.Rows = h - 1
		v.Settle(scr)
	}
	c := v.columns(scr, w)
	out := []widget.Line{c.titles()}
	rows := v.rows(scr, v.win.Top, h-1)
	if len(rows) == 0 {
		return append(out, v.empty(scr)...)
	}
	var before int64
	if v.Times == sinceRow {
		if r := v.rows(scr, v.win.Top-1, 1); len(r) > 0 && v.win.Top > 0 {
			before = r[0].Time
		}
	}
	for i := range rows {
		l := v.line(scr, &rows[i], &c, before)
		l.Choose(v.win.Top+i == v.win.At)
		before = rows[i].Time
		out = append(out, l)
	}
	return out
}

// newest is the highest number that can be shown.
func (v *View) newest(scr view.Screen) session.Seq {
	_, last := scr.Log().Index.Extent()
	return max(last, scr.Log().Last)
}

func (v *View) empty(scr view.Screen) []widget.Line {
	switch {
	case v.asked != nil && v.asked.progress(scr) != "":
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   searching")}
	case v.asked != nil:
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   Nothing matches the filter."), widget.Text(widget.Muted, "   esc takes it away, / changes it")}
	case scr.Log().Live:
		return view.Welcome(scr.Log())
	case !scr.Log().Feed.Done():
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   reading")}
	}
	return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   The recording is empty.")}
}

// line is one row of the list.
func (v *View) line(scr view.Screen, r *index.Row, c *columns, before int64) widget.Line {
	w := v.words(scr, r)
	look, sign := view.LookOf(r)
	mark := " "
	if scr.Log().Index.Marked(r.Seq) {
		mark = "*"
	}
	l := widget.Spans(widget.In(widget.Plain, " "), widget.In(look, sign), widget.In(widget.Accent, mark))
	seq := strconv.FormatUint(uint64(r.Seq), 10)
	l.Add(widget.Plain, widget.Right(seq, max(c.seq, len(seq)))+" ")
	if c.time > 0 {
		l.Add(widget.Plain, " "+widget.Left(v.timeOf(scr, r, before, c.time), c.time)+" ")
	}
	if c.client > 0 {
		l.Add(widget.Plain, view.ClientName(scr, w.Client, c.client)+" ")
	}
	if c.dir > 0 {
		l.Add(widget.Muted, widget.Left(direction(scr, r), c.dir)+" "+widget.Left(view.StreamName(&w), c.stream)+" ")
	}
	typ := cmp.Or(w.Type, render.SideType(w.Method), "-")
	if r.Kind != session.KindMessage {
		if c.typ > 0 {
			l.Add(widget.Plain, widget.Left(typ, c.typ)+" ")
		}
		word, text := render.EventWord(r.Kind, w.Method.Variant), w.Text
		if c.summary == 0 && r.Kind == session.KindHeader && w.Method.Variant == xds.VariantFile { // what happened has to fit
			text = strings.TrimPrefix(text, render.Safe(path.Dir(strings.TrimPrefix(w.Method.Path, xds.FilePrefix)))+"/")
		}
		l.Add(look, widget.Left(word, c.what)+" ")
		l.Add(look, scr.Aliases().Text(text))
		return l
	}
	if c.typ > 0 {
		l.Add(widget.Plain, widget.Middle(typ, c.typ)+" ")
	}
	what := r.What.String()
	if what == "" {
		what = "MSG"
	}
	if n := v.again(scr, r.Seq); n > 0 {
		what += " x" + render.ShortSize(int64(n))
	}
	l.Add(look, widget.Left(what, c.what)+" ")
	if c.version > 0 {
		l.Add(widget.Plain, widget.Middle(versionText(r, &w), c.version)+" ")
	}
	if c.nonce > 0 {
		l.Add(widget.Muted, widget.Middle(render.OrDash(w.Nonce), c.nonce)+" ")
	}
	if c.res > 0 {
		l.Add(widget.Plain, widget.Right(countText(r), c.res)+" ")
	}
	if c.size > 0 {
		l.Add(widget.Plain, widget.Right(sizeText(r), c.size)+" ")
	}
	if c.ack > 0 {
		l.Add(widget.Plain, widget.Right(waitText(r), c.ack))
	}
	if c.summary > 0 {
		if s := scr.Log().Index.Remark(r.Seq); s != "" {
			l.Add(widget.Accent, "  ; "+scr.Aliases().Text(s))
		}
		if d := v.details[r.Seq]; d != nil {
			l.Add(widget.Muted, "  "+render.Describe(&d.Entry, &d.Change, c.summary-2, scr.Aliases().Text))
		}
	}
	return l
}

func versionText(r *index.Row, w *index.Words) string {
	if r.What == index.DELTA && w.Version == "" {
		return fmt.Sprintf("+%d", max(r.Count, 0))
	}
	return render.OrDash(w.Version)
}

func countText(r *index.Row) string {
	switch r.Count {
	case index.None:
		return "-"
	case engine.Everything:
		return "*"
	}
	return render.ShortSize(int64(r.Count))
}

func sizeText(r *index.Row) string {
	if r.Flags&index.Masked != 0 {
		return "[" + render.ShortSize(int64(r.Size)) + "]"
	}
	return render.ShortSize(int64(r.Size))
}

func waitText(r *index.Row) string {
	d := r.Waited()
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
	}
	return render.Number(int64(d / time.Millisecond))
}

func direction(scr view.Screen, r *index.Row) string {
	switch r.Side {
	case session.Client:
		return "-" + scr.Theme().Glyph.Right
	case session.Server:
		return scr.Theme().Glyph.Left + "-"
	}
	return ""
}

// timeOf is when an entry was, without what there is no room for: milliseconds.
func (v *View) timeOf(scr view.Screen, r *index.Row, before int64, columns int) string {
	since := func(d time.Duration) string {
		s := fmt.Sprintf("+%.3f", d.Seconds())
		if len(s) > columns {
			s = fmt.Sprintf("+%.0f", d.Seconds())
		}
		return s
	}
	switch v.Times {
	case sinceStart:
		return since(r.At().Sub(scr.Log().Index.First()))
	case sinceRow:
		if before == 0 {
			before = r.Time
		}
		return since(time.Duration(r.Time - before))
	}
	if s := render.TimeOfDay(r.At()); len(s) <= columns {
		return s
	}
	return render.ShortTime(r.At())
}

// RowText is the row as it is copied, with all columns.
func (v *View) RowText(scr view.Screen, r *index.Row) string {
	c := columnsFor(200, r.Seq)
	l := v.line(scr, r, &c, 0)
	return strings.Join(strings.Fields(l.PlainText()), " ")
}

// fetchedRows are the entries of visible rows.
type fetchedRows map[session.Seq]*index.Fetched

// readDetails reads what is visible and not there yet: for summaries, and for
// what the message line says of the selection.
func (v *View) readDetails(scr view.Screen) tea.Cmd {
	if v.wanted {
		return nil
	}
	var seqs []session.Seq
	add := func(r *index.Row) {
		if (r.Kind == session.KindMessage || r.Flags&index.Unread != 0) && v.details[r.Seq] == nil {
			seqs = append(seqs, r.Seq)
		}
	}
	if c := v.columns(scr, scr.Columns()); c.summary > 0 {
		for _, r := range v.rows(scr, v.win.Top, v.win.Rows) {
			add(&r)
		}
	} else {
		for _, r := range v.rows(scr, v.win.Top, v.win.Rows) {
			if r.Flags&index.Unread != 0 {
				add(&r)
			}
		}
		if r, ok := v.row(scr); ok {
			add(&r)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	v.wanted = true
	log := scr.Log()
	return view.Answer(v, func() any {
		got, _ := log.Fetch.Fetch(log.Context, seqs...)
		if got == nil {
			got = map[session.Seq]*index.Fetched{}
		}
		for _, seq := range seqs { // what is not there is not asked for again
			if _, there := got[seq]; !there {
				got[seq] = &index.Fetched{}
			}
		}
		return fetchedRows(got)
	})
}
