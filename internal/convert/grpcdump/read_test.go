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
	"testing/iotest"
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

// TestMade: the entries of two calls on one connection and of one on another, with all
// that a dump has of them; what is written anew is not there twice.
func TestMade(t *testing.T) {
	text := `{"service":"envoy.service.discovery.v3.AggregatedDiscoveryService","method":"DeltaAggregatedResources","of_tomorrow":{"a":[1]},"messages":[` +
		`{"message_origin":"client","raw_message":"CgE=","timestamp":"2026-01-01T00:00:01Z"},` +
		`{"message_origin":"server","raw_message":"CgEx","timestamp":"2026-01-01T00:00:03Z"},` +
		`{"message_origin":"server","raw_message":"","message":{"a":1},"timestamp":"2026-01-01T00:00:02Z"}],` +
		`"error":{"code":"Unavailable","message":"gone"},"metadata":{":authority":["xds:1"],"X-A":["1","2"],"content-type":["application/grpc+proto"]},` +
		`"metadata_response_headers":{"grpc-status":["9"],"b":["3"],":status":["500"]},"metadata_response_trailers":{"c":["4"],"grpc-status":["9"]}}
` + ads + `"messages":[{"message_origin":"client","raw_message":"","timestamp":"2026-01-01T00:00:02Z"}],"metadata":{":authority":["xds:1"]},"error":{"code":"Code(99)"}}
{"service":"","method":"","messages":[]}
{}
` + ads + `"messages":[{"message_origin":"client","raw_message":"","timestamp":"2026-01-01T00:00:00Z"}],"metadata":{":authority":["xds:2"]},"error":{"code":"Code(-1)"}}
{"service":"a.B","method":"","messages":[]}
{"service":"","method":"C","messages":[]}
`
	var got []string
	done, err := grpcdump.Read(strings.NewReader(text), func(e *session.Entry) error {
		s := fmt.Sprintf("%s %d.%d %s %s", e.Time.Format("05"), e.Conn, e.Stream, e.Side, e.Kind)
		if e.Peer != nil {
			s += " to " + e.Peer.Upstream
		}
		for _, f := range e.Headers {
			s += " " + f.Name + "=" + f.Value
		}
		if e.Status != nil {
			s += fmt.Sprintf(" %d %q", e.Status.Code, e.Status.Message)
		}
		if e.Message != nil {
			s += fmt.Sprintf(" %x of %d, cut %t", e.Message.Data.Bytes(), e.Message.Size, e.Message.Truncated)
		}
		got = append(got, s)
		return nil
	})
	const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
	want := `00 2.0 client connect to xds:2
00 2.3 client open :method=POST :path=` + path + `StreamAggregatedResources :authority=xds:2 content-type=application/grpc
00 2.3 client message  of 0, cut false
00 2.3 server trailer grpc-status=-1 -1 ""
01 1.0 client connect to xds:1
01 1.1 client open :method=POST :path=` + path + `DeltaAggregatedResources :authority=xds:1 content-type=application/grpc x-a=1 x-a=2
01 1.1 client message 0a01 of 2, cut false
02 1.2 client open :method=POST :path=` + path + `StreamAggregatedResources :authority=xds:1 content-type=application/grpc
02 1.2 client message  of 0, cut false
02 1.2 server trailer grpc-status=99 99 ""
03 1.1 server header :status=200 content-type=application/grpc b=3
03 1.1 server message 0a0131 of 3, cut false
03 1.1 server message  of 0, cut true
03 1.1 server trailer grpc-status=14 c=4 14 "gone"`
	if text := strings.Join(got, "\n"); err != nil || text != want {
		t.Errorf("%v\n%s\nnot\n%s", err, text, want)
	}
	if done.Calls != 3 || done.Others != 2 || done.Bare != 1 || done.Timeless != 0 || done.Entries != uint64(len(got)) {
		t.Errorf("%+v", done)
	}
	for code, want := range map[string]int32{"OK": 0, "Unauthenticated": 16, "Code(0)": 0, "Code(7)": 7, "Code(-5)": -1, "Code(x)": -1, "nonsense": -1, "": -1} {
		line := ads + `"messages":[{"timestamp":"2026-01-01T00:00:00Z"}],"error":{"code":"` + code + `"}}`
		_, err := grpcdump.Read(strings.NewReader(line), func(e *session.Entry) error {
			if e.Status != nil && e.Status.Code != want {
				t.Errorf("%q: %d, not %d", code, e.Status.Code, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	// What cannot be a time is that of what was before it.
	var years []int
	odd := ads + `"messages":[{"timestamp":"1969-01-01T00:00:00Z"},{"timestamp":"1970-01-02T00:00:00Z"},{"timestamp":"2200-01-01T00:00:00Z"},{"timestamp":"2201-01-01T00:00:00Z"},{"timestamp":"2100-01-01T00:00:00Z"}]}`
	if _, err := grpcdump.Read(strings.NewReader(odd), func(e *session.Entry) error { years = append(years, e.Time.Year()); return nil }); err != nil {
		t.Error(err)
	}
	if want := []int{1970, 1970, 1970, 1970, 2200, 2200, 2200, 2200}; !slices.Equal(years, want) {
		t.Errorf("%v, not %v", years, want)
	}
	for name, c := range map[string]string{
		"messages that are no list": `{"service":"a","method":"b","messages":7}`, "a status that is none": `{"service":"a","method":"b","error":7}`,
		"headers that are none": `{"service":"a","method":"b","metadata":7}`, "too many headers": `{"service":"a","method":"b","metadata":{"k":["` + strings.Repeat("x", 1<<20-129) + `"]}}`,
	} {
		_, err := grpcdump.Read(strings.NewReader(c), func(*session.Entry) error { return nil })
		if _, is := errors.AsType[*grpcdump.FormatError](err); !is {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := grpcdump.Read(strings.NewReader(`{"service":"a","method":"b","metadata":{"k":["`+strings.Repeat("x", 1<<20-130)+`"]}}`), func(*session.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
	broken := errors.New("the disk is broken")
	if _, err := grpcdump.Read(iotest.ErrReader(broken), func(*session.Entry) error { return nil }); err != broken {
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
	f.Add([]byte(ads + `"messages":[{"timestamp":"2026-01-01T00:00:00Z"},{},{}],"metadata":{"":[` + strings.Repeat(`"",`, 1<<14) + `""]},"error":{"message":"` + strings.Repeat("x", 100) + `"}}`))
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
