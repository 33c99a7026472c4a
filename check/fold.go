package check

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// One cause on many clients is one finding. A Checker keeps a Finding for each
// client, because what was proved is proved of an entry, and numbers the causes;
// Fold makes one of those with the same number.

// maxClients bounds the clients that are counted for one cause, so that one of a
// large fleet leaves room for others among maxFindings.
const maxClients = maxFindings / 5

// Fold makes one finding of those that several clients have of one cause. It
// stands where that of the first client stood, and says what was seen there;
// counts are added up. Findings of several Checkers are folded one by one.
func Fold(all []Finding) []Finding {
	out := make([]Finding, 0, len(all))
	at := make(map[int]int, len(all))
	for i := range all {
		f := &all[i]
		n, is := at[f.Cause]
		if !is || f.Cause == 0 {
			at[f.Cause] = len(out)
			out = append(out, *f)
			if f.MoreClients {
				out[len(out)-1].Clients = []string{f.Client}
			}
			continue
		}
		one := &out[n]
		one.Count += f.Count
		if f.LastSeq > one.LastSeq {
			one.Last, one.LastSeq = f.Last, f.LastSeq
		}
		if one.Clients == nil {
			one.Clients = []string{one.Client}
		}
		one.Clients = append(one.Clients, f.Client)
	}
	return out
}

// commonKey is what the findings of one cause have in common: what a rule itself
// tells causes apart by, and what it says they have to have in common. How they
// are worded is no matter. Of clients whose names are not known that is nothing.
func commonKey(f *Finding, cause string) string {
	who, client, names := "", f.Client, ""
	switch {
	case client == "":
		who = "-"
	case slices.Contains(f.Names, client): // there it is a resource
		client = ""
	}
	if f.same == "" {
		names = strings.Join(f.Names, "\x00")
	}
	return engine.Short(strings.Join([]string{
		f.Rule.ID, who, f.Severity.String(), string(f.Fault), f.Type, names, words.Masked(cause, client), words.Masked(f.same, client),
	}, "\x01"))
}
