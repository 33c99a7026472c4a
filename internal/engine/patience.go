package engine

import "time"

// How long a client may take for its verdict, where Options say nothing else.
const (
	DefaultACK  = 10 * time.Second
	DefaultWarm = 30 * time.Second // on clusters
)

// A response of more than hugeCDS clusters gives the client more time, pace for
// each of those above.
const (
	hugeCDS = 1000
	pace    = 5 * time.Millisecond
)

// AckTime is how long a client may take for its verdict on a response. Envoy
// holds back that on clusters until they are warm, and takes long for very many
// of them. A client that has not spoken since may have got it late.
func (k *Engine) AckTime(s *Subscription, n *Response, spoke bool) time.Duration {
	d := k.o.ACK
	if s.Type == "CDS" {
		d = k.o.Warm + time.Duration(max(0, n.Count-hugeCDS))*pace
	}
	if !spoke {
		d = max(d, 2*k.o.ACK)
	}
	return d
}

// overdue says whether the client has let that time pass.
func (k *Engine) overdue(s *Subscription, n *Response) bool {
	return k.Passed(n.At, k.Now) > k.AckTime(s, n, s.Stream.LastClientSeq > n.Seq)
}
