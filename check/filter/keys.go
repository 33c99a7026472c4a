package filter

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
)

// key is what stands before the colon of a term.
type key struct {
	name, form, about string
	parse             func(value string) (value, *Error)
	needs             Needs
	values            func() []string
}

// Key describes a key: the form of its values, and what they are about.
type Key struct{ Name, Form, About string }

// Keys lists the keys.
func Keys() []Key {
	var out []Key
	for _, k := range keys() {
		out = append(out, Key{k.name, k.form, k.about})
	}
	return out
}

// Values lists the words that a key takes, in small letters; none if it takes
// any text, or numbers.
func Values(name string) []string {
	for _, k := range keys() {
		if k.name == name && k.values != nil {
			return k.values()
		}
	}
	return nil
}

func keyNames() []string {
	var out []string
	for _, k := range keys() {
		out = append(out, k.name)
	}
	return out
}

func keyNamed(name string) *key {
	all := keys()
	if i := slices.IndexFunc(all, func(k key) bool { return k.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

const (
	number = "a number such as 5, a range such as 5..9, or a bound such as >100"
	size   = "a size such as 980, 6.2k, 1M or 4KiB, a range such as 1k..2k, or a bound such as >1M"
	length = "a duration such as 500ms or 1.5s, a range such as 5ms..1s, or a bound such as >500ms"
)

// keys are the keys that exist, in the order in which they are explained.
func keys() []key {
	findings := Needs{Findings: true, History: true}
	node := Needs{Node: true}
	content := Needs{Content: true}
	return []key{
		{name: "client", form: "TEXT", about: "the client, by its node id", parse: parseClient},
		{name: "type", form: "WORD", about: "the type of resource: cds, or a full name", parse: parseType, values: typeWords},
		{name: "kind", form: "WORD", about: "what the line says it is, such as nack or gap", parse: parseKind, values: kindWords},
		{name: "what", form: "WORD", about: "the same, of messages only", parse: parseWhat, values: whats},
		{name: "name", form: "TEXT", about: "a resource it carries, asks for or removes", parse: listOf(anyName), needs: content},
		{name: "source", form: "TEXT", about: "of what it was made: HTTPRoute/shop/*", parse: listOf(anySource), needs: content},
		{name: "version", form: "TEXT", about: "the version of a message", parse: fieldOf(versionOf)},
		{name: "nonce", form: "TEXT", about: "the nonce of a message", parse: fieldOf(nonceOf)},
		{name: "dir", form: "WORD", about: "messages of clients (req) or of servers (resp)", parse: parseDirection, values: directions},
		{name: "res", form: "NUMBER", about: "how many resources it carries or asks for", parse: amountOf(wholeNumber, number, resourcesOf)},
		{name: "size", form: "SIZE", about: "the size of a message: 980, 6.2k, 1M", parse: amountOf(bytes, size, sizeOf)},
		{name: "ack", form: "DURATION", about: "how long an ACK or NACK took", parse: amountOf(duration, length, waitedOf), needs: Needs{History: true}},
		{name: "code", form: "WORD", about: "how a stream ended or why a client refused", parse: parseCode, values: codeWords, needs: content},
		{name: "text", form: "TEXT", about: "anything in the decoded message; slow", parse: wordsOf(bodyOf), needs: Needs{Body: true}},
		{name: "seq", form: "NUMBER", about: "the number of an entry, or a range of them", parse: parseSeqs},
		{name: "at", form: "TIME", about: "a time, or a range of times", parse: parseTimes},
		{name: "since", form: "TIME", about: "from a time on, or -5m before the end on", parse: parseSince},
		{name: "stream", form: "NUMBER", about: "the stream", parse: amountOf(wholeNumber, number, streamOf)},
		{name: "conn", form: "NUMBER", about: "the connection", parse: amountOf(wholeNumber, number, connOf)},
		{name: "method", form: "TEXT", about: "the path of a stream, its service or its method", parse: listOf(anyMethod)},
		{name: "variant", form: "WORD", about: "the shape of the conversation: delta-ads", parse: parseVariant, values: variants},
		{name: "rule", form: "TEXT", about: "the rule that an entry breaks, by its id", parse: parseRule, needs: findings},
		{name: "sev", form: "WORD", about: "how grave that is", parse: parseSeverity, values: severities, needs: findings},
		{name: "marked", form: "WORD", about: "whether a person marked it: yes or no", parse: parseMarked, values: yesOrNo, needs: Needs{Marks: true}},
		{name: "node.id", form: "TEXT", about: "who the client says it is", parse: nodeField(func(n *decode.Node) string { return n.ID }), needs: node},
		{name: "node.cluster", form: "TEXT", about: "what it belongs to", parse: nodeField(func(n *decode.Node) string { return n.Cluster }), needs: node},
		{name: "node.region", form: "TEXT", about: "where it is", parse: nodeField(func(n *decode.Node) string { return n.Region }), needs: node},
		{name: "node.zone", form: "TEXT", about: "where in the region", parse: nodeField(func(n *decode.Node) string { return n.Zone }), needs: node},
		{name: "node.locality", form: "TEXT", about: "either of both", parse: listOf(anyLocality), needs: node},
		{name: "node.user_agent", form: "TEXT", about: "the program", parse: nodeField(func(n *decode.Node) string { return n.UserAgent }), needs: node},
		{name: "node.version", form: "TEXT", about: "its version", parse: nodeField(func(n *decode.Node) string { return n.UserAgentVersion }), needs: node},
		{name: "node.feature", form: "TEXT", about: "what it is capable of", parse: listOf(anyFeature), needs: node},
	}
}

// bare is the key of words without one.
func bare() *key {
	return &key{parse: wordsOf(summaryOf), needs: Needs{Summary: true}}
}
