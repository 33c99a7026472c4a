package main

import (
	"fmt"
	"strings"
)

// topic is a page of help that concerns several commands.
type topic struct {
	name, short string
	text        func(a *app) string
}

func topics() []topic {
	fixed := func(text string) func(*app) string { return func(*app) string { return text } }
	return []topic{
		{"environment", "Variables and settings, and which one wins", environmentTopic},
		{"exit-codes", "What the exit codes say", fixed(exitCodesTopic)},
		{"filters", "How to say which entries are wanted", fixed(filtersTopic())},
		{"formats", "The machine-readable forms", fixed(formatsTopic)},
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
		fmt.Fprintf(b, "  %-13s%s\n", t.name, t.short)
	}
}

// environmentTopic is made from the table of settings.
func environmentTopic(a *app) string {
	var b strings.Builder
	b.WriteString(`A setting comes from the first of these that names it:

  1. a flag
  2. a variable of the environment
  3. the configuration file
  4. the default

Variables, with the flags that they stand for:

`)
	for _, s := range a.settings {
		fmt.Fprintf(&b, "  %-24s --%s\n", s.variable(), s.name)
	}
	b.WriteString(`
An empty variable does not count. A list is separated by commas. true, yes, on
and 1 switch a setting on; false, no, off and 0 switch it off.

The configuration file is the one that --config or XDSPROXY_CONFIG names, else
xdsproxy/config.yaml in the XDG configuration directory; never a file of the
working directory. Its keys are the flags' names:

  upstream: [istiod.istio-system:15010]
  listen: ["127.0.0.1:18000"]
  dial-timeout: 2s

Other variables:

  NO_COLOR                 no colour, if it is not empty
  CLICOLOR_FORCE           colour even without a terminal, if not empty or 0
  TERM                     no colour if it says dumb
  XDG_CONFIG_HOME          where the configuration file is (~/.config)
  XDG_STATE_HOME           where recordings go (~/.local/state)

xdsproxy config prints the value of every setting and where it came from.
`)
	return b.String()
}

const exitCodesTopic = `   0  done; also when the reader of the output went away
   1  failed: network, disk, no such recording, no such entry
   2  misused: unknown command or flag, wrong value, wrong setting
  12  the recording is damaged; what is readable was printed, and
      xdsproxy export --repair writes a clean copy of it
  13  the recording has a format version that this program does not know
 130  interrupted

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
                   truncated, problems. Empty members are left out
  show -o json     one JSON document for each entry
  show -o yaml     one YAML document for each entry
  info -o json     one JSON object
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

const sourcesTopic = `A reading command takes a SOURCE:

  FILE    a recording, finished or still being written
  -       a recording on standard input
  @last   the newest recording in the state directory

A recording in segments (run --max-size, --max-age) is read from the oldest one
that is left, by the name of its newest: x.xdsp, whose older ones are
x.000001.xdsp and so on. An older one is read alone by its own name.

watch follows a recording that is still being written, and ends when its writer
has let go of the file; --no-follow ends at what is there now. show and info
read what is there now. Without a SOURCE, watch and info take @last, and say so.
`
