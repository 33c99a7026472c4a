package playback

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay"
)

// shownDifferences is how many of them a table lists.
const shownDifferences = 100

// replayFacts is what replay -o json prints.
type replayFacts struct {
	Schema string `json:"schema"`
	*replay.Report
	ConfigDump *render.HeldDiff `json:"config_dump,omitempty"`
}

func (r *Replay) print(report *replay.Report) error {
	found := r.dumped.found
	return r.Show(r.Output, replayFacts{render.Schema, report, found}, func() string {
		text := replayText(report)
		if found != nil {
			text += "\n" + found.Text(r.Style(), 3)
		}
		return text
	})
}

// replayText is a replay's report as a person reads it.
func replayText(report *replay.Report) string {
	rows := [][]string{{"STREAM", "CLIENT", "VARIANT", "TYPE", "SENT", "AS RECORDED", ""}}
	for _, p := range report.Played {
		typ, end := p.Type, ""
		if typ == "" {
			typ = "-"
		}
		switch {
		case !p.Begun:
			end = "not played"
		case p.Matched < p.Expected || p.Sent < p.ToSend:
			end = "differs"
		}
		if p.By != "" {
			end = strings.TrimSpace(end + " (played by " + render.Safe(p.By) + ")")
		}
		client := render.Safe(p.Client)
		if client == "" {
			client = "-"
		}
		rows = append(rows, []string{
			fmt.Sprint(p.Stream), client, p.Variant, typ,
			fmt.Sprintf("%d of %d", p.Sent, p.ToSend), fmt.Sprintf("%d of %d", p.Matched, p.Expected), end,
		})
	}
	var b strings.Builder
	b.WriteString(columnsOf(rows))
	if len(report.Differences) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(differencesText(report))
	if len(report.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range report.Notes {
		b.WriteString("i " + render.Safe(n) + "\n")
	}
	differences := render.Count(len(report.Differences)+report.More, "difference", "differences")
	switch {
	case report.Differs():
	case report.Expected == 0 || report.Streams == 0:
		differences = "nothing was compared"
	default:
		differences = "no difference"
	}
	fmt.Fprintf(&b, "\n%s played, %s sent, %s received; %s of %s as recorded, %s\n",
		render.Count(report.Streams, "stream", "streams"), render.Count(report.Sent, "message", "messages"),
		render.Number(report.Received), render.Number(report.Matched), render.Number(report.Expected), differences)
	return b.String()
}

// differencesText lists what differs, alike changes once.
func differencesText(report *replay.Report) string {
	var b strings.Builder
	alike := map[string][]string{} // where else, by change
	for _, d := range report.Differences {
		alike[d.Change()] = append(alike[d.Change()], d.Expected)
	}
	shown, told := 0, 0
	for _, d := range report.Differences {
		change := d.Change()
		same := alike[change]
		if change == "" {
			same = []string{d.Expected}
		} else if same == nil {
			continue // told with the first of its kind
		}
		if shown++; shown > shownDifferences {
			fmt.Fprintf(&b, "… and %s more; -o json lists more of them\n", render.Number(len(report.Differences)+report.More-told))
			break
		}
		told += len(same)
		alike[change] = nil
		where := d.Where()
		if d.Stream > 0 {
			where += fmt.Sprintf(", stream %d", d.Stream)
		}
		if d.Type != "" {
			where += ", " + d.Type
		}
		b.WriteString("! " + render.Safe(where+": expected "+d.Expected+", got "+d.Got) + "\n")
		writeIndented(&b, d.Detail)
		if len(same) > 1 {
			b.WriteString("    the same change: " + render.Safe(render.SomeOf(same[1:], 5)) + "\n")
		}
	}
	return b.String()
}

// columnsOf lays out rows under each other.
func columnsOf(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], render.Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-render.Width(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
