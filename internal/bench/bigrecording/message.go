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

// writeMessage records one client that is sent one response of so many clusters,
// and accepts it. No queue is between, which a message of this size would not
// pass.
func writeMessage(path string, resources int) error {
	now := time.Now()
	log, err := recorder.NewCopy(path, recorder.Facts{Created: now}, recorder.Options{Labels: labels, Transform: chunk.NewSplitter().Transform})
	if err != nil {
		return err
	}
	url := xds.TypeURL("CDS")
	r := synth.Response{TypeURL: url, Version: "1", Nonce: "1"}
	for i := range resources {
		name := fmt.Sprintf("outbound|8080||service-%06d.shop.svc.cluster.local", i)
		res := synth.Resource{TypeURL: url, Payload: name, OwnName: true, Content: fmt.Sprint(i)}
		res.Refs.EDS, res.Refs.EDSName = true, fmt.Sprintf("service-%06d", i)
		r.Resources = append(r.Resources, res)
	}
	first := synth.Request{TypeURL: url, Node: &decode.Node{ID: "web", Cluster: "web"}}
	accepted := synth.Request{TypeURL: url, Version: r.Version, Nonce: r.Nonce}
	for i, e := range []session.Entry{
		{Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: "10.0.0.1:40000"}},
		{Side: session.Client, Kind: session.KindOpen, Stream: 1, H2: 1, Method: adsPath},
		message(session.Client, first.Marshal()),
		message(session.Server, r.Marshal()),
		message(session.Client, accepted.Marshal()),
	} {
		e.Seq, e.Time, e.Conn = session.Seq(i+1), now, 1
		if err := log.Add(&e); err != nil {
			return err
		}
	}
	_, err = log.Close()
	return err
}

func message(side session.Side, data []byte) session.Entry {
	return session.Entry{
		Stream: 1, H2: 1, Side: side, Kind: session.KindMessage,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	}
}
