package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/across"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// across reads all recordings of a SOURCE that is a directory or a prefix.
func (a *cli) across(ctx context.Context, name string, of fleet.Options) (*across.Reader, error) {
	o := a.opener()
	all, err := o.Recordings(ctx, name, of)
	if err != nil {
		return nil, err
	}
	heap.Lean()
	return across.New(o, all), nil
}

// infoOfMany prints a row for each recording.
func (a *cli) infoOfMany(ctx context.Context, name, output string, strict bool) error {
	r, err := a.across(ctx, name, fleet.Options{})
	if err != nil {
		return err
	}
	i, damage := r.Info(ctx, strict)
	if i == nil {
		return damage
	}
	if err := a.console().Show(output, i, i.Text); err != nil {
		return err
	}
	if damage == nil && strict && i.Total.Gaps > 0 {
		return incomplete(i.Total.Gaps)
	}
	return damage
}

// statusOfMany prints where the clients of all proxies stand.
func (a *cli) statusOfMany(ctx context.Context, name, output string) error {
	r, err := a.across(ctx, name, fleet.Options{})
	if err != nil {
		return err
	}
	status, damage := r.Standing(ctx, a.config.Judging())
	if status == nil {
		return damage
	}
	if output != "json" && len(status.Clients)+len(status.Holding) == 0 {
		if status.NotRead == 0 {
			a.say("no client has asked for anything in what is below %s", name)
		}
		return damage
	}
	c := a.console()
	return cmp.Or(c.Show(output, status, func() string { return status.Text(c.Style(), c.Columns()) }), damage)
}

// judgeMany holds all recordings of a SOURCE against the rules, and adds what was
// found to a report.
func (a *cli) judgeMany(ctx context.Context, name string, o check.Options, report *render.Report, strict bool) error {
	r, err := a.across(ctx, name, fleet.Options{})
	if err != nil {
		return err
	}
	return r.Judge(ctx, o, report, strict)
}

// judgePast is what the recordings that are followed at once may remember together of
// what is over, and leastPast what each has at least.
const (
	judgePast = 256 << 20
	leastPast = 1 << 20
)

// watchMany prints the entries of all recordings of a SOURCE, in the order of time.
func (a *cli) watchMany(ctx context.Context, name, text, output string, judge bool) error {
	asked, err := input.ParseQuery(text)
	if err != nil {
		return err
	}
	since, until := asked.Between()
	r, err := a.across(ctx, name, fleet.Options{Since: since, Until: until})
	if err != nil {
		return err
	}
	options := a.config.Judging()
	options.Past = max(leastPast, min(options.Past, judgePast/int64(len(r.All))))
	out := console.NewLazyWriter(a.stdout)
	m := &manyPrinter{a: a, r: r, form: output}
	for _, rec := range r.All {
		m.width = min(max(m.width, render.Width(render.Safe(r.Proxy(rec)))), 24)
	}
	written, err := r.Merge(ctx, across.Plan{
		Query: func() (*input.Query, error) {
			q, err := input.ParseQuery(text)
			if err == nil && (judge || q.Needs().Findings) {
				q.Judge = &options
			}
			return q, err
		},
		Tell: m.teller,
		Write: func(l across.Line) error {
			if !m.titled && output != "jsonl" {
				l.Text = append([]byte(m.head), l.Text...)
			}
			m.titled = true
			_, err := out.Write(l.Text)
			return err
		},
	})
	if flushed := out.Close(); err == nil {
		err = flushed
	}
	if err == nil && written == 0 && !asked.Empty() {
		a.say("nothing in what is below %s matches %q", name, asked.String())
	}
	return err
}

// manyPrinter prints the entries of several recordings, each line with its proxy.
type manyPrinter struct {
	a      *cli
	r      *across.Reader
	form   string
	width  int
	head   string
	titled bool
}

// teller makes the lines of one recording.
func (m *manyPrinter) teller(rec *fleet.Recording, q *input.Query) across.Teller {
	var buf bytes.Buffer
	p := m.a.printer(&buf, m.form)
	p.repeats, p.titled = nil, true
	p.proxy, p.source = m.r.Proxy(rec), rec.Source
	if columns := m.a.console().Columns(); columns > 0 {
		p.table = render.NewTable(max(40, columns-m.width-2), m.a.console().Style())
	}
	q.Table = p.table
	m.head = render.PadRight("PROXY", m.width) + "  " + p.table.Head() + "\n"
	prefix := []byte(render.PadRight(render.Middle(render.Safe(p.proxy), m.width), m.width) + "  ")
	return func(e *session.Entry, c *check.Change, wanted bool) (text []byte, err error) {
		buf.Reset()
		switch {
		case e == nil:
			err = p.rest()
		case wanted:
			err = p.print(e, c)
		default:
			err = p.late(e.Time)
		}
		if err != nil || buf.Len() == 0 {
			return nil, err
		}
		if m.form == "jsonl" {
			return slices.Clone(buf.Bytes()), nil
		}
		for line := range bytes.Lines(buf.Bytes()) {
			text = append(append(text, prefix...), line...)
		}
		return text, nil
	}
}

// exportMany writes the objects of watch -o jsonl, of all recordings of a SOURCE, to a
// file that must not exist yet, or to standard output.
func (a *cli) exportMany(ctx context.Context, name, text, path string) error {
	if path == "" || path == "-" {
		return a.watchMany(ctx, name, text, "jsonl", true)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return console.Overwriting("cannot write jsonl", err)
	}
	own := a.stdout
	defer func() { a.stdout = own }()
	a.stdout = f
	err = a.watchMany(ctx, name, text, "jsonl", true)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil && !across.Incomplete(err) {
		_ = os.Remove(path)
	}
	return err
}
