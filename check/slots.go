package check

import "github.com/xdsproxy/xdsproxy/internal/engine"

// What rules remember of a type on a stream, by slot of its memory, which the
// engine empties when a part of the stream was not seen.
const (
	slotAcks = iota
	slotContent
	slotLeases
	slotPayload
	slotWaits
)

func acksOf(s *engine.Subscription) *acks       { return engine.Slot[acks](&s.Memory, slotAcks) }
func contentOf(s *engine.Subscription) *content { return engine.Slot[content](&s.Memory, slotContent) }

func leasesOf(s *engine.Subscription) *leases { return engine.Slot[leases](&s.Memory, slotLeases) }

func payloadOf(s *engine.Subscription) *payload { return engine.Slot[payload](&s.Memory, slotPayload) }
func waitsOf(s *engine.Subscription) *waits     { return engine.Slot[waits](&s.Memory, slotWaits) }

// The same of what stays until the stream ends.
const (
	slotWishes = iota
	slotLate
	slotAsked
)

func wishesOf(s *engine.Subscription) *wishes { return engine.Slot[wishes](&s.Lasting, slotWishes) }
func askedOf(s *engine.Subscription) *apiVersion {
	return engine.Slot[apiVersion](&s.Lasting, slotAsked)
}
func lateOf(s *engine.Subscription) *late { return engine.Slot[late](&s.Lasting, slotLate) }

// What rules remember of a stream: the clusters that warm up, and those that are
// named and were not sent, are forgotten when a part of it was not seen.
const (
	slotWarming = iota
	slotUnsent
)

func warmingOf(t *engine.Stream) *warmings { return engine.Slot[warmings](&t.Memory, slotWarming) }
func unsentOf(t *engine.Stream) *unsent    { return engine.Slot[unsent](&t.Memory, slotUnsent) }

// The same of what stays until the stream ends.
const (
	slotAhead = iota
	slotSizes
	slotPolling
	slotWatched
	slotLoads
	slotPresence
	slotIdentity
	slotInvents
)

func aheadOf(t *engine.Stream) *aheads      { return engine.Slot[aheads](&t.Lasting, slotAhead) }
func sizesOf(t *engine.Stream) *sizes       { return engine.Slot[sizes](&t.Lasting, slotSizes) }
func pollingOf(t *engine.Stream) *polling   { return engine.Slot[polling](&t.Lasting, slotPolling) }
func watchedOf(t *engine.Stream) *watched   { return engine.Slot[watched](&t.Lasting, slotWatched) }
func loadsOf(t *engine.Stream) *loads       { return engine.Slot[loads](&t.Lasting, slotLoads) }
func presenceOf(t *engine.Stream) *presence { return engine.Slot[presence](&t.Lasting, slotPresence) }

func identityOf(t *engine.Stream) *identity { return engine.Slot[identity](&t.Lasting, slotIdentity) }
func inventsOf(t *engine.Stream) *bool      { return engine.Slot[bool](&t.Lasting, slotInvents) }

// What rules remember of a client.
const slotInvented = 0

func inventedOf(x *event) *invented {
	return engine.Slot[invented](x.k.Remembered(x.stream), slotInvented)
}
