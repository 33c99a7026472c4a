package script

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// writtenWith is what is written of a script of which each entry was changed.
func writtenWith(t *testing.T, text string, change func(*session.Entry)) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := Write(&out, func(yield func(session.Entry) bool) {
		for e := range parseText(t, text).Entries() {
			e.Headers = slices.Clone(e.Headers)
			if change(&e); !yield(e) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A file that took the place of another says which one it was, and others do not.
func TestWhereAFileIsFrom(t *testing.T) {
	for event, want := range map[string]string{
		xds.FileRenamed: "F: rename a.tmp a.yaml type=CDS",
		xds.FileSwapped: "F: swap a.tmp a.yaml type=CDS",
		xds.FileWritten: "F: write a.yaml type=CDS",
		xds.FileRead:    "F: read a.yaml type=CDS",
	} {
		got := writtenWith(t, "F: rename a.tmp a.yaml type=CDS V=1 res=[c1]\n", func(e *session.Entry) {
			for i := range e.Headers {
				if e.Headers[i].Name == xds.FileEvent {
					e.Headers[i].Value = event
				}
			}
		})
		if !strings.Contains(got, want) {
			t.Errorf("of %s there is\n%s", event, got)
		}
	}
}

// A response to REST is read as the headers of the server say.
func TestResponseOfAServersOwnForm(t *testing.T) {
	const text = "P> type=CDS\np< 200 type=CDS V=1 res=[c1]\n"
	body := (&synth.Response{TypeURL: xds.TypeURL("CDS"), Version: "seven", Resources: []synth.Resource{{TypeURL: xds.TypeURL("CDS"), Name: "binary"}}}).Marshal()
	got := writtenWith(t, text, func(e *session.Entry) {
		if e.Side != session.Server {
			return
		}
		for i := range e.Headers {
			if e.Headers[i].Name == "content-type" {
				e.Headers[i].Value = "application/x-protobuf"
			}
		}
		if e.Message != nil {
			e.Message = &session.Message{Data: session.Chunks{body}, Size: int64(len(body))}
		}
	})
	if !strings.Contains(got, "p< 200 ") || !strings.Contains(got, "V=seven") || !strings.Contains(got, "binary") || strings.Contains(got, "body=") {
		t.Errorf("there is\n%s", got)
	}
}
