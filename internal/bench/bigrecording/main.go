// bigrecording makes a recording of a given size, to see how the reading
// commands do on one: many clients, each with one stream of pushes that cannot
// be compressed; or, with -entries, a fleet whose pushes are much alike; or, with
// -resources, a single large response. With -rejected 1 the fleet is in a loop of
// rejections.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const adsPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

func main() {
	size := flag.Int64("size", 5<<30, "bytes of the file")
	entries := flag.Uint64("entries", 0, "a fleet's session of so many entries, instead of one of a size")
	resources := flag.Int("resources", 0, "one response of so many resources, instead of one of a size")
	rejected := flag.Int("rejected", 1000, "with -entries, one answer of how many is a rejection; 0 for none")
	nonces := flag.Bool("nonces", false, "with -entries, each response has a long nonce of its own, as Istio's have")
	out := flag.String("w", "big.xdsp", "the file to make")
	flag.Parse()
	if err := write(*out, *size, *resources, fleetOptions{*entries, *rejected, *nonces}); err != nil {
		fmt.Fprintln(os.Stderr, "bigrecording:", err)
		os.Exit(1)
	}
}

// labels are those that the commands look for in the index: where streams begin.
func labels(e *session.Entry) []string {
	if e.Kind == session.KindOpen {
		return []string{"begins"}
	}
	return nil
}

func write(path string, size int64, resources int, of fleetOptions) error {
	switch {
	case of.entries > 0:
		return writeFleet(path, of)
	case resources > 0:
		return writeMessage(path, resources)
	}
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, Labels: labels})
	if err != nil {
		return err
	}
	const clients = 1000
	at := time.Now().Add(-24 * time.Hour)
	for i := range clients {
		id := session.ConnID(i + 1)
		log.Append(session.Entry{Time: at, Conn: id, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: fmt.Sprintf("10.0.%d.%d:40000", i/256, i%256)}})
		log.Append(session.Entry{Time: at, Conn: id, Stream: session.StreamID(id), H2: 1, Side: session.Client, Kind: session.KindOpen, Method: adsPath})
	}
	rng := rand.NewChaCha8([32]byte{1})
	for n := uint64(1); log.Stats().Bytes < size; n++ {
		// One resource of 4 KiB that was never seen before, and what makes
		// a DiscoveryResponse of it: resources 2, type_url 4, nonce 5.
		body := make([]byte, 3, 3+4096)
		body[0] = 2<<3 | 2
		binary.PutUvarint(body[1:], 4096)
		body = body[:3+4096]
		rng.Read(body[3:])
		tail := append([]byte{4<<3 | 2, 3}, "a/b"...)
		at = at.Add(10 * time.Millisecond)
		log.Append(session.Entry{
			Time: at, Conn: session.ConnID(n%clients + 1), Stream: session.StreamID(n%clients + 1), H2: 1,
			Side: session.Server, Kind: session.KindMessage,
			Message: &session.Message{Data: session.Chunks{body, tail}, Size: int64(len(body) + len(tail)), WireSize: int64(len(body) + len(tail))},
		})
		if n%256 == 0 { // nothing waits for a log but this
			for log.Stats().Queued > 16<<20 {
				time.Sleep(time.Millisecond)
			}
		}
	}
	if err := log.Close(); err != nil {
		return err
	}
	s := log.Stats()
	fmt.Printf("%s: %d bytes, %d entries, %d lost\n", path, s.Bytes, s.Entries, s.Lost)
	return nil
}
