package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what messages consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Query asks a filter about the entries of one source.
type Query struct {
	*filter.Filter
	// These are shown every entry that is read.
	Table     *render.Table
	Documents *render.Documents
	Judge     *check.Options // how what is read is held against the rules; nil: it is not
	marked    map[session.Seq]bool
}

// ParseQuery reads the text of --filter.
func ParseQuery(text string) (*Query, error) {
	f, err := filter.Parse(text)
	if e, is := errors.AsType[*filter.Error](err); is {
		return nil, console.Misused("%w", e).Hint("%s", e.Hint).Hint("xdsproxy help filters explains the language")
	}
	return &Query{Filter: f, Table: render.NewTable(0, render.Style{}), Documents: render.NewDocuments()}, err
}

// In visits the entries of a source that are in spans and may be wanted, and
// some others, as walk does, and says of each whether it is.
func (q *Query) In(ctx context.Context, src *Source, spans []filter.Span, v func(e *session.Entry, c *check.Change, wanted bool) error) error {
	spans, err := q.Places(ctx, src, spans)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if q.Needs().History && len(spans) > 0 {
		spans = []filter.Span{{First: 1, Last: spans[len(spans)-1].Last}}
	}
	wants, blocks := q.Asker(), q.blocks()
	var step Stepper = check.NewTracker(src.types)
	if q.Judge != nil && blocks == nil { // rules look at what lies between, too
		step = check.NewChecker(*q.Judge)
	}
	return Walk(ctx, src, spans, blocks, step, func(e *session.Entry, c *check.Change) error {
		if err := v(e, c, wants(e, c)); err != nil {
			return err
		}
		if q.Over(e) {
			return ErrEnough
		}
		return nil
	})
}

// All visits all entries of a source that may be wanted.
func (q *Query) All(ctx context.Context, src *Source, v func(e *session.Entry, c *check.Change, wanted bool) error) error {
	return q.In(ctx, src, filter.Everything(), v)
}

// Between is the time within which all wanted entries are, where the filter says so
// by itself; zero: it does not. What counts from the beginning or the end of a
// recording says nothing before that is open.
func (q *Query) Between() (since, until time.Time) {
	const year = 365 * 24 * time.Hour
	bounds := func(anchor time.Time) []filter.Span {
		q.Begin(anchor, anchor)
		spans, _ := q.Spans(func(t time.Time) (session.Seq, bool, error) { return session.Seq(max(1, t.Unix())), true, nil })
		return spans
	}
	spans := bounds(time.Unix(1_000_000_000, 0))
	if len(spans) == 0 || !slices.Equal(spans, bounds(time.Unix(1_000_000_000, 0).Add(10*year))) {
		return since, until
	}
	early := session.Seq(10 * year / time.Second) // who names numbers of entries names lower ones
	if first := spans[0].First; first > early {
		since = time.Unix(int64(first), 0)
	}
	if last := spans[len(spans)-1].Last; last != filter.NoLimit && last > early {
		until = time.Unix(int64(last)+1, 0)
	}
	return since, until
}

// Asker says of each entry, in order, whether it is wanted.
func (q *Query) Asker() func(e *session.Entry, c *check.Change) bool {
	row := &filter.Row{}
	row.Summary = func() string { return q.Table.Summary(row.Entry, row.Change) }
	row.Body = func() string { return q.Documents.Body(row.Entry, row.Change) }
	return func(e *session.Entry, c *check.Change) bool {
		q.Table.See(e, c)
		q.Documents.See(e)
		row.Entry, row.Change, row.Node, row.Waited = e, c, c.Node, c.Waited
		row.Findings, row.Marked = row.Findings[:0], q.marked[e.Seq]
		for i := range c.Findings {
			f := &c.Findings[i]
			row.Findings = append(row.Findings, filter.Finding{Rule: f.Rule.ID, Severity: f.Severity.String()})
		}
		return q.Takes(row)
	}
}

// Places is where in spans there can be wanted entries.
func (q *Query) Places(ctx context.Context, src *Source, spans []filter.Span) ([]filter.Span, error) {
	if q.Empty() {
		return spans, nil
	}
	first, err := src.First(ctx)
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		return nil, Unreadable(err)
	}
	if q.Needs().Marks {
		if !src.File && !src.Script && src.Viewer == nil {
			return nil, console.Misused("filter %q asks what was marked, which a pipe tells after the entry", q).
				Hint("write the recording to a file first")
		}
		if q.marked, err = marksOf(ctx, src); err != nil {
			return nil, err
		}
	}
	var end time.Time
	if q.Needs().End {
		if !src.File && src.Viewer == nil {
			return nil, console.Misused("filter %q counts from the end of the recording, which a pipe does not tell", q).
				Hint("write the recording to a file first, or name a time, such as since:12:41")
		}
		end = src.All().Last
	}
	q.Begin(first.Time, end)
	places, err := q.Spans(func(t time.Time) (session.Seq, bool, error) { return src.find(ctx, t) })
	return filter.Intersect(spans, places), err
}

// blocks says which blocks of a recording must be read, nil for all of them.
// What is left out says nothing of any wanted entry: neither of what it answers,
// which is of its client and its type, nor of its stream, nor of what was lost.
// Rules look at other types and clients, too.
func (q *Query) blocks() func(*recorder.Block) bool {
	if !q.Labelled() || q.Needs().Findings {
		return nil
	}
	return func(b *recorder.Block) bool {
		return b.Gaps > 0 || q.Block(b.Labels, b.ManyLabels) ||
			slices.Contains(b.Labels, store.Begins) || slices.Contains(b.Labels, store.Loose) ||
			q.Over(&session.Entry{Seq: b.Last, Time: b.To})
	}
}

// Nothing says that a query wants none of what is there.
func Nothing(src *Source, q *Query) string {
	facts := src.All()
	if facts.Entries == 0 {
		return fmt.Sprintf("%q is empty", src.Name)
	}
	return fmt.Sprintf("nothing in %q matches %q: it ends with entry %d and covers %s to %s", src.Name, q.String(),
		facts.LastSeq, facts.First.UTC().Format(time.RFC3339), facts.Last.UTC().Format(time.RFC3339))
}
