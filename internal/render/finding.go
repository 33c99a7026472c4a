package render

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/session"
)

// Finding is a finding in its machine-readable form.
type Finding struct {
	Rule       string `json:"rule"`
	Severity   string `json:"severity"`
	Fault      string `json:"fault"`
	Confidence string `json:"confidence"`
	Client     string `json:"client,omitempty"`
	// Clients are all that it was proved on, Client first; empty if that is the
	// only one. MoreClients says that there were more than are remembered.
	Clients     []string `json:"clients,omitempty"`
	MoreClients bool     `json:"more_clients,omitempty"`
	Conn        uint64   `json:"conn,omitempty"`
	Stream      uint64   `json:"stream,omitempty"`
	Type        string   `json:"type,omitempty"`
	Names       []string `json:"names"`
	// Sources are the objects of a control plane that these were made of.
	Sources     []origin.Source `json:"sources,omitempty"`
	MoreSources bool            `json:"more_sources,omitempty"`
	Seqs        []uint64        `json:"seqs"`
	At          string          `json:"at"`
	Count       int             `json:"count"`
	Message     string          `json:"message"`
	// LastAt and LastSeq are when it was proved last; empty if that was At.
	LastAt  string `json:"last_at,omitempty"`
	LastSeq uint64 `json:"last_seq,omitempty"`
	// Lines are those of a script that Seqs come from, each once, and LastLine
	// that of LastSeq.
	Lines    []int `json:"lines,omitempty"`
	LastLine int   `json:"last_line,omitempty"`
	// Source is where it was found, if several were checked: of what many proxies
	// have, where it was found first. Proxies are all of them.
	Source      string   `json:"source,omitempty"`
	Proxies     []string `json:"proxies,omitempty"`
	MoreProxies bool     `json:"more_proxies,omitempty"` // there are more of them than are listed
}

// NewFinding makes the machine-readable form.
func NewFinding(f *check.Finding) Finding {
	out := Finding{
		Rule: f.Rule.ID, Severity: f.Severity.String(), Fault: string(f.Fault), Confidence: string(f.Rule.Confidence),
		Client: f.Client, Clients: f.Clients, MoreClients: f.MoreClients, Conn: uint64(f.Conn), Stream: uint64(f.Stream), Type: f.Type, Names: append([]string{}, f.Names...),
		Sources: f.Sources, MoreSources: f.MoreSources, At: Timestamp(f.At), Count: f.Count, Message: f.Message, Seqs: make([]uint64, len(f.Seqs)),
	}
	for i, s := range f.Seqs {
		out.Seqs[i] = uint64(s)
	}
	if f.Count > 1 {
		out.LastAt, out.LastSeq = Timestamp(f.Last), uint64(f.LastSeq)
	}
	return out
}

// AddLines says which lines of a script findings are about.
func AddLines(findings []Finding, line func(session.Seq) int) {
	for i := range findings {
		f := &findings[i]
		for _, seq := range f.Seqs {
			if n := line(session.Seq(seq)); n != 0 && !slices.Contains(f.Lines, n) {
				f.Lines = append(f.Lines, n)
			}
		}
		if f.LastSeq != 0 {
			f.LastLine = line(session.Seq(f.LastSeq))
		}
	}
}

// Report is what check found.
type Report struct {
	Schema   string    `json:"schema"`
	Findings []Finding `json:"findings"`
	Summary  Summary   `json:"summary"`
}

// Summary counts what was looked at, and what was found.
type Summary struct {
	Entries  uint64 `json:"entries"`
	Messages uint64 `json:"messages"`
	Streams  uint64 `json:"streams"`
	Error    int    `json:"error"`
	Warning  int    `json:"warning"`
	Info     int    `json:"info"`
	Gaps     uint64 `json:"gaps"`
	// PastForgotten is how often something that was over was forgotten, and
	// not judged for that.
	PastForgotten uint64 `json:"past_forgotten"`
	// FindingsForgotten is how many findings are not listed, because they had to make
	// room for newer ones.
	FindingsForgotten uint64 `json:"findings_forgotten,omitempty"`
	// FindingsRefused is how often a finding was left out, because no other could make
	// room for it.
	FindingsRefused uint64 `json:"findings_refused,omitempty"`
	// Recordings are how many of a fleet were judged, and Unread how many were not.
	Recordings int `json:"recordings,omitempty"`
	Unread     int `json:"unread,omitempty"`
}

// NewReport returns a report of nothing.
func NewReport() *Report { return &Report{Schema: Schema, Findings: []Finding{}} }

// Add enters what was found in a source, which is named if there are several:
// of each cause one finding, on however many clients.
func (r *Report) Add(source string, findings []check.Finding, s check.Summary) {
	findings = check.Fold(findings)
	for i := range findings {
		f := NewFinding(&findings[i])
		f.Source = source
		r.Findings = append(r.Findings, f)
		switch findings[i].Severity {
		case check.Error:
			r.Summary.Error++
		case check.Warning:
			r.Summary.Warning++
		default:
			r.Summary.Info++
		}
	}
	r.Summary.Entries += s.Entries
	r.Summary.Messages += s.Messages
	r.Summary.Streams += s.Streams
	r.Summary.Gaps += s.Gaps
	r.Summary.PastForgotten += s.Forgotten
	r.Summary.FindingsForgotten += s.FindingsForgotten
	r.Summary.FindingsRefused += s.FindingsRefused
}
