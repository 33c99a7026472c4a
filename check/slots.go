package check

import (
	"github.com/xdsproxy/xdsproxy/check/timer"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// What rules remember of a type on a stream. The engine empties it when a part of
// the stream was not seen.
func acksOf(s *engine.Subscription) *acks           { return engine.Slot[acks](&s.Memory) }
func contentOf(s *engine.Subscription) *content     { return engine.Slot[content](&s.Memory) }
func leasesOf(s *engine.Subscription) *timer.Leases { return engine.Slot[timer.Leases](&s.Memory) }
func payloadOf(s *engine.Subscription) *payload     { return engine.Slot[payload](&s.Memory) }
func waitsOf(s *engine.Subscription) *waits         { return engine.Slot[waits](&s.Memory) }

// The same of what stays until the stream ends.
func wishesOf(s *engine.Subscription) *wishes    { return engine.Slot[wishes](&s.Lasting) }
func askedOf(s *engine.Subscription) *apiVersion { return engine.Slot[apiVersion](&s.Lasting) }
func lateOf(s *engine.Subscription) *late        { return engine.Slot[late](&s.Lasting) }

// What rules remember of a stream: the clusters that warm up, and those that are
// named and were not sent, are forgotten when a part of it was not seen.
func warmingOf(t *engine.Stream) *warmings { return engine.Slot[warmings](&t.Memory) }
func unsentOf(t *engine.Stream) *unsent    { return engine.Slot[unsent](&t.Memory) }

// The same of what stays until the stream ends.
func aheadOf(t *engine.Stream) *aheads      { return engine.Slot[aheads](&t.Lasting) }
func sizesOf(t *engine.Stream) *sizes       { return engine.Slot[sizes](&t.Lasting) }
func pollingOf(t *engine.Stream) *polling   { return engine.Slot[polling](&t.Lasting) }
func watchedOf(t *engine.Stream) *watched   { return engine.Slot[watched](&t.Lasting) }
func loadsOf(t *engine.Stream) *loads       { return engine.Slot[loads](&t.Lasting) }
func presenceOf(t *engine.Stream) *presence { return engine.Slot[presence](&t.Lasting) }
func identityOf(t *engine.Stream) *identity { return engine.Slot[identity](&t.Lasting) }
func inventsOf(t *engine.Stream) *bool      { return engine.Slot[bool](&t.Lasting) }

// What rules remember of a client.
func inventedOf(x *event) *invented { return engine.Slot[invented](x.k.Remembered(x.stream)) }
