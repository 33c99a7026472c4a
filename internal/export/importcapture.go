package export

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/convert/capture"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// readCapture reads a capture of packets.
func readCapture(in *bufio.Reader, emit func(*session.Entry) error) (imported, error) {
	done, err := capture.Read(in, emit)
	to := imported{
		entries: done.Entries, messages: done.Messages,
		none: fmt.Sprintf("no xDS in its %s and %s of TCP", render.Count(done.Packets, "packet", "packets"),
			render.Count(done.OtherConnections+done.TLS, "connection", "connections")),
		said: []string{fmt.Sprintf("they are of %s of xDS on %s",
			render.Count(done.Streams, "stream", "streams"), render.Count(done.Connections, "connection", "connections"))},
	}
	if damage, damaged := errors.AsType[*capture.FormatError](err); damaged {
		to.damage, err = damage, nil
	}
	say := func(to *[]string, n uint64, one, many, rest string) {
		if n > 0 {
			*to = append(*to, render.Count(n, one, many)+rest)
		}
	}
	say(&to.said, done.OtherConnections+done.TLS, "other connection of TCP was", "other connections of TCP were", " left out")
	say(&to.said, done.OtherStreams, "stream of something else was", "streams of something else were", " left out")
	if done.Torn {
		to.said = append(to.said, "the file ends within a packet, as when the program that writes it is killed")
	}
	warn := func(n uint64, one, many, rest string) { say(&to.warned, n, one, many, rest) }
	warn(done.TLS, "connection is in TLS and cannot be read", "connections are in TLS and cannot be read",
		"; with its keys tshark writes what is in it, see xdsproxy import --help")
	warn(done.Midway, "connection had begun before the capture did", "connections had begun before the capture did",
		": header fields that refer to what came before (HPACK) are unknown")
	warn(done.Headless, "stream", "streams", " of xDS had begun before, or its header fields are lost: methods are unknown, and verdicts are best guesses")
	warn(done.UnknownStreams, "stream was", "streams were", " left out, since neither header fields nor messages tell what it is")
	if done.Gaps > 0 {
		to.warned = append(to.warned, fmt.Sprintf("at %s packets are missing, with %s; gap entries say where",
			render.Count(done.Gaps, "place", "places"), render.Size(int64(done.Missing))))
	}
	warn(done.GivenUp, "connection was given up", "connections were given up", ", since so many others came while nothing was said on it")
	warn(done.Cut, "packet was", "packets were", " captured in part only; let the program that captures not cut them (tcpdump -s 0)")
	warn(done.Fragments, "packet is", "packets are", " a fragment of IP; fragments are not put together")
	warn(done.UnknownLinks, "packet has", "packets have", " a link type that is not read")
	return to, err
}
