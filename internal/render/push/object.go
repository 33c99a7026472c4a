package push

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// The machine-readable forms. Times are RFC 3339 in UTC; members whose names end
// with _ms are milliseconds; clients, resources and responses alone are counts.
type (
	// List is pushes, oldest first. Forgotten are those that came before and were
	// let go.
	List struct {
		Schema    string   `json:"schema"`
		Pushes    []Object `json:"pushes"`
		Forgotten int      `json:"forgotten,omitempty"`
	}
	// Object is a push. What follows unsent_clients is of one that is told in full.
	Object struct {
		Schema   string `json:"schema,omitempty"`
		N        int    `json:"n"`
		Server   string `json:"server,omitempty"`
		Version  string `json:"version,omitempty"` // that its responses have in common
		Burst    bool   `json:"burst,omitempty"`   // they came together, and no more is known
		Start    bool   `json:"start,omitempty"`   // all of it was asked for
		FirstSeq uint64 `json:"first_seq"`
		LastSeq  uint64 `json:"last_seq"`
		Begun    string `json:"begun"` // its first response
		Sent     string `json:"sent"`  // its last one
		FirstACK string `json:"first_ack,omitempty"`
		LastACK  string `json:"last_ack,omitempty"`
		// Since it began.
		FirstACKMS float64 `json:"first_ack_ms,omitempty"`
		LastACKMS  float64 `json:"last_ack_ms,omitempty"`

		Types         []string `json:"types"` // in the order in which they were sent first
		Responses     int      `json:"responses"`
		Bytes         int64    `json:"bytes"`
		IdleResponses int      `json:"idle_responses,omitempty"` // changed nothing
		IdleBytes     int64    `json:"idle_bytes,omitempty"`

		Clients  int `json:"clients"`
		Accepted int `json:"accepted"` // clients; so are the next five
		Rejected int `json:"rejected"`
		Pending  int `json:"pending"`
		Left     int `json:"left"`
		Unclear  int `json:"unclear,omitempty"` // of whom it cannot be told
		Unsent   int `json:"unsent"`

		Added   int `json:"added"` // resources; so are the next three
		Changed int `json:"changed"`
		Removed int `json:"removed"`
		Renamed int `json:"renamed"`

		Swaps int     `json:"swaps"` // resources that gave way to others
		GapMS float64 `json:"gap_ms"`
		Open  int     `json:"open_gaps"`

		Each    []Type   `json:"by_type,omitempty"`
		Changes []Change `json:"changes,omitempty"`
		Members []Member `json:"members,omitempty"` // behind or rejecting ones first
		Unsents []Unsent `json:"unsent_clients,omitempty"`
		Missing []Gap    `json:"gaps,omitempty"`
		Moves   []Swap   `json:"moves,omitempty"`
		// What there was no room for.
		MoreMembers int `json:"more_members,omitempty"`
		MoreChanges int `json:"more_changes,omitempty"`
		MoreGaps    int `json:"more_gaps,omitempty"`
	}
	// Type is one type of a push. Again are the resources that clients had with
	// equal content.
	Type struct {
		Type         string `json:"type"`
		Version      string `json:"version,omitempty"`
		Clients      int    `json:"clients"`
		Responses    int    `json:"responses"`
		Bytes        int64  `json:"bytes"`
		Resources    int    `json:"resources"`
		Again        int    `json:"again"`
		AgainBytes   int64  `json:"again_bytes"`
		Sent         string `json:"sent"`
		SentLast     string `json:"sent_last"`
		Accepted     string `json:"accepted,omitempty"`
		AcceptedLast string `json:"accepted_last,omitempty"`
		SentSeq      uint64 `json:"sent_seq"`
		AcceptedSeq  uint64 `json:"accepted_seq,omitempty"`
	}
	// Change is a resource that is not what it was. How is added, changed, removed
	// or renamed.
	Change struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		How      string `json:"how"`
		From     string `json:"from,omitempty"`
		Version  string `json:"version,omitempty"`
		Contents int    `json:"contents"`
		Clients  int    `json:"clients"`
		Seq      uint64 `json:"seq"`
	}
	// Member is a client that was sent something of a push. State is accepted,
	// rejected, pending or left; Order are the types as it accepted them.
	Member struct {
		Client string   `json:"client"`
		State  string   `json:"state"`
		Order  []string `json:"order"`
		Sent   string   `json:"sent"`
		Done   string   `json:"done,omitempty"`
		DoneMS float64  `json:"done_ms,omitempty"` // since the push began
		Types  []Part   `json:"types"`
	}
	// Part is a type of a push at a client.
	Part struct {
		Type      string `json:"type"`
		State     string `json:"state"`
		Responses int    `json:"responses"`
		Changed   int    `json:"changed"`
		Seq       uint64 `json:"seq"`
		Sent      string `json:"sent"`
		Answer    uint64 `json:"answer,omitempty"`
		Answered  string `json:"answered,omitempty"`
		Nacks     int    `json:"nacks,omitempty"` // responses that were rejected, whatever came after
		Reason    string `json:"reason,omitempty"`
	}
	// Unsent is a client that wants what changed, and was not sent it.
	Unsent struct {
		Client string `json:"client"`
		Type   string `json:"type"`
		Name   string `json:"name"`
		Owes   bool   `json:"owes_answer,omitempty"`
	}
	// Gap is how long a client was without a resource to which others refer. How is
	// removed or early.
	Gap struct {
		Client  string  `json:"client"`
		Type    string  `json:"type"`
		Name    string  `json:"name"`
		How     string  `json:"how"`
		ByType  string  `json:"by_type,omitempty"`
		By      string  `json:"by,omitempty"`
		Instead string  `json:"instead,omitempty"`
		LeastMS float64 `json:"least_ms"`
		MostMS  float64 `json:"most_ms"`
		Open    bool    `json:"open,omitempty"`
		Unsure  bool    `json:"unsure,omitempty"`
		From    uint64  `json:"from_seq"`
		Until   uint64  `json:"until_seq,omitempty"`
		At      string  `json:"at"`
	}
	// Swap is a resource that was removed, and what those refer to now that
	// referred to it.
	Swap struct {
		Type     string   `json:"type"`
		Name     string   `json:"name"`
		Instead  []string `json:"instead"`
		Via      []string `json:"via"`
		Clients  int      `json:"clients"`
		Gapless  int      `json:"gapless_clients"`
		MarginMS float64  `json:"margin_ms"`
	}
)

// NewList makes the machine-readable form of pushes that are told in a line each.
func NewList(heads []pushes.Head, forgotten int) *List {
	l := &List{Schema: render.Schema, Pushes: []Object{}, Forgotten: forgotten}
	for i := range heads {
		l.Pushes = append(l.Pushes, *headObject(&heads[i]))
	}
	return l
}

// NewObject makes that of one that is told in full.
func NewObject(p *pushes.Push) *Object {
	o := headObject(&p.Head)
	o.Schema = render.Schema
	o.MoreMembers, o.MoreChanges, o.MoreGaps = p.MoreClients, p.MoreChanges, p.MoreGaps
	for i := range p.Each {
		t := &p.Each[i]
		o.Each = append(o.Each, Type{
			t.Type, t.Version, t.Clients, t.Responses, t.Bytes, t.Resources, t.Again, t.AgainSize,
			stamp(t.Sent), stamp(t.SentLast), stamp(t.Accepted), stamp(t.AcceptedLast), uint64(t.SentSeq), uint64(t.AcceptedSeq),
		})
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		o.Changes = append(o.Changes, Change{c.Type, c.Name, c.How, c.From, c.Version, c.Contents, c.Clients, uint64(c.Seq)})
	}
	for i := range p.Members {
		o.Members = append(o.Members, member(&p.Members[i], p.Begun))
	}
	for _, u := range p.Unsents {
		o.Unsents = append(o.Unsents, Unsent(u))
	}
	for i := range p.Missing {
		g := &p.Missing[i]
		o.Missing = append(o.Missing, Gap{
			g.Client, g.Type, g.Name, g.How, g.ByType, g.By, g.Instead, millis(g.Least), millis(g.Most),
			g.Open, g.Unsure, uint64(g.From), uint64(g.Until), stamp(g.At),
		})
	}
	for i := range p.Moves {
		s := &p.Moves[i]
		o.Moves = append(o.Moves, Swap{s.Type, s.Name, list(s.Instead), list(s.Via), s.Clients, s.Gapless, millis(s.Margin)})
	}
	return o
}

func headObject(h *pushes.Head) *Object {
	o := &Object{
		N: h.N, Server: h.Server, Version: h.Version, Burst: h.Burst, Start: h.Start,
		FirstSeq: uint64(h.First), LastSeq: uint64(h.Last), Begun: stamp(h.Begun), Sent: stamp(h.Sent),
		FirstACK: stamp(h.FirstACK), LastACK: stamp(h.LastACK),
		Types: list(h.Types), Responses: h.Responses, Bytes: h.Bytes, IdleResponses: h.Idle, IdleBytes: h.IdleBytes,
		Clients: h.Clients, Accepted: h.Accepted, Rejected: h.Rejected, Pending: h.Pending, Left: h.Left, Unclear: h.Unclear, Unsent: h.Unsent,
		Added: h.Added, Changed: h.Changed, Removed: h.Removed, Renamed: h.Renamed,
		Swaps: h.Swaps, GapMS: millis(h.Gap), Open: h.Open,
	}
	if !h.FirstACK.IsZero() {
		o.FirstACKMS = millis(h.FirstACK.Sub(h.Begun))
	}
	if !h.LastACK.IsZero() {
		o.LastACKMS = millis(h.LastACK.Sub(h.Begun))
	}
	return o
}

func member(c *pushes.Client, begun time.Time) Member {
	m := Member{Client: c.Client, State: c.State, Order: list(c.Order), Sent: stamp(c.Sent), Done: stamp(c.Done), Types: []Part{}}
	if !c.Done.IsZero() {
		m.DoneMS = millis(c.Done.Sub(begun))
	}
	for i := range c.Types {
		t := &c.Types[i]
		m.Types = append(m.Types, Part{
			t.Type, t.State, t.Responses, t.Changed, uint64(t.Seq), stamp(t.Sent), uint64(t.Answer), stamp(t.Answered), t.Nacks, t.Reason,
		})
	}
	return m
}

// stamp is "" for a time that is not there.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return render.Timestamp(t)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// list is never null.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
