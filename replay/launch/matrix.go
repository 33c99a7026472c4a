package launch

import "github.com/xdsproxy/xdsproxy/replay"

// Outcome is what came of one play of several.
type Outcome string

// The outcomes, the worst last.
const (
	AsRecorded Outcome = "as recorded"
	Differs    Outcome = "differs"
	Failed     Outcome = "failed" // nothing was played, or not to the end
)

// Cell is one recording, played with one command.
type Cell struct {
	Source  string         `json:"source"`
	Command string         `json:"command"`
	Client  string         `json:"client,omitempty"` // that was played; empty: all of them
	Outcome Outcome        `json:"outcome"`
	Error   string         `json:"error,omitempty"` // why it failed
	Report  *replay.Report `json:"report,omitempty"`
}

// Matrix is every recording with every command, recording by recording.
type Matrix struct {
	Commands []string `json:"commands"`
	Cells    []Cell   `json:"cells"`
}

// Enter adds a play. What went wrong, if anything did, is more than that
// something differs.
func (m *Matrix) Enter(source, command, client string, report *replay.Report, wrong error) {
	c := Cell{Source: source, Command: command, Client: client, Outcome: AsRecorded, Report: report}
	switch {
	case wrong != nil:
		c.Outcome, c.Error = Failed, wrong.Error()
	case report.Differs():
		c.Outcome = Differs
	}
	m.Cells = append(m.Cells, c)
}

// Has says whether there is such an outcome.
func (m *Matrix) Has(o Outcome) bool {
	for i := range m.Cells {
		if m.Cells[i].Outcome == o {
			return true
		}
	}
	return false
}
