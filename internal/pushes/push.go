package pushes

import (
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Head is what one line says of a push.
type Head struct {
	N      int    // its number, from 1, in the order in which they began
	Server string // address of the management server, "" if unknown
	// Version is what its responses have in common, "" if they have none or
	// several: then Burst says that they came together, and no more is known.
	Version string
	Burst   bool
	Start   bool // nothing in it came unasked

	First, Last session.Seq // its first and its last response
	Begun, Sent time.Time   // when these were sent
	// FirstACK and LastACK are when the first and the last response of it was
	// accepted, zero if none was.
	FirstACK, LastACK time.Time

	Types     []string // in the order in which they were sent first
	Responses int
	Bytes     int64
	// Idle are the responses that changed nothing of what their client had, and
	// their bytes.
	Idle      int
	IdleBytes int64

	Clients  int // that were sent something of it
	Accepted int // that accepted all they were sent of it, after rejections too
	Rejected int // that rejected something of it, and were sent nothing since that they accepted
	Pending  int // that have not answered all
	Left     int // that went away and had not answered
	Unclear  int // of which it cannot be told
	Unsent   int // that want what changed, and were not sent it

	Added, Changed, Removed, Renamed int // resources, each once for all clients

	Swaps int           // resources that were removed and for which others came
	Gap   time.Duration // the longest time for which something was missing; 0: nothing was, as far as is known
	Open  int           // of what is missing still

	Unsure bool // part of the streams was not seen, so that changes may be missing
}

// Push is one push in full. Nothing in it changes later.
type Push struct {
	Head
	Each    []Type   // by type, in the order in which they were sent first
	Changes []Change // by type and name
	Members []Client // those who are behind or rejected first, then by name
	Unsents []Unsent // by name
	Missing []Gap    // longest first
	Moves   []Swap   // by name

	// What there was no room for.
	MoreClients, MoreChanges, MoreGaps int
}

// Type is one type of resource in a push.
type Type struct {
	Type      string
	Version   string // "" if there are several
	Clients   int    // that were sent it
	Responses int
	Bytes     int64
	Resources int   // that its responses carried, again for each client
	Again     int   // of these, those that the client had with equal content
	AgainSize int64 // bytes of these
	// The times of the first and the last response, and verdict in favour.
	Sent, SentLast         time.Time
	Accepted, AcceptedLast time.Time // zero if none
	SentSeq, AcceptedSeq   session.Seq
}

// The ways in which a resource changes.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
	Renamed = "renamed" // another one with equal content was removed
)

// Change is one resource that is not what it was.
type Change struct {
	Type, Name string
	How        string // one of the words above
	From       string // of a renamed one: its name before
	Version    string // of the resource, "" if it has none
	// Contents are how many different contents clients were sent; 0 of a removed
	// one.
	Contents int
	Clients  int         // for whom it changed in that way
	Seq      session.Seq // of the first response with it
}

// The ways in which a client stands with a push.
const (
	Rejects = "rejected"
	Pends   = "pending"
	Gone    = "left"
	Accepts = "accepted"
	// Unclear is one of which nobody can tell: what it says is neither, or the
	// response has no nonce.
	Unclear = "unclear"
)

// Client is one client that was sent something of a push.
type Client struct {
	Client string // node id, or the connection of one that gave none
	State  string // the worst of its types
	Types  []Part // in the order in which they were sent
	// Order are the types in the order in which they were accepted first.
	Order []string
	Sent  time.Time // the first response
	Done  time.Time // the last verdict, zero while there is none
}

// Part is one type of a push at one client.
type Part struct {
	Type      string
	State     string
	Responses int
	Changed   int         // resources that were added, changed or removed
	Seq       session.Seq // of the newest response
	Sent      time.Time   // the first response
	Answer    session.Seq // of the newest verdict, 0 if there is none
	Answered  time.Time
	Nacks     int    // responses of it that were rejected, whatever came after
	Reason    string // why, the last time
}

// Unsent is a client that wants a resource which others were sent, has what they
// had of it before, and was not sent it.
type Unsent struct {
	Client     string
	Type, Name string
	// Owes says that the client has not answered the response before, for which
	// some servers wait.
	Owes bool
}

// The ways in which something is missing.
const (
	Cut   = "removed" // it was taken away while others referred to it
	Early = "early"   // others that refer to it came before it
)

// Gap is how long a client was without a resource to which others referred.
type Gap struct {
	Client     string
	Type, Name string // what was missing
	How        string // one of the words above
	// ByType and By name one of those that referred to it.
	ByType, By string
	// Instead is what those refer to now, "" if nothing or more than one.
	Instead string
	// Least and Most bound the time: messages are seen on their way, and not
	// when they take effect. The gap began when the response that made it was on
	// its way or accepted, and ended when the one that closed it was.
	Least, Most time.Duration
	Open        bool // nothing closed it yet, and the client is there: Most is up to now
	Unsure      bool // what closed it was rejected, or not answered yet
	// From is the response that made it, Until the one that closed it, 0 while
	// there is none.
	From, Until session.Seq
	At          time.Time
}

// Swap is a resource that was removed and to which others had referred that now
// refer to something else.
type Swap struct {
	Type, Name string
	Instead    []string // what they refer to now
	Via        []string // those who referred to it, "RDS web"
	Clients    int
	// Gapless are the clients at whom nothing was missing for any time.
	Gapless int
	// Margin is how long before the removal the others had been accepted, the
	// least of all clients; negative: so long after it.
	Margin time.Duration
}
