package fault

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text        string
		kind        Kind
		filter      string
		first, last int
		value       string
	}{
		{"drop", Drop, "", 1, 1, ""},
		{"drop#3", Drop, "", 3, 3, ""},
		{"drop:type:eds name:web*#2", Drop, "type:eds name:web*", 2, 2, ""},
		{"drop:type:eds#2..4", Drop, "type:eds", 2, 4, ""},
		{"drop:type:eds#2..", Drop, "type:eds", 2, 0, ""},
		{"drop: type:eds #*", Drop, "type:eds", 1, 0, ""},
		{"drop:name:a#b", Drop, "name:a#b", 1, 1, ""},
		{"delay", Delay, "", 1, 1, "16s"},
		{"reset=0", Reset, "", 1, 1, "0"},
		{"delay=5s:name:a=b", Delay, "name:a=b", 1, 1, "5s"},
		{"reset=11:at:12:30", Reset, "at:12:30", 1, 1, "11"},
	} {
		f, err := Parse(c.text, true)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if f.Kind != c.kind || f.Filter != c.filter || f.first != c.first || f.last != c.last || f.value != c.value || f.String() != c.text {
			t.Errorf("%s: %+v", c.text, f)
		}
	}
	for text, want := range map[string]string{
		"":                 `"": there is no fault ""|one of delay`,
		"dorp:type:eds":    `there is no fault "dorp"|did you mean drop?`,
		"nack:type:eds":    `nack is for --as client|with --as server: delay`,
		"drop=3:type:eds":  `drop takes no value|`,
		"delay=soon":       `delay takes a duration such as 5s, of 1h at most, and "soon" is none|`,
		"delay=1h2m":       `delay takes a duration such as 5s, of 1h at most, and "1h2m" is none|`,
		"reset=300":        `reset takes an HTTP/2 error code from 0 to 13, and "300" is none|`,
		"delay=-1s":        `delay takes a duration|`,
		"refuse=0":         `refuse takes a gRPC status code from 1 to 16, and "0" is none|`,
		"drop:type:eds#":   `"" is no count such as 2, 2..4, 2.. or *|`,
		"drop:type:eds#0":  `"0" is no count|`,
		"drop:type:e#4..2": `"4..2" is no count|`,
		"drop:type:e#1-3":  `"1-3" is no count|`,
	} {
		_, err := Parse(text, true)
		wrong, is := errors.AsType[*Error](err)
		message, hint, _ := strings.Cut(want, "|")
		if !is || !strings.Contains(err.Error(), message) || !strings.HasPrefix(wrong.Hint, hint) {
			t.Errorf("%s: %v, %+v", text, err, wrong)
		}
	}
	if f, err := Parse("late-ack=3s", false); err != nil || f.For() != 3*time.Second {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := Parse("cut", false); err == nil {
		t.Error("a client cuts like a server")
	}
}

// conversation is one stream, a response of clusters and its answer as often as
// is asked for. It returns their entries.
func conversation(s *Set, rounds int) (responses, answers []session.Seq) {
	k, seq := engine.New(engine.Options{Names: true}), session.Seq(0)
	see := func(e session.Entry) session.Seq {
		seq++
		e.Seq, e.Conn, e.Stream = seq, 1, 1
		c := k.Step(&e)
		s.See(&e, &c, func(int) bool { return true })
		return seq
	}
	say := func(side session.Side, fields ...string) session.Seq { // each is a field number and its text
		var b []byte
		for _, f := range fields {
			b = append(b, f[0]<<3|2, byte(len(f)-1))
			b = append(b, f[1:]...)
		}
		return see(session.Entry{Kind: session.KindMessage, Side: side, Message: &session.Message{Data: session.Chunks{b}, Size: int64(len(b))}})
	}
	const typ = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	see(session.Entry{Kind: session.KindOpen, Side: session.Client, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"})
	say(session.Client, "\x04"+typ)
	for i := range rounds {
		v := string(rune('a' + i))
		responses = append(responses, say(session.Server, "\x01"+v, "\x04"+typ, "\x05"+v))
		answers = append(answers, say(session.Client, "\x01"+v, "\x04"+typ, "\x05"+v))
	}
	return responses, answers
}

// What a fault is for is counted, and done once.
func TestSet(t *testing.T) {
	server := &Set{}
	for _, text := range []string{"drop#2..3", "delay#2", "refuse", "cut#9"} {
		f, err := Parse(text, true)
		if err != nil {
			t.Fatal(err)
		}
		server.All = append(server.All, f)
	}
	responses, _ := conversation(server, 4)
	for i, want := range []int{0, 2, 1, 0} {
		if got := server.Take(responses[i], Drop, Delay); len(got) != want {
			t.Errorf("response %d: %v", i+1, got)
		}
		if got := server.Take(responses[i], Drop, Delay); len(got) > 0 {
			t.Errorf("response %d once more: %v", i+1, got)
		}
	}
	if got := server.Take(1, Refuse); len(got) != 1 || got[0].Number() != 8 {
		t.Errorf("the stream: %v", got)
	}
	if f, n := server.Idle(); f == nil || f.Kind != Cut || n != 4 {
		t.Errorf("idle: %v, %d", f, n)
	}
	undone := strings.Join(server.Undone(), "\n")
	if undone != `--fault "cut#9" was done 0 of 1 times: the recording has 4 of what it is for` {
		t.Errorf("undone: %s", undone)
	}
	client := &Set{}
	for _, text := range []string{"nack#2", "wrong-nonce#1", "reconnect-storm=3"} {
		f, err := Parse(text, false)
		if err != nil {
			t.Fatal(err)
		}
		client.All = append(client.All, f)
	}
	_, answers := conversation(client, 2)
	if len(client.Take(answers[1], NACK)) != 1 || len(client.Take(answers[0], WrongNonce)) != 1 || len(client.Take(1, ReconnectStorm)) != 1 {
		t.Errorf("%v", client.at)
	}
	if f, _ := client.Idle(); f != nil {
		t.Errorf("idle: %v", f)
	}
}

// What was asked for and not done is told, and why.
func TestUndone(t *testing.T) {
	s := &Set{}
	for _, text := range []string{"refuse#1..3", "drop#1..2", "cut#3..", "delay#4..9", "duplicate#*"} {
		f, err := Parse(text, true)
		if err != nil {
			t.Fatal(err)
		}
		s.All = append(s.All, f)
	}
	responses, _ := conversation(s, 4)
	s.Take(1, Refuse)
	s.Take(responses[0], Drop)
	for _, r := range responses {
		s.Take(r, Delay, Duplicate)
	}
	want := `--fault "refuse#1..3" was done 1 of 3 times: the recording has 1 of what it is for
--fault "drop#1..2" was done 1 of 2 times: the replay did not come to it
--fault "cut#3.." was done 0 of 2 times: the replay did not come to it
--fault "delay#4..9" was done 1 of 6 times: the recording has 4 of what it is for`
	if got := strings.Join(s.Undone(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
