package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// MakeFindingList sorts and filters findings. It runs beside the loop.
func MakeFindingList(q findingQuery, all []check.Finding, own map[int]bool, silences []index.Silence) findingList {
	l := findingList{query: q, all: all, known: make([]bool, len(all)), Rows: make([]int32, 0, len(all))}
	for i := range all {
		f := &all[i]
		l.known[i] = own[f.Cause] || index.Silenced(f, silences)
		if q.Words == "" || widget.HasWords(findingWords(f, l.known[i]), q.Words) {
			l.Rows = append(l.Rows, int32(i))
		}
	}
	var names []string
	for _, i := range l.Rows {
		names = append(names, render.Safe(namesOf(&all[i], func(s string) string { return s })))
	}
	l.names = shortname.New(names)
	slices.SortStableFunc(l.Rows, func(x, y int32) int {
		a, b := &all[x], &all[y]
		if l.known[x] != l.known[y] { // what is known comes last, whatever the order
			return boolOrder(l.known[x], l.known[y])
		}
		n := 0
		switch q.sort {
		case latestFinding:
		case byRule:
			n = strings.Compare(a.Rule.ID, b.Rule.ID)
		case byClient:
			n = strings.Compare(a.Client, b.Client)
		case mostOften:
			n = -cmp.Compare(a.Count, b.Count)
		default:
			n = -cmp.Compare(a.Severity, b.Severity)
		}
		n = cmp.Or(n, -cmp.Compare(a.LastSeq, b.LastSeq), cmp.Compare(x, y))
		if q.turned {
			return -n
		}
		return n
	})
	return l
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// findingWords are what a filter looks at.
func findingWords(f *check.Finding, known bool) string {
	s := f.Severity.String() + " " + f.Rule.ID + " " + f.Client + " " + strings.Join(f.Clients, " ") + " " + f.Type + " " + string(f.Fault) + " " + f.Message + " " + strings.Join(f.Names, " ")
	if known {
		s += " known"
	}
	return s
}

// findingText is a finding as it is copied.
func findingText(scr view.Screen, f *check.Finding) string {
	s := f.Severity.String() + " " + f.Rule.ID
	for _, part := range []string{view.ClientsOf(scr, f), f.Type} {
		if part != "" {
			s += " " + part
		}
	}
	return scr.Aliases().Text(fmt.Sprintf("%s: %s (%s)", s, f.Message, seqWords(involved(f))))
}

// involved are the entries of a finding: those that proved it first, and the
// last one.
func involved(f *check.Finding) []session.Seq {
	out := slices.Clone(f.Seqs)
	if f.LastSeq != 0 {
		out = append(out, f.LastSeq)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func seqWords(seqs []session.Seq) string {
	word := "entries "
	if len(seqs) == 1 {
		word = "entry "
	}
	return word + seqList(seqs, ", ")
}

func seqList(seqs []session.Seq, sep string) string {
	parts := make([]string, len(seqs))
	for i, s := range seqs {
		parts[i] = fmt.Sprint(uint64(s))
	}
	return strings.Join(parts, sep)
}

// openFinding shows the messages of a finding as a timeline.
func openFinding(scr view.Screen, f *check.Finding) tea.Cmd {
	cmd := scr.Timeline(findingFilter(scr, f), f.LastSeq)
	scr.Say("u goes back to the filter before")
	return cmd
}

// findingFilter takes the entries of a finding. The client and the type stand
// there, too, where all of them have it, so that who takes the numbers away
// sees the conversation around.
func findingFilter(scr view.Screen, f *check.Finding) string {
	seqs := involved(f)
	q := "seq:" + seqList(seqs, ",")
	client, typ := f.Client != "", f.Type != ""
	for _, s := range seqs {
		r, ok := scr.Log().Index.BySeq(s)
		if !ok {
			continue
		}
		w := scr.Log().Index.Words(&r)
		client, typ = client && w.Client == f.Client, typ && w.Type == f.Type
	}
	if client {
		q += " client:" + view.Quoted(f.Client)
	}
	if typ {
		q += " type:" + f.Type
	}
	return q
}
