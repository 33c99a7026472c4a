package mcp

import (
	"context"
	"io"
)

// Tool is one that an assistant can use. Each answers as the command does that it
// stands for.
type Tool struct {
	Name    string
	Command string // the command that prints the same
	Title   string
	About   string
	Params  []Param
	// Lines says that it prints one JSON object a line, else it prints one in all.
	Lines bool
}

// Print prints what a tool answers for machines, of the recording with this name,
// and beside it what else is to be said. What of it was printed before an error is
// an answer, too.
type Print func(ctx context.Context, recording string, a *Args, out, notes io.Writer) error

var at = Param{Name: "at", Kind: Number, About: "As it was after the entry with this number; without it, at the end."}

var client = Param{Name: "client", Kind: Text, About: "A node id, or a part of one that fits only one client. It may be left out if there is only one."}

// Tools are all there are.
func Tools() []*Tool {
	return []*Tool{
		{
			Name: "clients", Command: "status -o json", Title: "Clients and where they stand",
			About:  "Where each xDS client stands with each type of resource, the worst first: SYNCED (accepted what was sent last), PENDING, STALE (did not answer in time), NACKED (rejected it; last_nack is its reason), NOTSENT (asked, nothing came). Begin here.",
			Params: []Param{at},
		},
		{
			Name: "timeline", Command: "watch -o jsonl", Title: "What was said, entry by entry", Lines: true,
			About: "The entries of the recording in order, one object each: messages (what is SUB, UNSUB, ACK, NACK, REQ, RESP or DELTA), streams, connections, gaps, notes, with the findings of rules where they were proved. Entries that only repeat others are left out; an object with repeats (the number of the entry that they repeat), rounds and last stands for them, at rounds 1, 10, 100 and so on, and at the end. Of a poll over REST the request stands for all of it.",
			Params: []Param{
				{Name: "filter", Kind: Text, About: "Which entries are wanted: terms with spaces between them that must all hold, such as 'kind:nack', 'type:cds,eds client:gw-0', 'name:payments -kind:ack', 'since:5m', 'rule:*', 'sev:error'. Without it: all."},
				{Name: "from", Kind: Number, About: "The number of the entry to begin with. To see what came after an answer without a cursor: the last number and one."},
				{Name: "unfolded", Kind: Flag, About: "True: each entry for itself, those that only repeat others, too."},
			},
		},
		{
			Name: "entry", Command: "show -o json", Title: "One entry in full",
			About: "One entry in full, its message decoded to the last field. Of a long message, resource or path gives a part.",
			Params: []Param{
				{Name: "seq", Kind: Number, Needs: true, About: "The number of the entry (seq)."},
				{Name: "resource", Kind: Text, About: "Of a response, only the resource with this name."},
				{Name: "path", Kind: Text, About: "Only what is at this place of the entry, such as message.resources[3].filter_chains."},
			},
		},
		{
			Name: "check", Command: "check -o json", Title: "What broke the rules of the protocol",
			About: "Findings: which rule of the xDS protocol was broken, by whom, when, with which entries (seqs), and a summary. explain says what a rule means.",
			Params: []Param{
				{Name: "severity", Kind: Text, Of: []string{"error", "warning", "info"}, About: "Only findings of this severity or a graver one: error, warning or info. Without it: all."},
				{Name: "rule", Kind: Text, About: "Only findings of the rule with this id."},
			},
		},
		{
			Name: "explain", Command: "explain -o json", Title: "What a rule means",
			About: "What a finding of a rule means, what usually causes it and what to do next. Without a rule: all rules, which are many.",
			Params: []Param{
				{Name: "rule", Kind: Text, About: "The id of a rule, such as nack-received."},
			},
		},
		{
			Name: "diff", Command: "diff NAME -o json", Title: "What changed in a resource",
			About: "The versions of a resource that a client was sent, what the client said of each, and what differs between two of them: between the one accepted last and the one rejected, if the last was rejected, else between the last two.",
			Params: []Param{
				{Name: "name", Kind: Text, Needs: true, About: "The name of the resource."},
				{Name: "type", Kind: Text, About: "Its type, such as CDS, where resources of several types have the name."},
				{Name: "client", Kind: Text, About: "A node id, or a part of one that fits only one client, where clients were sent different contents."},
				{Name: "from", Kind: Text, About: "The older version: v1, v2 and so on, or the number of an entry after which it was in force."},
				{Name: "to", Kind: Text, About: "The newer version, likewise."},
				{Name: "all", Kind: Flag, About: "True: each step from the first version to the last."},
			},
		},
		{
			Name: "tree", Command: "tree CLIENT -o json", Title: "Resources by reference",
			About:  "What a client was sent, from listeners down to endpoints, as the resources refer to each other, with state and version; then those to which nothing refers (dangling), and those that are referred to or asked for and were not sent (missing).",
			Params: []Param{client, at},
		},
	}
}
