package page

import (
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// WordPage says what the words and signs on the screen mean.
func WordPage() []widget.Paragraph {
	heading := func(s string) widget.Paragraph { return widget.Paragraph{Head: s, Look: widget.Title} }
	word := func(w string, look widget.Role, s string) widget.Paragraph {
		return widget.Paragraph{Head: w, Look: look, Text: s}
	}
	return []widget.Paragraph{
		heading("A client and a type of resource"),
		word("SYNCED", widget.Good, "it accepted what was sent last"),
		word("PENDING", widget.Accent, "something was sent, and there is still time to answer"),
		word("STALE", widget.Warned, "something was sent, and no answer came in time"),
		word("NACKED", widget.Bad, "it rejected what was sent last, and keeps what it had"),
		word("NOTSENT", widget.Warned, "it asked, and nothing came"),
		word("UNKNOWN", widget.Warned, "what it made of what was sent last cannot be told"),
		word("NACKED x3", widget.Bad, "it has rejected so often in a row"),
		word("(SYNCED)", widget.Muted, "as it was last known: the stream has ended"),
		word("-", widget.Muted, "it has not asked"),
		word("?", widget.Muted, "behind a word: part of the conversation was not seen"),
		{},
		heading("A resource of a client"),
		word("SENT", widget.Accent, "sent, and not answered yet"),
		word("ACKED", widget.Good, "the client accepted it"),
		word("NACKED", widget.Bad, "the client rejected the response that brought it"),
		word("MISSING", widget.Warned, "asked for or referred to, and never sent, or said not to exist"),
		word("not over xDS", widget.Muted, "a cluster that was not sent, and is mostly of the client's bootstrap"),
		word("REMOVED", widget.Muted, "it was there, and the server took it away"),
		word("UNCERTAIN", widget.Warned, "part of the conversation was not seen"),
		{},
		heading("What an entry of the timeline is"),
		word("SUB", widget.Plain, "a request that is the first of its type, or changes the names"),
		word("UNSUB", widget.Plain, "a request that only takes names away"),
		word("ACK", widget.Good, "a request that accepts the response it answers"),
		word("NACK", widget.Bad, "a request that rejects it, and says why"),
		word("REQ", widget.Plain, "any other request"),
		word("RESP", widget.Accent, "a response with the state of the world: all that there is"),
		word("DELTA", widget.Accent, "a response with what changed and what is gone"),
		word("CONN GONE", widget.Muted, "a client connected; its connection ended"),
		word("OPEN CLOSE", widget.Muted, "a stream began; it ended, with its status"),
		word("HEAD HALF", widget.Muted, "headers of a stream; the client has no more to say"),
		word("gap", widget.Bad, "entries that are missing: the disk could not keep up, or they were cut out"),
		word("note", widget.Muted, "something to know about the recording, or what a person wrote"),
		{},
		heading("Signs before an entry"),
		word("!", widget.Bad, "it proves an error, or it is a rejection"),
		word("~", widget.Warned, "it proves a warning, or it could not be read whole"),
		word("i", widget.Muted, "it proves something worth knowing"),
		word("*", widget.Accent, "a person marked it (m)"),
		word(">", widget.Plain, "it is selected"),
		{},
		heading("In the columns"),
		word("*", widget.Plain, "under RES: everything there is was asked for"),
		word("[size]", widget.Plain, "secrets in the message were masked when it was recorded"),
		word("ACK ms", widget.Plain, "of a response, the time until its answer; of an answer, the time it took"),
		{},
		heading("When P hides names"),
		word("client-1", widget.Accent, "the same client everywhere, until you leave; so are cluster-2, route-1, secret-1, name-1"),
		word("addr-1", widget.Accent, "an address of IP; ports stay, and so do 127.0.0.1 and ::1"),
		word("not hidden", widget.Warned, "host names and paths in messages, what stands in base64, names in texts before they were met, what people wrote"),
		word("filters", widget.Plain, "still take the real names"),
	}
}

// filterExample is a filter that help shows.
type filterExample struct{ Filter, help string }

func filterExamples() []filterExample {
	return []filterExample{
		{"kind:nack", "what clients rejected"},
		{"type:eds,cds -kind:ack", "clusters and endpoints, without the answers that accept"},
		{"sev:error", "what rules hold to be wrong"},
		{"client:gw-*", "clients by their node id; * is any text"},
		{"name:outbound|9080*", "a resource; only the first colon counts, no quotes are needed"},
		{"res:>100", "messages with many resources"},
		{"size:>1M", "large messages"},
		{"ack:>500ms", "answers that took their time"},
		{"since:-5m", "the last five minutes"},
		{"dir:req -kind:ack", "requests that are no ACK"},
		{"kind:open,close,gap", "how streams began and ended, and what is missing"},
		{"code:unavailable,cancel", "streams that ended so"},
		{"marked:yes", "what was marked"},
		{"version:88 type:lds", "one version of listeners"},
		{`text:"duplicate address"`, "words anywhere in the message; slow"},
		{"edge -healthcheck", "lines with one word and without the other"},
	}
}

// FilterPage says how filters are written, with examples to try.
func FilterPage() []widget.Paragraph {
	out := []widget.Paragraph{
		{Text: "Terms with spaces between them must all hold. A comma between values is or, a - before a term turns it around. " +
			"* is any text, /.../ a regular expression, quotes keep spaces. There are no parentheses."},
		{},
		{Head: "Examples: enter tries one", Look: widget.Title},
	}
	for _, e := range filterExamples() {
		out = append(out, widget.Paragraph{Head: e.Filter, Look: widget.Accent, Text: e.help, Choice: e.Filter})
	}
	out = append(out, widget.Paragraph{}, widget.Paragraph{Head: "Keys", Look: widget.Title})
	for _, k := range filter.Keys() {
		out = append(out, widget.Paragraph{Head: k.Name + ":" + k.Form, Look: widget.Plain, Text: k.About})
	}
	return out
}
