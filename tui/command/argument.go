package command

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// Entry is the entry that an argument names: by its number, or by a time, as a
// filter writes one, which is that of the first entry then or later. said is
// which one that is, where the argument does not say so itself.
func Entry(arg string, x *index.Index) (seq session.Seq, said string, err error) {
	if isNumber(arg) {
		n, _ := strconv.ParseUint(arg, 10, 64)
		if n == 0 {
			return 0, "", fmt.Errorf("%q is no sequence number", arg)
		}
		return session.Seq(n), "", nil
	}
	f, bad := filter.Parse("since:" + arg)
	if arg == "" || bad != nil || strings.ContainsAny(arg, " ,\"") {
		return 0, "", fmt.Errorf("%q is neither the number of an entry nor a time such as 08:25 or 08:25:10", arg)
	}
	_, last := x.Last()
	f.Begin(x.First(), last)
	m := index.NewMatcher(f)
	n := x.Len()
	i := sort.Search(n, func(i int) bool { return len(x.Scan(m, nil, i, i+1)) > 0 })
	r, ok := x.Row(i)
	if first := render.ShortTime(x.First()); !ok && strings.IndexByte(arg, ':') == 2 && arg < first {
		r, ok = x.Row(0) // a time of the day on which it began, before that
	}
	if !ok {
		return 0, "", fmt.Errorf("there is nothing at %s or later: the last entry is of %s", arg, render.ShortTime(last))
	}
	return r.Seq, fmt.Sprintf("%d, at %s, is the first at %s or later", r.Seq, render.ShortTime(r.At()), arg), nil
}

// Rule is the rule of a name.
func Rule(name string) (*check.Rule, error) {
	for _, r := range check.Rules() {
		if r.ID == name {
			return r, nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("explain needs the name of a rule; tab lists them")
	}
	if n := nearest.Name(name, RuleIDs()); n != "" {
		return nil, fmt.Errorf("there is no rule %q; did you mean %q?", name, n)
	}
	return nil, fmt.Errorf("there is no rule %q; tab lists them", name)
}

// RuleIDs are the names of all rules.
func RuleIDs() []string {
	var out []string
	for _, r := range check.Rules() {
		out = append(out, r.ID)
	}
	return out
}
