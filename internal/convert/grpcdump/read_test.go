package grpcdump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/convert/grpcdump"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// The types are those of internal/dump.go in bradleyjkemp/grpc-tools, by which grpc-dump
// writes a line.
type (
	rpc struct {
		Service              string              `json:"service"`
		Method               string              `json:"method"`
		Messages             []*message          `json:"messages"`
		Status               *status             `json:"error,omitempty"`
		Metadata             map[string][]string `json:"metadata"`
		MetadataRespHeaders  map[string][]string `json:"metadata_response_headers"`
		MetadataRespTrailers map[string][]string `json:"metadata_response_trailers"`
	}
	status struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	message struct {
		MessageOrigin string    `json:"message_origin,omitempty"`
		RawMessage    []byte    `json:"raw_message,omitempty"`
		Message       any       `json:"message,omitempty"`
		Timestamp     time.Time `json:"timestamp"`
	}
)

// dumped is what grpc-dump would have written of a recording: calls in the order in
// which they end.
func dumped(t testing.TB, path string) (dump []byte, messages []string) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	calls := map[session.StreamID]*rpc{}
	var out bytes.Buffer
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		c := calls[e.Stream]
		switch e.Kind {
		case session.KindOpen:
			m := xds.LookupMethod(e.Method)
			c := &rpc{Service: m.Service, Method: m.Name, Metadata: map[string][]string{}}
			for _, f := range e.Headers {
				if f.Name != ":method" && f.Name != ":path" && f.Name != ":scheme" { // which gRPC for Go does not show
					c.Metadata[f.Name] = append(c.Metadata[f.Name], f.Value)
				}
			}
			calls[e.Stream] = c
		case session.KindMessage:
			side := "client"
			if e.Side == session.Server {
				side = "server"
			}
			data := e.Message.Data.Bytes()
			c.Messages = append(c.Messages, &message{side, data, map[string]string{"of": "a decoder"}, e.Time})
			messages = append(messages, line(&e))
		case session.KindTrailer, session.KindCancel:
			if e.Kind == session.KindCancel || e.Status.Code != 0 {
				c.Status = &status{"Canceled", "context canceled"}
			}
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, string(text))
		}
	}
	return out.Bytes(), messages
}

func line(e *session.Entry) string {
	return fmt.Sprintf("%s %s %x", e.Time.Format(time.RFC3339Nano), e.Side, e.Message.Data.Bytes())
}

// A dump says the same as the recording: all messages at their times, though calls that
// lay beside each other stand one behind the other.
func TestRead(t *testing.T) {
	for _, name := range []string{"envoy-per-type", "grpc-go", "envoy-delta"} {
		dump, want := dumped(t, "../../../check/testdata/sessions/"+name+".xdsp")
		if !grpcdump.Is(dump) {
			t.Fatalf("%.100s is no dump", dump)
		}
		var got []string
		var last session.Entry
		kinds := map[session.Kind]int{}
		done, err := grpcdump.Read(bytes.NewReader(dump), func(e *session.Entry) error {
			if e.Time.Before(last.Time) || e.Seq != last.Seq+1 {
				t.Errorf("entry %d is at %v, after %v", e.Seq, e.Time, last.Time)
			}
			last = *e
			kinds[e.Kind]++
			if e.Kind == session.KindMessage {
				got = append(got, line(e))
			}
			if e.Kind == session.KindOpen && (session.Get(e.Headers, ":authority") == "" || !strings.HasPrefix(e.Method, "/envoy.service.")) {
				t.Errorf("%+v", e)
			}
			return nil
		})
		if err != nil || done.Others != 0 || done.Bare != 0 || done.Torn || int(done.Messages) != len(want) || done.Entries != uint64(last.Seq) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		slices.Sort(got) // those of one time
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d messages, and they are not the %d that were dumped", name, len(got), len(want))
		}
		if n := kinds[session.KindOpen]; n == 0 || kinds[session.KindTrailer] != n || kinds[session.KindConnect] != 1 {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

const ads = `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"StreamAggregatedResources",`

func TestOddLines(t *testing.T) {
	call := ads + `"messages":[{"message_origin":"client","raw_message":"CgE=","timestamp":"2026-01-01T00:00:00Z"}],`
	for name, c := range map[string]struct {
		text string
		want grpcdump.Result
		err  string
	}{
		"the bytes are missing": {ads + `"messages":[{"message_origin":"client","message":{"a":1},"timestamp":"2026-01-01T00:00:00Z"}]}`, grpcdump.Result{Entries: 4, Messages: 1, Calls: 1, Bare: 1}, ""},
		"an empty message":      {ads + `"messages":[{"message_origin":"client","message":{},"timestamp":"2026-01-01T00:00:00Z"}]}`, grpcdump.Result{Entries: 4, Messages: 1, Calls: 1}, ""},
		"none":                  {ads + `"messages":null,"error":{"code":"Unavailable"}}`, grpcdump.Result{Timeless: 1}, ""},
		"of something else":     {`{"service":"a.B","method":"C","messages":[]}`, grpcdump.Result{Others: 1}, ""},
		"cut off":               {call + `"error":null}` + "\n" + call, grpcdump.Result{Entries: 7, Messages: 2, Calls: 2, Torn: true}, ""},
		"cut off at once":       {ads + `"mess`, grpcdump.Result{Timeless: 1}, "in the middle"},
		"damaged":               {call + `"error":null}` + "\nxx", grpcdump.Result{Entries: 4, Messages: 1, Calls: 1}, "no call of grpc-dump"},
		"text":                  {`"text"`, grpcdump.Result{}, "no call"},
		"no time":               {ads + `"messages":[{"message_origin":"server","raw_message":"CgE="},{"message_origin":"server","raw_message":"CgE=","timestamp":"0001-01-01T00:00:00Z"}]}`, grpcdump.Result{Entries: 6, Messages: 2, Calls: 1}, ""},
	} {
		got, err := grpcdump.Read(strings.NewReader(c.text), func(*session.Entry) error { return nil })
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	stop := errors.New("stop")
	if _, err := grpcdump.Read(strings.NewReader(call+`"error":null}`), func(*session.Entry) error { return stop }); err != stop {
		t.Error(err)
	}
}

// endless is a message that never ends.
type endless struct {
	head io.Reader
	n    int64
}

func (e *endless) Read(b []byte) (int, error) {
	if n, err := e.head.Read(b); n > 0 || err != io.EOF {
		return n, err
	}
	for i := range b {
		b[i] = 'A'
	}
	e.n += int64(len(b))
	return len(b), nil
}

// A message is read no further than there is room for it.
func TestTooLong(t *testing.T) {
	in := &endless{head: strings.NewReader(ads + `"messages":[{"message_origin":"client","timestamp":"2026-01-01T00:00:00Z"},{"raw_message":"`)}
	done, err := grpcdump.Read(in, func(*session.Entry) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "longer than 128 MiB") || done.Messages != 1 || in.n > 200<<20 {
		t.Errorf("%+v, %v, %d bytes were read", done, err, in.n)
	}
}

func FuzzRead(f *testing.F) {
	dump, _ := dumped(f, "../../../check/testdata/sessions/envoy-sotw.xdsp")
	f.Add(dump)
	f.Add(dump[:len(dump)/2])
	f.Add([]byte(ads + `"messages":[{"timestamp":"2026-01-01T00:00:00Z"},null],"error":{"code":"Code(99)"},"metadata":{":authority":["a"],"X":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var last session.Entry
		done, _ := grpcdump.Read(bytes.NewReader(data), func(e *session.Entry) error {
			if e.Seq != last.Seq+1 || e.Time.Before(last.Time) || e.Conn == 0 {
				t.Fatalf("%+v after %+v", e, last)
			}
			last = *e
			return nil
		})
		if done.Entries != uint64(last.Seq) {
			t.Fatalf("%d entries, and the last is %d", done.Entries, last.Seq)
		}
	})
}
