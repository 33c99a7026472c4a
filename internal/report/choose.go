package report

import (
	"cmp"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// MostFindings is how many findings a report is about.
const MostFindings = 5

// Choose takes the findings that a report is about: those of the rules, and those
// about the entries; without either the gravest ones.
func Choose(found []check.Finding, rules []string, seqs []session.Seq) []check.Finding {
	named := len(rules)+len(seqs) > 0
	found = slices.DeleteFunc(slices.Clone(found), func(f check.Finding) bool {
		switch {
		case len(f.Seqs) == 0:
			return true
		case !named:
			return f.Severity < check.Warning
		}
		about := slices.ContainsFunc(seqs, func(s session.Seq) bool { return slices.Contains(f.Seqs, s) || f.LastSeq == s })
		return !about && !slices.Contains(rules, f.Rule.ID)
	})
	slices.SortStableFunc(found, func(x, y check.Finding) int { return cmp.Compare(y.Severity, x.Severity) })
	return found[:min(len(found), MostFindings)]
}

// About are those of the findings that the entries prove, all of them if none does.
func About(found []check.Finding, seqs []session.Seq) []check.Finding {
	for i := range found {
		if slices.Equal(found[i].Seqs, seqs) {
			return found[i : i+1]
		}
	}
	return found
}
