package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/xdsproxy/xdsproxy/internal/export"
	"github.com/xdsproxy/xdsproxy/tui"
)

// exporter writes for the screen what xdsproxy export writes of a source.
func (a *cli) exporter(name string) func(context.Context, tui.ExportRequest) (string, error) {
	return func(ctx context.Context, r tui.ExportRequest) (string, error) {
		var said bytes.Buffer
		from := a.opener()
		from.Stderr, from.Quiet = &said, false
		x := &export.Export{Opener: from, Judge: a.config.Judging(), Name: name, Form: r.Form, Filter: r.Filter, Path: r.Path, Inside: true}
		if r.Private != nil {
			x.Private = r.Private
		}
		for _, seq := range r.Seqs {
			x.Seqs = append(x.Seqs, strconv.FormatUint(uint64(seq), 10))
		}
		var err error
		if r.Rule != "" && (r.Form == "zip" || r.Form == export.FormRecording) {
			x.Seqs = nil
			err = (&export.Report{Export: x, Yes: true}).Finding(ctx, r.Rule, r.Seqs, r.Form == "zip")
		} else {
			err = x.Run(ctx, []string{name})
		}
		return strings.ReplaceAll(said.String(), "xdsproxy: ", ""), err
	}
}

// awaited lets exported wait for what the screen exports when it is left: an export has
// heard of that by then, and removes what is not whole.
func awaited(src *tui.Source) (exported func()) {
	var running sync.RWMutex
	if export := src.Export; export != nil {
		src.Export = func(ctx context.Context, r tui.ExportRequest) (string, error) {
			running.RLock()
			defer running.RUnlock()
			return export(ctx, r)
		}
	}
	return running.Lock
}
