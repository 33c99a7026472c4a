package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/filter"
)

// wordPage says what the words and signs on the screen mean.
func wordPage() []paragraph {
	heading := func(s string) paragraph { return paragraph{head: s, look: title} }
	word := func(w string, look role, s string) paragraph { return paragraph{head: w, look: look, text: s} }
	return []paragraph{
		heading("A client and a type of resource"),
		word("SYNCED", good, "it accepted what was sent last"),
		word("PENDING", accent, "something was sent, and there is still time to answer"),
		word("STALE", warned, "something was sent, and no answer came in time"),
		word("NACKED", bad, "it rejected what was sent last, and keeps what it had"),
		word("NOTSENT", warned, "it asked, and nothing came"),
		word("UNKNOWN", warned, "what it made of what was sent last cannot be told"),
		word("NACKED x3", bad, "it has rejected so often in a row"),
		word("(SYNCED)", muted, "as it was last known: the stream has ended"),
		word("-", muted, "it has not asked"),
		word("?", muted, "behind a word: part of the conversation was not seen"),
		{},
		heading("A resource of a client"),
		word("REQUESTED", accent, "asked for or sent, and not answered yet"),
		word("ACKED", good, "the client accepted it"),
		word("NACKED", bad, "the client rejected the response that brought it"),
		word("MISSING", warned, "asked for or referred to, and never sent, or said not to exist"),
		word("not over xDS", muted, "a cluster that was not sent, and is mostly of the client's bootstrap"),
		word("REMOVED", muted, "it was there, and the server took it away"),
		word("UNCERTAIN", warned, "part of the conversation was not seen"),
		{},
		heading("What an entry of the timeline is"),
		word("SUB", plain, "a request that is the first of its type, or changes the names"),
		word("UNSUB", plain, "a request that only takes names away"),
		word("ACK", good, "a request that accepts the response it answers"),
		word("NACK", bad, "a request that rejects it, and says why"),
		word("REQ", plain, "any other request"),
		word("RESP", accent, "a response with the state of the world: all that there is"),
		word("DELTA", accent, "a response with what changed and what is gone"),
		word("CONN GONE", muted, "a client connected; its connection ended"),
		word("OPEN CLOSE", muted, "a stream began; it ended, with its status"),
		word("HEAD HALF", muted, "headers of a stream; the client has no more to say"),
		word("gap", bad, "entries that are missing: the disk could not keep up, or they were cut out"),
		word("note", muted, "something to know about the recording, or what a person wrote"),
		{},
		heading("Signs before an entry"),
		word("!", bad, "it proves an error, or it is a rejection"),
		word("~", warned, "it proves a warning, or it could not be read whole"),
		word("i", muted, "it proves something worth knowing"),
		word("*", accent, "a person marked it (m)"),
		word(">", plain, "it is selected"),
		{},
		heading("In the columns"),
		word("*", plain, "under RES: everything there is was asked for"),
		word("[size]", plain, "secrets in the message were masked when it was recorded"),
		word("ACK ms", plain, "of a response, the time until its answer; of an answer, the time it took"),
		{},
		heading("When P hides names"),
		word("client-1", accent, "the same client everywhere, until you leave; so are cluster-2, route-1, secret-1, name-1"),
		word("addr-1", accent, "an address of IP; ports stay, and so do 127.0.0.1 and ::1"),
		word("not hidden", warned, "host names and paths in messages, the bytes of one (wire), names in texts before they were met, what people wrote"),
		word("filters", plain, "still take the real names"),
	}
}

// filterExample is a filter that help shows.
type filterExample struct{ filter, help string }

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

// filterPage says how filters are written, with examples to try.
func filterPage() []paragraph {
	out := []paragraph{
		{text: "Terms with spaces between them must all hold. A comma between values is or, a - before a term turns it around. " +
			"* is any text, /.../ a regular expression, quotes keep spaces. There are no parentheses."},
		{},
		{head: "Examples: enter tries one", look: title},
	}
	for _, e := range filterExamples() {
		out = append(out, paragraph{head: e.filter, look: accent, text: e.help, run: tryFilter(e.filter)})
	}
	out = append(out, paragraph{}, paragraph{head: "Keys", look: title})
	for _, k := range filter.Keys() {
		out = append(out, paragraph{head: k.Name + ":" + k.Form, look: plain, text: k.About})
	}
	return out
}

func tryFilter(text string) func(m *Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		m.show(1)
		cmd, err := m.timeline.ask(m, text)
		if err != nil {
			m.complain(err)
		}
		return cmd
	}
}
