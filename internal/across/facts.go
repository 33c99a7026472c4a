package across

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/facts"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Info are the facts about the recordings of a fleet, in their machine-readable form.
type Info struct {
	Schema     string          `json:"schema"`
	Recordings []RecordingInfo `json:"recordings"`
	Total      Total           `json:"total"`
}

// RecordingInfo are the facts about one, and whose it is.
type RecordingInfo struct {
	Cluster  string `json:"cluster,omitempty"`
	Proxy    string `json:"proxy"`
	Name     string `json:"recording"`
	Source   string `json:"source"` // what commands take for it
	Segments int    `json:"segments"`
	// Unread is why nothing is known of it.
	Unread string `json:"unread,omitempty"`
	*facts.Info
}

// Total sums up what can be summed up.
type Total struct {
	Recordings  int    `json:"recordings"`
	Unread      int    `json:"unread"`
	Proxies     int    `json:"proxies"`
	Entries     uint64 `json:"entries"`
	Messages    uint64 `json:"messages"`
	Streams     uint64 `json:"streams"`
	Connections uint64 `json:"connections"`
	Gaps        uint64 `json:"gaps"`
	Lost        uint64 `json:"lost"`
	Bytes       int64  `json:"bytes"`
	Message     int64  `json:"message_bytes"`
	First       string `json:"first,omitempty"`
	Last        string `json:"last,omitempty"`

	from, to time.Time
}

// Info is a row for each recording, from its headers or its index: no entry is read.
// An error beside it says what could not be read; strict makes one of a recording that
// is left out.
func (r *Reader) Info(ctx context.Context, strict bool) (*Info, error) {
	type known struct {
		facts recorder.Facts
		err   error
	}
	end := r.begin("reading")
	defer end()
	out := &Info{Schema: render.Schema, Recordings: []RecordingInfo{}}
	proxies := make(map[string]bool)
	damages := 0
	err := inOrder(ctx, len(r.All), func(ctx context.Context, i int) known {
		src, err := r.OpenRecording(ctx, r.All[i])
		if err != nil {
			return known{err: err}
		}
		defer src.Close()
		facts, err := src.Inspect()
		if err != nil {
			err = input.Unreadable(err)
		}
		r.advance(r.All[i].Size, int64(facts.Entries))
		return known{facts, err}
	}, func(i int, k known) error {
		rec := r.All[i]
		what, err := r.judgeError(ctx, rec, k.err)
		if err != nil {
			return err
		}
		row := RecordingInfo{Cluster: rec.Cluster, Proxy: rec.Proxy, Name: rec.Name, Source: rec.Source, Segments: rec.Segments}
		proxies[r.Proxy(rec)] = true
		out.Total.Recordings++
		if what == unread {
			row.Unread = k.err.Error()
			out.Total.Unread++
		} else {
			row.Info = input.InfoOf(rec.Source, k.facts)
			row.Info.Unread = true
			out.Total.add(&k.facts)
			r.skewed(i, &k.facts)
		}
		if what == damaged {
			damages++
		}
		out.Recordings = append(out.Recordings, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Total.Proxies = len(proxies)
	if t := &out.Total; !t.from.IsZero() {
		t.First, t.Last = render.Timestamp(t.from), render.Timestamp(t.to)
	}
	return out, left(damages, out.Total.Unread, len(r.All), strict)
}

func (t *Total) add(f *recorder.Facts) {
	t.Entries += f.Entries
	t.Messages += f.Messages
	t.Streams += f.Streams
	t.Connections += f.Connections
	t.Gaps += f.Gaps
	t.Lost += f.Lost
	t.Bytes += f.Bytes
	t.Message += f.MessageBytes
	if !f.First.IsZero() && (t.from.IsZero() || f.First.Before(t.from)) {
		t.from = f.First
	}
	if f.Last.After(t.to) {
		t.to = f.Last
	}
}

// maxSkew is how far a clock may be ahead before it is told.
const maxSkew = time.Minute

// skewed tells of a proxy whose entries are of a time at which its recording had been
// stored already. That its clock is behind cannot be seen so.
func (r *Reader) skewed(i int, f *recorder.Facts) {
	rec := r.All[i]
	if by := f.Last.Sub(rec.Modified); !rec.Modified.IsZero() && by > maxSkew && r.once("\x00clock "+r.Proxy(rec)) {
		r.tell("the clock of %s is ahead of that of the store, by %s at least: its entries stand too late among those of others", r.Proxy(rec), render.Duration(by.Round(time.Second)))
	}
}

// Text is the table that a person reads.
func (i *Info) Text() string {
	rows := [][]string{{"PROXY", "RECORDING", "FROM (UTC)", "FOR", "ENTRIES", "SIZE", "STATE"}}
	for _, r := range i.Recordings {
		proxy := r.Proxy
		if r.Cluster != "" {
			proxy = r.Cluster + "/" + proxy
		}
		if r.Info == nil {
			rows = append(rows, []string{proxy, r.Name, "-", "-", "-", "-", "not read"})
			continue
		}
		from, lasted := "-", "-"
		if !r.From.IsZero() {
			from, lasted = r.From.UTC().Format("2006-01-02 15:04:05"), render.Duration(r.To.Sub(r.From).Round(time.Second))
		}
		state := "complete"
		switch {
		case r.Damaged:
			state = "damaged"
		case r.Lost > 0:
			state = render.Count(r.Lost, "entry", "entries") + " lost"
		case r.Writing:
			state = "being written"
		case !r.Complete:
			state = "incomplete"
		case r.UpToSegment > 0:
			state = fmt.Sprintf("up to segment %d", r.UpToSegment)
		}
		rows = append(rows, []string{proxy, r.Name, from, lasted, render.Number(r.Entries), render.Size(r.Bytes), state})
	}
	var b strings.Builder
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for j, text := range row {
			row[j] = render.Safe(text)
			width[j] = max(width[j], render.Width(row[j]))
		}
	}
	for _, row := range rows {
		var line []string
		for j, text := range row {
			line = append(line, render.PadRight(text, width[j]))
		}
		b.WriteString(strings.TrimRight(strings.Join(line, "  "), " ") + "\n")
	}
	t := &i.Total
	fmt.Fprintf(&b, "%s of %s: %s, %s in messages, %s stored", render.Count(t.Recordings, "recording", "recordings"),
		render.Count(t.Proxies, "proxy", "proxies"), render.Count(t.Entries, "entry", "entries"), render.Size(t.Message), render.Size(t.Bytes))
	if t.Gaps+t.Lost > 0 {
		fmt.Fprintf(&b, ", %s lost", render.Count(t.Lost, "entry", "entries"))
	}
	b.WriteString("\n")
	return b.String()
}
