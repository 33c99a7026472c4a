package check

import "github.com/xdsproxy/xdsproxy/check/catalogue"

// Severity says how much a finding matters.
type Severity uint8

// Info is worth a line and never counts as a failure; a Warning works today,
// hurts or is fragile; an Error is a broken "must" of the protocol, or a state
// that a peer cannot recover from.
const (
	Info Severity = iota
	Warning
	Error
)

// String is the word that the machine-readable forms use.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "info"
}

// Fault names who would have to change something.
type Fault string

// The client, the management server, the configuration of either, or whoever
// sent the message; a Finding has one of the first three.
const (
	ClientFault Fault = "client"
	ServerFault Fault = "server"
	ConfigFault Fault = "config"
	SenderFault Fault = "sender"
)

// Confidence says how a finding is known.
type Confidence string

// Decided follows from content and order of messages alone, Timed needs a
// timer, Guessed is a heuristic: it needs decoded payloads or what another
// stream said. A Guessed finding is never an Error.
const (
	Decided Confidence = "D"
	Timed   Confidence = "T"
	Guessed Confidence = "H"
)

// Rule is one thing that can be wrong with a conversation: how the checker looks
// for it, and what there is to know about it. Rules are values: they hold no
// state.
type Rule struct {
	ID         string
	Fault      Fault
	Severity   Severity // the usual one; a finding's may differ
	Confidence Confidence
	Off        bool // runs only when enabled
	catalogue.Text

	// The conditions. Each is called with what the rule may be about, after
	// the event has been entered into the state; nil for no interest.
	request  func(*event) // a discovery request
	response func(*event) // a discovery response
	open     func(*event) // a stream begins
	end      func(*event) // a stream is over; event.end says how
	other    func(*event) // any other entry, such as a load report
	// polls says that request and response also look at REST and files, local
	// that what they look at is in the message alone, so that they look even
	// where part of the stream was not seen.
	polls, local bool
	// unanswered is called when names of a request were in no response for
	// Timers.DNE; event.wait has them.
	unanswered func(*event)
}
