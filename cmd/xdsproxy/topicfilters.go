package main

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// filtersTopic is made from the table of keys.
func filtersTopic() string {
	var b strings.Builder
	b.WriteString(`A filter is any number of terms with spaces between them, all of which must
hold: KEY:VALUE, or a word that the line has in its summary.

  type:eds,cds           a comma between values is or
  -kind:ack              a - before a term turns it around
  client:gw-*            a * stands for any text
  name:/^outbound.443/   /…/ is a regular expression, in the syntax of RE2
  text:"no such host"    quotes keep spaces, commas and colons
  edge -healthcheck      words: lines with the one and without the other

Capital and small letters are the same. Only the first colon separates key and
value: name:outbound|9080||reviews needs no quotes. There is no "or" and there
are no parentheses. The keys:

`)
	for _, k := range filter.Keys() {
		fmt.Fprintf(&b, "  %-16s%-10s%s\n", k.Name, k.Form, k.About)
	}
	b.WriteString(`
A NUMBER, SIZE or DURATION can be a bound, >100 or <=1M, or a range, 5..9. The
units of sizes are k, M and G, in thousands as in the lines, and KiB, MiB and
GiB; those of durations ms, s, m and h.

  kind     of messages `)
	b.WriteString(wrapped(filter.Values("what"), 22))
	b.WriteString(`
           else open close gap note conn head half goaway gone held
           file; or the kinds of -o jsonl, such as header or disconnect
  type     the abbreviation that a line shows, or the name of the message, or
           its URL: type:*.v3.Cluster
  source   the object of a control plane that a resource of a response was made
           of, as KIND/NAMESPACE/NAME, as the resource says in its metadata or
           else by its name: source:HTTPRoute, source:HTTPRoute/shop/*; a kind
           that the control plane left out is unknown
  code     a status of gRPC by its name or number, an error of HTTP/2 by its
           name, a status of HTTP by its number: code:unavailable,cancel,503
  dir      req, resp
  sev      error, warning, info
  marked   yes, no: what a person marked on the screen, with m
  variant  `)
	b.WriteString(wrapped(filter.Values("variant"), 11))
	b.WriteString(`

  seq:4100            one entry
  seq:4100..4120,9000 a range, both ends included, and one more entry
  seq:4100..          from there on
  at:12:41            that minute
  at:12:41..12:43     three minutes: an end is as long as what it names
  at:12:41:07.5..     from that tenth of a second on
  at:2026-03-09T12:41:07Z..2026-03-09T13:00Z
  since:-5m           the last five minutes
  at:12:41 -seq:4110  that minute, without one entry

Times are in UTC, as watch prints them, unless they end with an offset such as
+02:00. A time of day is the first one since the recording began; write the date
where the recording is longer than a day.

watch goes straight to the numbers and times that a filter names, and ends when
nothing more can match; with client: and short types, it leaves out the parts
of the recording that have nothing to do with them. The few lines before, and
what opened each stream, are read to tell what an entry means. Some terms
need everything that was said before: with ack:, rule:, sev:, and with the kinds
ack, sub, unsub and req, the recording is read from its beginning. marked: means
the marks that there are when the reading begins, so it needs a file.
`)
	return b.String()
}

// wrapped writes words in lines that fit in the help, indented but for the
// first.
func wrapped(words []string, indent int) string {
	var b strings.Builder
	used := indent
	for i, w := range words {
		switch {
		case used+1+len(w) > settings.HelpWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		case i > 0:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}
