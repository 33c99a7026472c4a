package generate

import (
	"fmt"
	"time"
)

// REST is how a client polls.
type REST struct {
	HTTP1   bool          // in HTTP/1.1
	Timeout time.Duration // how long it waits for an answer; 0: that is not known
}

const (
	// refresh is soon: nothing is gained by a pause between polls that were
	// recorded long ago. An Envoy adds up to as much again.
	refresh = 200 * time.Millisecond
	// usualTimeout is long, since a played server may let a poll wait.
	usualTimeout = 30 * time.Second
)

// polling is the source of a type that is polled for.
func (r *REST) polling(cluster string) object {
	timeout := usualTimeout
	if r != nil && r.Timeout > 0 {
		timeout = r.Timeout
	}
	return object{
		"api_type": Polls, "transport_api_version": "V3", "cluster_names": []string{cluster},
		"refresh_delay": seconds(refresh), "request_timeout": seconds(timeout),
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }

// http is the protocol of the clusters that lead to the server. One cluster may be
// for streams, too, which HTTP/1.1 does not have.
func (c *Client) http() object {
	streams := c.ADS != ByADS
	for _, ask := range c.Asks {
		streams = streams || ask.API == SotW || ask.API == Delta
	}
	if c.REST != nil && c.REST.HTTP1 && !streams {
		return object{"http_protocol_options": object{}}
	}
	return object{"http2_protocol_options": object{}}
}
