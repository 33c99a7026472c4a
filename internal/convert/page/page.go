package page

import (
	"bytes"
	"io"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Options say what the page tells beside the entries.
type Options struct {
	Report convert.Report
}

// about is what the recording is.
type about struct {
	Program  string `json:"program"`
	Source   string `json:"source"`
	Recorded string `json:"recorded_by,omitempty"`
	Chosen   string `json:"chosen,omitempty"`
	First    string `json:"first,omitempty"`
	Last     string `json:"last,omitempty"`
	Lasted   string `json:"lasted,omitempty"`
	Entries  uint64 `json:"entries"`
	Messages uint64 `json:"messages"`
	Masked   bool   `json:"masked"`
	// MaskedIn are the messages in which something is masked.
	MaskedIn uint64 `json:"masked_messages"`
	Lost     uint64 `json:"lost"`
	Part     bool   `json:"part,omitempty"`
}

type summary struct {
	Error    int `json:"error"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
	Unlisted int `json:"unlisted"`
}

type rule struct {
	Title  string `json:"title"`
	Means  string `json:"means"`
	Causes string `json:"causes"`
	Next   string `json:"next"`
	Spec   string `json:"spec,omitempty"`
}

// Write writes the page about the chosen entries of a session. It walks three times.
func Write(w io.Writer, walk convert.Walk, o Options) (convert.Result, error) {
	return write(w, walk, o, usual())
}

func write(w io.Writer, walk convert.Walk, o Options, room bounds) (convert.Result, error) {
	var late *sizes
	told, err := convert.Tell(func(v convert.Visit) error {
		late = &sizes{bounds: room, from: -1}
		return walk(func(e *session.Entry, c *check.Change, chosen bool) error {
			if chosen {
				late.see(e)
			}
			return v(e, c, chosen)
		})
	}, &o.Report, maxFindings, maxExplained)
	if err != nil || told.Result.Entries == 0 {
		return convert.Result{}, err
	}
	b := &builder{
		bounds: room, pool: newPool(), documents: render.NewDocuments(), table: render.NewTable(0, render.Style{}), ladder: render.NewLadder(),
		told: told, sizes: late, needed: make(map[session.Seq]bool), nodes: newNodes(told),
	}
	for _, f := range told.Findings {
		for _, seq := range slices.Concat(f.Shown, f.Named) {
			b.needed[seq] = true
		}
	}
	if err := walk(b.visit); err != nil {
		return told.Result, err
	}
	data, err := b.data(&o.Report)
	if err != nil {
		return told.Result, err
	}
	done := told.Result
	done.Large = b.large
	done.Bytes, err = assemble(w, data)
	return done, err
}

// data is the JSON in the page.
func (b *builder) data(o *convert.Report) ([]byte, error) {
	t := b.told
	findings, rules := []render.Finding{}, map[string]rule{}
	for _, f := range t.Findings {
		findings = append(findings, render.NewFinding(f.Finding))
		r := f.Rule
		rules[r.ID] = rule{r.Title, r.Means, r.Causes, r.Next, r.Spec}
	}
	evidence, err := b.evidence()
	if err != nil {
		return nil, err
	}
	entries, out := b.entries()
	clients, more := b.nodes.clients(t)
	var w bytes.Buffer
	member := func(name string, v any) {
		json, failed := text(v)
		if err == nil {
			err = failed
		}
		w.WriteString(",\n\"" + name + "\":")
		w.Write(json)
	}
	w.WriteString(`{"schema":"` + render.Schema + `"`)
	member("report", about{
		Program: o.Program, Source: o.Source, Recorded: o.Facts.Program, Chosen: o.Chosen, First: render.Timestamp(t.First), Last: render.Timestamp(t.Last),
		Lasted: render.Duration(t.Last.Sub(t.First)), Entries: t.Result.Entries, Messages: t.Result.Messages,
		Masked: o.Facts.Masked, MaskedIn: t.Result.Masked, Lost: t.Lost, Part: t.Part,
	})
	member("summary", summary{t.Count[check.Error], t.Count[check.Warning], t.Count[check.Info], t.Unlisted})
	member("findings", findings)
	member("rules", rules)
	member("evidence", evidence)
	member("clients", clients)
	member("more_clients", more)
	member("left_out", out)
	w.WriteString(",\n\"entries\":")
	w.Write(entries)
	w.WriteString(",\n\"parts\":")
	w.Write(b.pool.json())
	w.WriteString("}")
	return w.Bytes(), err
}
