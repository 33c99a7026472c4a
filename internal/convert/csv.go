package convert

import (
	"encoding/csv"
	"io"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// newCSV writes a table as RFC 4180 has it: one line an entry, with the columns
// of watch.
func newCSV(w io.Writer) *writer {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	table := render.NewTable(0, render.Style{})
	titled := false
	title := func() error {
		if titled {
			return nil
		}
		titled = true
		return out.Write(render.Titles())
	}
	return &writer{
		visit: func(e *session.Entry, c *check.Change, chosen bool) error {
			table.See(e, c)
			if !chosen {
				return nil
			}
			if err := title(); err != nil {
				return err
			}
			cells := table.Cells(e, c)
			for i := range cells {
				cells[i] = csvCell(cells[i])
			}
			return out.Write(cells)
		},
		end: func() error {
			if err := title(); err != nil {
				return err
			}
			out.Flush()
			return out.Error()
		},
	}
}

// csvCell keeps spreadsheets from taking a text for a formula, which may run
// programs: what begins like one gets an apostrophe before it.
func csvCell(s string) string {
	if s != "" {
		switch s[0] {
		case '=', '+', '-', '@', '\t', '\r':
			return "'" + s
		}
	}
	return s
}
