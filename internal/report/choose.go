package report

import (
	"cmp"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// MostFindings is how many findings a report is about.
const MostFindings = 5

// Choose takes the findings that a report is about: those of the rules, and those
// about the entries; without either the gravest ones. Of each rule that is named
// there is one, if it found anything.
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
	bySeverity := func(x, y check.Finding) int { return cmp.Compare(y.Severity, x.Severity) }
	slices.SortStableFunc(found, bySeverity)
	var first, others []check.Finding
	for i := range found {
		if of := found[i].Rule.ID; slices.Contains(rules, of) && len(Unfound(first, []string{of})) > 0 {
			first = append(first, found[i])
			continue
		}
		others = append(others, found[i])
	}
	found = append(first, others[:max(0, min(len(others), MostFindings-len(first)))]...)
	slices.SortStableFunc(found, bySeverity)
	return found
}

// Unfound are those of the rules that none of the findings is of.
func Unfound(found []check.Finding, rules []string) []string {
	return slices.DeleteFunc(slices.Clone(rules), func(id string) bool {
		return slices.ContainsFunc(found, func(f check.Finding) bool { return f.Rule.ID == id && len(f.Seqs) > 0 })
	})
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
