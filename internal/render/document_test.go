package render

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// request is a DiscoveryRequest by hand: version_info, resource_names, a name
// that would like to be a command of the terminal, type_url.
var request = session.Chunks{[]byte("\n\x0241\x1a\x03web\x1a\x0c\x1b]0;own\xc2\x9b\xe2\x80\xae" +
	"\"/type.googleapis.com/google.protobuf.FileOptions")}

// documents are the story and some messages that the story does not have, in
// full.
func documents(t *testing.T) []*Document {
	t.Helper()
	tracker, d := check.NewTracker(nil), NewDocuments()
	var out []*Document
	add := func(e session.Entry, c check.Change) {
		d.See(&e)
		doc, err := d.Document(&e, &c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, doc)
	}
	for _, s := range story() {
		add(s.e, s.c)
	}
	const rest = "/v3/discovery:clusters"
	seq := session.Seq(100)
	step := func(e session.Entry) {
		seq++
		e.Seq, e.Conn = seq, 9
		add(e, tracker.Step(&e))
	}
	open := func(id session.StreamID, path, content string) {
		step(session.Entry{Stream: id, Kind: session.KindOpen, Side: session.Client, Method: path, Headers: []session.Field{{Name: "content-type", Value: content}}})
	}
	message := func(id session.StreamID, m session.Message) {
		m.Size = m.Data.Len()
		step(session.Entry{Stream: id, Kind: session.KindMessage, Side: session.Client, Message: &m})
	}
	open(10, "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "application/grpc")
	message(10, session.Message{Data: request})
	message(10, session.Message{Data: session.Chunks{request[0][:9]}, Truncated: true})
	message(10, session.Message{Data: session.Chunks{[]byte("\x1f\x8b")}, Compressed: true, Encoding: "br"})
	open(11, rest, "application/json")
	message(11, session.Message{Data: session.Chunks{[]byte(`{"version_info": "7", "node": {"id": "poller"}}`)}})
	open(12, rest, "application/x-protobuf")
	message(12, session.Message{Data: request})
	open(13, "/unheard.of/Method", "application/grpc")
	message(13, session.Message{Data: session.Chunks{{0xff, 0xff}}})
	return out
}

func TestDocuments(t *testing.T) {
	var asYAML, asJSON bytes.Buffer
	for i, d := range documents(t) {
		if i > 0 {
			asYAML.WriteString("---\n")
		}
		asYAML.Write(d.YAML())
		asJSON.Write(d.JSON())
	}
	golden.Is(t, "testdata/documents.yaml", asYAML.String())
	golden.Is(t, "testdata/documents.json", asJSON.String())
}

// Both forms say the same, and neither can command a terminal.
func TestDocumentFormsAgree(t *testing.T) {
	for _, d := range documents(t) {
		var fromJSON, fromYAML any
		if err := json.Unmarshal(d.JSON(), &fromJSON); err != nil {
			t.Fatalf("%v\n%s", err, d.JSON())
		}
		if err := yaml.Unmarshal(d.YAML(), &fromYAML); err != nil {
			t.Fatalf("%v\n%s", err, d.YAML())
		}
		if !reflect.DeepEqual(fromJSON, fromYAML) {
			t.Errorf("JSON:\n%s\nYAML:\n%s", d.JSON(), d.YAML())
		}
		for _, text := range []string{string(d.JSON()), string(d.YAML())} {
			for _, line := range strings.Split(text, "\n") {
				if Safe(line) != line {
					t.Errorf("not harmless: %q", line)
				}
			}
		}
	}
}

// The message of an entry is decoded to the last field, and there is none in an entry
// without one, or where it is too long to be decoded.
func TestMessageOfAnEntry(t *testing.T) {
	tracker, d := check.NewTracker(nil), NewDocuments()
	open := session.Entry{
		Seq: 1, Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	}
	c := tracker.Step(&open)
	d.See(&open)
	none := string((&Document{}).YAML())
	if got := string((&Document{d.Message(&open, &c)}).YAML()); got != none || d.Body(&open, &c) != "" {
		t.Errorf("a stream that opens says %q, %q", got, d.Body(&open, &c))
	}
	for _, more := range []int64{0, 1} {
		e := session.Entry{Seq: 2, Conn: 1, Stream: 1, Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: request, Size: session.MostRead + more}}
		c := tracker.Step(&e)
		d.See(&e)
		got := string((&Document{d.Message(&e, &c)}).YAML())
		if more == 0 && (!strings.Contains(got, "version_info: \"41\"\n") || got != d.Body(&e, &c)) || more == 1 && got != none {
			t.Errorf("a message of %d bytes says %q", e.Message.Size, got)
		}
	}
}

// JSON is written with two blanks for each level, and what cannot be said in JSON is an error
// before anything is written.
func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, map[string]any{"a": []int{1}}); err != nil || out.String() != "{\n  \"a\": [\n    1\n  ]\n}\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	if err := WriteJSON(&out, func() {}); err == nil || out.Len() > 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}
