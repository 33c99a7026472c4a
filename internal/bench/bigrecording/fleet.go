package main

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	fleetClients  = 200
	fleetClusters = 20
)

// fleet is a control plane that changes one cluster of twenty with each push to
// two hundred clients, each of which accepts it but for some.
type fleet struct {
	fleetOptions
	log *recorder.Log
	now time.Time
	urn [2]string // of clusters and of endpoints
}

type fleetOptions struct {
	entries  uint64
	rejected int
	nonces   bool
}

func writeFleet(path string, of fleetOptions) error {
	o := recorder.Options{NoTicks: true, Labels: labels, Transform: chunk.NewSplitter().Transform}
	log, err := recorder.Create(path, o)
	if err != nil {
		return err
	}
	f := &fleet{fleetOptions: of, log: log, now: time.Now().Add(-24 * time.Hour)}
	for i, short := range []string{"CDS", "EDS"} {
		f.urn[i] = xds.TypeURL(short)
	}
	f.play()
	if err := log.Close(); err != nil {
		return err
	}
	s := log.Stats()
	fmt.Printf("%s: %d bytes, %d entries, %d lost\n", path, s.Bytes, s.Entries, s.Lost)
	return nil
}

func (f *fleet) play() {
	for i := range fleetClients {
		id := session.ConnID(i + 1)
		f.add(session.Entry{Conn: id, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: fmt.Sprintf("10.0.0.%d:40000", i)}})
		f.add(session.Entry{Conn: id, Stream: session.StreamID(id), H2: 1, Side: session.Client, Kind: session.KindOpen, Method: adsPath})
		node := &decode.Node{ID: fmt.Sprintf("web-%03d", i), Cluster: "web", UserAgent: "envoy", UserAgentVersion: "1.40.0"}
		for _, url := range f.urn {
			q := synth.Request{TypeURL: url, Node: node}
			if url == f.urn[1] {
				q.Names = names()
			}
			f.send(id, session.Client, q.Marshal())
		}
	}
	versions := make([]int, fleetClusters)
	for push, n := 1, uint64(0); n < f.entries; push++ {
		versions[push%fleetClusters] = push
		url := f.urn[push%2]
		r := synth.Response{TypeURL: url, Version: fmt.Sprint(push), Nonce: fmt.Sprint(push)}
		for i, name := range names() {
			res := synth.Resource{TypeURL: url, Payload: name, OwnName: true, Content: fmt.Sprint(versions[i])}
			res.Refs.EDS = url == f.urn[0]
			r.Resources = append(r.Resources, res)
		}
		response := r.Marshal()
		for i := range fleetClients {
			id := session.ConnID(i + 1)
			if f.nonces {
				r.Nonce = fmt.Sprintf("%08x-8a3c-4b1e-9f00-%012x", push, n)
				response = r.Marshal()
			}
			f.send(id, session.Server, response)
			q := synth.Request{TypeURL: url, Version: r.Version, Nonce: r.Nonce}
			if url == f.urn[1] {
				q.Names = names()
			}
			if every := 2 * uint64(f.rejected); every > 0 && n%every == every-2 {
				q.Version, q.Error = fmt.Sprint(push-2), &decode.Error{Code: 13, Message: "Error adding/updating cluster(s) " + names()[push%fleetClusters]}
			}
			f.send(id, session.Client, q.Marshal())
			n += 2
		}
		f.now = f.now.Add(40 * time.Millisecond)
	}
}

func names() []string {
	out := make([]string, fleetClusters)
	for i := range out {
		out[i] = fmt.Sprintf("outbound|8080||service-%02d.shop.svc.cluster.local", i)
	}
	return out
}

func (f *fleet) send(id session.ConnID, side session.Side, data []byte) {
	f.now = f.now.Add(20 * time.Microsecond)
	f.add(session.Entry{
		Conn: id, Stream: session.StreamID(id), H2: 1, Side: side, Kind: session.KindMessage,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	})
}

// add appends an entry, when the writer has room for it.
func (f *fleet) add(e session.Entry) {
	e.Time = f.now
	if f.log.Append(e)%256 == 0 {
		for f.log.Stats().Queued > 16<<20 {
			time.Sleep(time.Millisecond)
		}
	}
}
