package check

import (
	"slices"
	"strings"

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

// causes numbers what findings of several clients have in common.
type causes struct {
	known map[string]*cause
	last  int
}

type cause struct{ number, findings int }

// join numbers a finding, and counts it to its cause.
func (c *causes) join(f *Finding, key string) {
	k := c.known[key]
	if k == nil {
		if c.known == nil {
			c.known = make(map[string]*cause)
		}
		c.last++
		k = &cause{number: c.last}
		c.known[key] = k
	}
	k.findings++
	f.Cause = k.number
}

// leave is called before a finding gets other words.
func (c *causes) leave(key string) {
	if k := c.known[key]; k != nil {
		if k.findings--; k.findings == 0 {
			delete(c.known, key)
		}
	}
}

// commonKey is what the findings of one cause have in common, beside what a
// rule itself tells causes apart by. Of clients whose names are not known that
// is nothing.
func commonKey(f *Finding, cause string) string {
	who, client := "", f.Client
	names, text := strings.Join(f.Names, "\x00"), f.Message
	switch {
	case client == "":
		who = "-"
	case slices.Contains(f.Names, client): // there it is a resource
		client = ""
	}
	if f.same != "" {
		names, text = "", f.same
	}
	return engine.Short(strings.Join([]string{
		f.Rule.ID, who, f.Severity.String(), string(f.Fault), f.Type, names,
		masked(cause, client), gist(masked(text, client)),
	}, "\x01"))
}

// ownWords are what a quoted word follows that belongs to a stream, or to what
// was sent on it: of one cause there may be several versions on one client, too.
var ownWords = [...]string{"nonce", "version", "versions", "echoed", "the newer", "version is", "version is again", "sent last was"}

// gist is the message of a finding without what one cause has differently on
// each client: numbers (of entries and streams, times, counts, addresses),
// nonces and versions. What else stands in quotes is kept: names, and what peers
// said.
func gist(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	from := 0 // of what stands before the next quotes
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '`':
			end := quoted(text[i:])
			before := strings.TrimSuffix(text[from:i], " ")
			if slices.ContainsFunc(ownWords[:], func(w string) bool { return strings.HasSuffix(before, w) }) {
				b.WriteByte('#')
			} else {
				b.WriteString(text[i : i+end])
			}
			i += end
			from = i
		case isDigit(c) && (i == 0 || !inWord(text[i-1])):
			b.WriteByte('#')
			for i++; i < len(text) && (inWord(text[i]) || (text[i] == '.' || text[i] == ':') && i+1 < len(text) && isDigit(text[i+1])); {
				i++
			}
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// quoted is how long the quotation is that a text begins with.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// masked takes a client's name out of a text, where it is not part of another.
func masked(text, client string) string {
	if client == "" {
		return text
	}
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], client)
		if i < 0 {
			return b.String() + text[from:]
		}
		i += from
		end := i + len(client)
		b.WriteString(text[from:i])
		if i > 0 && nameByte(text[i-1]) || end < len(text) && nameByte(text[end]) {
			b.WriteString(client)
		} else {
			b.WriteByte('#')
		}
		from = end
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func nameByte(c byte) bool { return inWord(c) || c == '.' || c == '~' }
