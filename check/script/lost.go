package script

import "fmt"

// loss is something that a script cannot carry.
type loss int

const (
	lostBefore   loss = iota // streams whose beginning was not recorded
	lostGaps                 // entries that the recording had to drop
	lostNotes                // notes about the recording
	lostHeld                 // what clients say that they hold
	lostProblems             // entries with problems
	lostOrder                // entries older than the one before
	lostPeers                // connections with addresses of the proxy
	lostConns                // events of connections without streams
	lostHeaders              // streams with headers of their own
	lostSent                 // streams whose headers the proxy rewrote
	lostWhole                // messages that were not recorded whole
	lostUnread               // messages with parts that cannot be read
	lostOther                // messages of other services, or in another form
	lostRequests             // requests that say more
	lostReplies              // responses that say more, resources aside
	lostReports              // load reports and client status
	lostRefs                 // references
	lostFaults               // resources with a fault that cannot be made
	lostText                 // texts that are not UTF-8
	lostBodies               // bodies of polls and files
	lostSize                 // sizes of large messages
	lostLength               // entries beyond what is read back
	losses
)

// sentences say of each what was lost, for one and for several.
var sentences = [losses][2]string{
	lostBefore:   {"one stream had begun before the recording did: its method is a guess", "%d streams had begun before the recording did: their method is a guess"},
	lostGaps:     {"one entry was missing in the recording, so that a message may be missing here", "%d entries were missing in the recording, so that messages may be missing here"},
	lostHeld:     {"what a client says that it holds is left out", "what clients say that they hold is left out, %d times"},
	lostNotes:    {"one note about the recording is left out", "%d notes about the recording are left out"},
	lostProblems: {"one entry could not be recorded as it was", "%d entries could not be recorded as they were"},
	lostOrder:    {"one entry is older than the one before it, and is written as if it were not", "%d entries are older than the one before them, and are written as if they were not"},
	lostPeers:    {"the addresses of the proxy on one connection are left out", "the addresses of the proxy on %d connections are left out"},
	lostConns:    {"the end of one connection without streams is left out", "the ends of %d connections without streams are left out"},
	lostHeaders:  {"the headers of one stream are replaced by the usual ones", "the headers of %d streams are replaced by the usual ones"},
	lostSent:     {"the headers of one stream were rewritten on their way, which is left out", "the headers of %d streams were rewritten on their way, which is left out"},
	lostWhole:    {"one message was not recorded whole", "%d messages were not recorded whole"},
	lostUnread:   {"one message has parts that cannot be read", "%d messages have parts that cannot be read"},
	lostOther:    {"one message is of a service or in a form that a script does not know", "%d messages are of a service or in a form that a script does not know"},
	lostRequests: {"one request says more, such as metadata of its node", "%d requests say more, such as metadata of their node"},
	lostReplies:  {"one response says more, beside its resources", "%d responses say more, beside their resources"},
	lostReports:  {"one load report or client status says more", "%d load reports or client statuses say more"},
	lostRefs:     {"one reference of a resource is left out", "%d references of resources are left out"},
	lostFaults:   {"one fault in a resource is left out", "%d faults in resources are left out"},
	lostText:     {"one text is not valid UTF-8", "%d texts are not valid UTF-8"},
	lostBodies:   {"one body that is no discovery message is left out", "%d bodies that are no discovery messages are left out"},
	lostSize:     {"the size of one large message is left out", "the sizes of %d large messages are left out"},
	lostLength:   {"one entry is beyond what a script may have, so that it cannot be read back whole", "%d entries are beyond what a script may have, so that it cannot be read back whole"},
}

// losses is how often each happened.
type tally [losses]int64

func (t *tally) list() (out []string) {
	for i, n := range t {
		switch {
		case n == 1:
			out = append(out, sentences[i][0])
		case n > 1:
			out = append(out, fmt.Sprintf(sentences[i][1], n))
		}
	}
	return out
}
