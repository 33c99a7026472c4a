package render

import (
	"encoding/json"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
)

// The machine-readable forms of differences.
type (
	// ResourceDiff is the versions of a resource, and what differs between
	// some of them.
	ResourceDiff struct {
		Schema  string   `json:"schema"`
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Clients []string `json:"clients"` // that were sent the same
		// Sources are the objects of a control plane that it was made of.
		Sources     []origin.Source `json:"sources,omitempty"`
		MoreSources bool            `json:"more_sources,omitempty"`
		Versions    []VersionJSON   `json:"versions"`
		Steps       []StepJSON      `json:"steps"`
	}
	// VersionJSON is one version of a resource.
	VersionJSON struct {
		Seq        uint64 `json:"seq"`
		Time       string `json:"time"`
		Conn       uint64 `json:"conn,omitempty"`
		Stream     uint64 `json:"stream,omitempty"`
		TypeURL    string `json:"type_url,omitempty"`
		Version    string `json:"version,omitempty"`
		Nonce      string `json:"nonce,omitempty"`
		Removed    bool   `json:"removed,omitempty"`
		State      string `json:"state"`
		Judged     uint64 `json:"judged_by,omitempty"`
		Reason     string `json:"reason,omitempty"`
		Size       int    `json:"size,omitempty"`
		Pushes     int    `json:"pushes"`
		Last       uint64 `json:"last_seq"`
		With       int    `json:"other_resources,omitempty"` // in the response
		Heartbeats int    `json:"heartbeats,omitempty"`
		Uncertain  bool   `json:"uncertain,omitempty"`
	}
	// StepJSON is what differs between two entries.
	StepJSON struct {
		From    uint64       `json:"from"`
		To      uint64       `json:"to"`
		Same    bool         `json:"same"`
		Coarse  bool         `json:"coarse,omitempty"`
		Ignored []string     `json:"ignored,omitempty"`
		Changes []ChangeJSON `json:"changes"`
	}
	// ChangeJSON is one difference. The positions are those of an item that
	// moved.
	ChangeJSON struct {
		Kind string          `json:"kind"`
		Path string          `json:"path"`
		Old  json.RawMessage `json:"old,omitempty"`
		New  json.RawMessage `json:"new,omitempty"`
		From *int            `json:"old_index,omitempty"`
		To   *int            `json:"new_index,omitempty"`
	}
	// MessageDiff is two messages against each other.
	MessageDiff struct {
		Schema string `json:"schema"`
		StepJSON
	}
)

// NewVersions makes the machine-readable form of versions.
func NewVersions(versions []history.Version) []VersionJSON {
	out := []VersionJSON{}
	for i := range versions {
		v := &versions[i]
		out = append(out, VersionJSON{
			Seq: uint64(v.Seq), Time: Timestamp(v.Time), Conn: uint64(v.Conn), Stream: uint64(v.Stream), TypeURL: v.TypeURL,
			Version: v.Version, Nonce: v.Nonce, Removed: v.Removed, State: string(v.State), Judged: uint64(v.Judged), Reason: v.Reason,
			Size: v.Size, Pushes: v.Pushes, Last: uint64(v.Last), With: v.With, Heartbeats: v.Heartbeats, Uncertain: v.Uncertain,
		})
	}
	return out
}

// NewStep makes the machine-readable form of what differs between two entries.
func NewStep(from, to uint64, r *diff.Result) StepJSON {
	return StepJSON{From: from, To: to, Same: r.Same(), Coarse: r.Coarse, Ignored: r.Ignored, Changes: NewChanges(r)}
}

// NewChanges makes the machine-readable form of differences.
func NewChanges(r *diff.Result) []ChangeJSON {
	out := []ChangeJSON{}
	for c := range r.Changes() {
		j := ChangeJSON{Kind: c.Kind.String(), Path: c.Path.String()}
		if c.Kind != diff.Moved {
			j.Old, j.New = rawTree(c.Old), rawTree(c.New)
		}
		if c.Moved {
			at := c.Path[len(c.Path)-1]
			j.From, j.To = &at.OldAt, &at.NewAt
		}
		out = append(out, j)
	}
	return out
}

func rawTree(t *document.Tree) json.RawMessage {
	if t == nil {
		return nil
	}
	return EscapeJSON(document.Document{Root: *t}.Compact())
}
