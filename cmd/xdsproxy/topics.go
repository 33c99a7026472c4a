package main

import (
	"fmt"
	"strings"
)

// topic is a page of help that concerns several commands.
type topic struct {
	name, short string
	text        func(a *cli) string
}

func topics() []topic {
	fixed := func(text string) func(*cli) string { return func(*cli) string { return text } }
	return []topic{
		{"configuration", "The configuration file, and several listeners", func(a *cli) string { return a.config.FileHelp() }},
		{"environment", "Variables and settings, and which one wins", func(a *cli) string { return a.config.EnvironmentHelp() }},
		{"exit-codes", "What the exit codes say", fixed(exitCodesTopic)},
		{"filters", "How to say which entries are wanted", fixed(filtersTopic())},
		{"formats", "The machine-readable forms", fixed(formatsTopic)},
		{"scripts", "How to write a conversation by hand", fixed(scriptsTopic)},
		{"sources", "What the reading commands can read", fixed(sourcesTopic)},
	}
}

func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

func writeTopics(b *strings.Builder) {
	b.WriteString("\nTopics (xdsproxy help TOPIC):\n")
	for _, t := range topics() {
		fmt.Fprintf(b, "  %-15s%s\n", t.name, t.short)
	}
}

const exitCodesTopic = `   0  done; also when the reader of the output went away
   1  failed: network, disk, no such recording, no such entry
   2  misused: unknown command or flag, wrong value, wrong setting
  10  check has findings at or above --fail-on (default error)
  11  diff --exit-code or replay has found differences, or bisect that what
      was rejected is accepted now
  12  the recording is damaged; what is readable was printed, and
      xdsproxy export --repair writes a clean copy of it. With --strict also if
      entries are missing in it
  13  the recording has a format version that this program does not know
 130  interrupted

wrap ends with the code of its command: 128 and the signal's number if a signal
ended it, 127 if there is no such command, 126 if it cannot be run. Only when it
ends before the command runs, the codes are those above.

run ends with 0 when SIGINT or SIGTERM stops it: that is how it is meant to end.
A torn tail, as a crash or a kill leaves it, is no damage: it is said, and the
exit code is 0.
`

const formatsTopic = `Data goes to standard output, everything else to standard error. The forms for
machines are stable: members are added, never changed or removed.

  watch -o jsonl   one JSON object a line, one line an entry, in sequence order:
                   seq, time, conn, stream, h2_stream, client, side, kind,
                   method, variant, type, type_url, what, also, version, nonce,
                   names, added, removed, error, size, wire_size, masked,
                   truncated, problems, findings. Empty members are
                   left out
  export -o jsonl  the same; -o yaml is that of show
  export -o csv    one line an entry, as RFC 4180 has it: seq, time, client,
                   type, what, version, res, size, summary, conn, stream,
                   findings. A cell that a spreadsheet would take for a formula
                   has an apostrophe before it
  export -o html   a page for people, with one JSON object in the element with
                   the id data: report, summary, findings, rules, evidence,
                   clients, left_out, entries, parts
  show -o json     one JSON document for each entry
  show -o yaml     one YAML document for each entry
  info -o json     one JSON object
  check -o json    one JSON object: findings, each with rule, severity, fault,
                   confidence, client, conn, stream, type, names, seqs, at,
                   count, message; and a summary
  check -o sarif   SARIF 2.1.0, for code scanners
  check -o junit   JUnit XML, for build servers: a test for each rule
  status -o json   one JSON object; so does tree -o json
  replay -o json   one JSON object: streams, expected, sent, received, matched,
                   differences, each with seq, expected, got, detail, and
                   answers, stream, client, type, names where they are known;
                   more_differences that are not listed, notes, played.
                   Of several plays: commands, and cells, each with source,
                   command, client, outcome (as recorded, differs, failed),
                   and its report, or error
  bisect -o json   one JSON object: response, nack, client, type, resources,
                   suspects, trials, accepted, rest_accepted, script,
                   recording, and culprits, each with resources (name, type,
                   version), words, code, bare; removals, removed, fickle, by,
                   notes where there are any
  config -o json   one JSON object; also -o yaml
  version -o json  one JSON object

Each object says "schema": "xdsproxy/v1". Messages use the field names of their
.proto files, as Envoy's own config dump does. Times are RFC 3339, in UTC, with
nanoseconds. What a message is (the member what):

  SUB    a request that is the first of its type, or changes the names
  UNSUB  a request that only takes names away
  ACK    a request that accepts the response with its nonce
  NACK   a request that rejects it; error says why
  REQ    any other request
  RESP   a response that carries the state of the world
  DELTA  a response that carries changes
`

const scriptsTopic = `A conversation script (.xds) is read like a recording: one line a message, and
nothing waits for the time that it says.

  C> type=CDS V= N= R=[] node=gw-0
  S< type=CDS V=1 N=a res=[web{eds},api#2]
  C> type=CDS V=1 N=a R=[] node=gw-0
  t=+3s S< type=CDS V=2 N=b res=[web{eds}]
  C> type=CDS V=1 N=b R=[] err="web: no such" code=13
  -- server-end code=14

A line begins with who speaks: C> S< a state-of-the-world request and response,
D> d< delta, P> p< a REST poll and its reply, L> l< load reports, F: a file, and
-- for what happens to a stream. Then come words:

  type=      a short type such as CDS or v2.CDS, or a full name
  V= N=      version and nonce                R=[]    resource names
  sub=[] unsub=[] init={name:version}         of a delta request
  res=[]     resources                        rm=[]   removed resources
  errs=[name:NOT_FOUND]  alias=[]  sys=       of a response
  err="" code=  an error_detail               node=id/cluster  ua=  features=[]
  size=5MiB  pads the message                 x25     repeats the line

A resource is NAME, then what is known of it: @v2 its delta version, #h2 its
content (equal marks are equal contents; #corrupt, #unknown-field, #deprecated
and #pgv-bad are faults), {eds} {rds=r1} {sds=s1} {a,b} what it refers to, ~5s a
TTL. w: puts it into an envelope, hb: leaves the payload out.

  t=+3s      before a line: the time since the line before
  @1         the line belongs to stream 1, not to the newest
  -- stream 2 method=StreamClusters peer=10.0.0.2     opens another
  -- client-half-close, -- client-end, -- server-end code=12, -- tick

xdsproxy export SOURCE -o script writes one. A line that begins with # is a
remark.
`

const sourcesTopic = `A reading command takes a SOURCE:

  FILE    a recording, finished or still being written
  -       a recording on standard input
  @last   the newest recording in the state directory
  ADDR    a running proxy: unix:/path or host:port of its viewer endpoint; what
          is the name of a file, too, is that file
  x.xds   a conversation script; on standard input, too
  x.yaml  a file of Envoy's filesystem subscriptions, by the endings that Envoy
          knows: .yaml .yml .json .pb_text .pb. Its entries are that it was read
          and what is in it, a DiscoveryResponse; check says what is wrong

A recording in segments (run --max-size, --max-age) is read from the oldest one
that is left, by the name of its newest: x.xdsp, whose older ones are
x.000001.xdsp and so on. An older one is read alone by its own name.

watch follows a recording that is still being written, and ends when its writer
has let go of the file; --no-follow ends at what is there now. show and info
read what is there now. Without a SOURCE, watch, open, status and info take the
running proxy of this user, the newest if there are several, else @last, and say
so.

A running proxy serves what it records on a socket that only its user can open;
xdsproxy config says where. With --viewer 127.0.0.1:19000 it serves it there,
too, to those who know the token, which it prints. So a proxy in a pod is
watched:

  kubectl port-forward POD 19000
  XDSPROXY_VIEWER_TOKEN=... xdsproxy watch 127.0.0.1:19000

watch follows it, and goes on where it was when the connection was lost. All
other commands read what was there when they began.
`
