package check

// What rules remember of a type on a stream, by slot of its memory, which the
// engine empties when a part of the stream was not seen.
const (
	slotAcks = iota
	slotContent
	slotLeases
	slotPayload
	slotWaits
)

func acksOf(s *subscription) *acks            { return Slot[acks](&s.memory, slotAcks) }
func contentOf(s *subscription) *contentState { return Slot[contentState](&s.memory, slotContent) }
func leasesOf(s *subscription) *leases        { return Slot[leases](&s.memory, slotLeases) }
func payloadOf(s *subscription) *payloadState { return Slot[payloadState](&s.memory, slotPayload) }
func waitsOf(s *subscription) *waits          { return Slot[waits](&s.memory, slotWaits) }

// The same of what stays until the stream ends.
const (
	slotWishes = iota
	slotLate
	slotAsked
)

func wishesOf(s *subscription) *wishes    { return Slot[wishes](&s.lasting, slotWishes) }
func askedOf(s *subscription) *apiVersion { return Slot[apiVersion](&s.lasting, slotAsked) }
func lateOf(s *subscription) *late        { return Slot[late](&s.lasting, slotLate) }

// What rules remember of a stream: the clusters that warm up are forgotten when
// a part of it was not seen.
const slotWarming = 0

func warmingOf(t *talk) *warmings { return Slot[warmings](&t.memory, slotWarming) }

// The same of what stays until the stream ends.
const (
	slotAhead = iota
	slotSizes
	slotPolling
	slotWatched
	slotLoads
	slotPresence
	slotIdentity
)

func aheadOf(t *talk) *aheads      { return Slot[aheads](&t.lasting, slotAhead) }
func sizesOf(t *talk) *sizes       { return Slot[sizes](&t.lasting, slotSizes) }
func pollingOf(t *talk) *polling   { return Slot[polling](&t.lasting, slotPolling) }
func watchedOf(t *talk) *watched   { return Slot[watched](&t.lasting, slotWatched) }
func loadsOf(t *talk) *loads       { return Slot[loads](&t.lasting, slotLoads) }
func presenceOf(t *talk) *presence { return Slot[presence](&t.lasting, slotPresence) }
func identityOf(t *talk) *identity { return Slot[identity](&t.lasting, slotIdentity) }
