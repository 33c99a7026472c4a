package main

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/tui"
)

// exporter writes for the screen what xdsproxy export writes of a source.
func (a *cli) exporter(name string) func(context.Context, tui.ExportRequest) (string, error) {
	return func(ctx context.Context, r tui.ExportRequest) (string, error) {
		var said bytes.Buffer
		own, loud := *a, *a.config
		loud.Quiet = false
		own.stderr, own.config = &said, &loud
		x := &export{cli: &own, form: r.Form, filter: r.Filter, path: r.Path, private: r.Private, inside: true}
		if r.Rule != "" && (r.Form == "zip" || r.Form == formRecording) {
			err := own.exportFinding(ctx, name, r)
			return strings.ReplaceAll(said.String(), "xdsproxy: ", ""), err
		}
		for _, seq := range r.Seqs {
			x.seqs = append(x.seqs, strconv.FormatUint(uint64(seq), 10))
		}
		err := x.run(ctx, []string{name})
		return strings.ReplaceAll(said.String(), "xdsproxy: ", ""), err
	}
}

// hiding passes lines on with aliases for names.
type hiding struct {
	to      io.Writer
	private *tui.Private
	rest    []byte // of a line that has not ended
}

// maxHidden bounds a line: a longer one is hidden in pieces.
const maxHidden = 1 << 20

func (h *hiding) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		h.rest = append(h.rest, b[:i]...)
		if b[i-1] == '\n' || len(h.rest) > maxHidden {
			if err := h.flush(); err != nil {
				return 0, err
			}
		}
		b = b[i:]
	}
	return n, nil
}

func (h *hiding) flush() error {
	_, err := io.WriteString(h.to, h.private.Text(string(h.rest)))
	h.rest = h.rest[:0]
	return err
}
