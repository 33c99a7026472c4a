package filter

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// A pattern fits all of a text, or some part of it.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		is, in        bool
	}{
		{"abc", "abc", true, true},
		{"abc", "ABC", true, true},
		{"abc", "abcd", false, true},
		{"abc", "ab", false, false},
		{"abc*", "abc", true, true},
		{"abc*", "abcd", true, true},
		{"abc*", "xabc", false, true},
		{"abc*", "ab", false, false},
		{"*abc", "abc", true, true},
		{"*abc", "xabc", true, true},
		{"*abc", "abcx", false, true},
		{"*abc", "bc", false, false},
		{"a*b*c", "abc", true, true},
		{"a*b*c", "axbxc", true, true},
		{"a*b*c", "acb", false, false},
		{"a**c", "ac", true, true},
		{"a*a", "a", false, false},
		{"a*a", "aa", true, true},
		{"*", "", true, true},
		{"**", "", true, true},
		{"az", "AZ", true, true},
		{"az", "aZ", true, true},
		{"a", "xA", false, true},
		{"z", "xZ", false, true},
		{"[", "{", false, false},
		{"{", "[", false, false},
		{"`", "@", false, false},
		{"é*", "É", true, true},
	} {
		p, err := parsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if is, in := p.is(c.text), p.in(c.text); is != c.is || in != c.in {
			t.Errorf("%q of %q: all of it %v, a part of it %v", c.pattern, c.text, is, in)
		}
	}
	for text, want := range map[string]bool{"//": false, "/": false, "/a/": true, "/a": false, "a/": false} {
		if isExpression(text) != want {
			t.Errorf("%q is an expression: %v", text, !want)
		}
	}
}

// A time is as long as what it names, down to a nanosecond.
func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"12:41":                             time.Minute,
		"12:41:07":                          time.Second,
		"12:41:07.0":                        100 * time.Millisecond,
		"12:41:07.9":                        100 * time.Millisecond,
		"12:41:07.05":                       10 * time.Millisecond,
		"12:41:07.123456789":                1,
		"12:41:07.1234567891":               1,
		"2026-03-09":                        day,
		"2026-03-09T12:41":                  time.Minute,
		"2026-03-09T12:41:07.09Z":           10 * time.Millisecond,
		"2026-03-09T12:41:07.90+02:00":      10 * time.Millisecond,
		"2026-03-09T12:41:07.123456+02:00":  time.Microsecond,
		"2026-03-09T12:41:07.12345678-0:00": 0,
	} {
		if i, ok := parseInstant(text); i.unit != want || ok != (want > 0) {
			t.Errorf("%s is %v long", text, i.unit)
		}
	}
}

// Only what can be in a range of times is looked at.
func TestSpansOfTimes(t *testing.T) {
	rows := aDay(time.Date(2026, 3, 9, 23, 0, 0, 0, time.UTC))
	last := session.Seq(len(rows))
	broken := errors.New("broken")
	for text, want := range map[string]Span{
		"at:23:10..":       {2, NoLimit},
		"at:..23:10":       {1, 2},
		"at:23:10..23:20":  {2, 3},
		"at:..2027-01-01":  {1, NoLimit},
		"at:2027-01-01..":  {last + 1, NoLimit},
		"since:-10m":       {last - 1, NoLimit},
		"since:2026-03-11": {151, NoLimit},
	} {
		f := parse(t, text)
		f.Begin(rows[0].Entry.Time, rows[last-1].Entry.Time)
		if got, err := f.Spans(findIn(rows)); err != nil || !slices.Equal(got, []Span{want}) {
			t.Errorf("%s: %v, not %v; %v", text, got, want, err)
		}
		if _, err := f.Spans(func(time.Time) (session.Seq, bool, error) { return 0, true, broken }); !errors.Is(err, broken) {
			t.Errorf("%s, of what cannot be searched: %v", text, err)
		}
	}
}

// Below 100 a number is a status of gRPC, from there on one of HTTP.
func TestCodes(t *testing.T) {
	for text, want := range map[string]code{
		"0": {0, -1, -1}, "ok": {0, -1, -1}, "99": {99, -1, -1}, "100": {-1, -1, 100},
		"2147483647": {-1, -1, 2147483647}, "no_error": {-1, 0, -1},
	} {
		if v, err := parseCode(text); err != nil || *v.(*code) != want {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	if v, err := parseCode("2147483648"); err == nil {
		t.Errorf("a status of 32 bits and more: %+v", v)
	}
	message := func(m *decode.Message) *Row {
		return &Row{Entry: &session.Entry{Kind: session.KindMessage}, Change: &check.Change{Change: engine.Change{Message: m}}}
	}
	ended := func(s session.Status) *Row {
		return &Row{Entry: &session.Entry{Kind: session.KindTrailer, Status: &s}, Change: &check.Change{}}
	}
	for what, c := range map[string]struct {
		row  *Row
		text string
		want bool
	}{
		"a refusal with 0":              {message(&decode.Message{Error: &decode.Error{}}), "code:ok", true},
		"a refusal with 1":              {message(&decode.Message{Error: &decode.Error{Code: 1}}), "code:ok", false},
		"an error of a resource with 0": {message(&decode.Message{ResourceErrors: make([]decode.ResourceError, 1)}), "code:ok", true},
		"an error of a resource, not 1": {message(&decode.Message{ResourceErrors: make([]decode.ResourceError, 1)}), "code:1", false},
		"no refusal":                    {message(&decode.Message{}), "code:ok", false},
		"an end with 0":                 {ended(session.Status{}), "code:ok", true},
		"an end without a status":       {ended(session.Status{Code: -1}), "code:ok,cancelled", false},
		"a reset with 0":                {ended(session.Status{Code: -1, WasReset: true}), "code:no_error", true},
		"no reset":                      {ended(session.Status{Code: -1}), "code:no_error", false},
		"a status of HTTP":              {ended(session.Status{Code: -1, HTTP: 503}), "code:503", true},
		"another status of HTTP":        {ended(session.Status{Code: -1, HTTP: 503}), "code:502", false},
	} {
		if parse(t, c.text).Takes(c.row) != c.want {
			t.Errorf("%s is taken by %s: %v", what, c.text, !c.want)
		}
	}
}

// An error that knows no word like the one that was written says what there is.
func TestHints(t *testing.T) {
	for text, want := range map[string]string{
		"type:edss":         "",
		"type:tlscontext":   "it can be cds, ecds, eds, hds, lds, leds, nds, pcds, rds, rtds, sds, srds, vhds, wads, wds, or a full name or a part of one: type:*tlscontext*",
		"type:eds|cds":      "a comma is or: eds,cds",
		"what:open":         "it can be nack, ack, sub, unsub, req, resp, delta",
		"dir:rsp":           "",
		"rule:zzzzzzzzzzzz": "xdsproxy explain lists the rules",
		"rule:nack-receive": "",
		"code:1.5":          "a code is a number such as 14, or a word such as unavailable",
		"code:unavailible":  "",
	} {
		_, err := Parse(text)
		var e *Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%s: %+v, with the hint %q", text, err, e.Hint)
		}
	}
	words := make([]string, 17)
	for i := range words {
		words[i] = "word" + strconv.Itoa(i)
	}
	for n, want := range map[int]bool{16: true, 17: false} {
		if err := unknown("thing", "xyz", words[:n]); (err.Hint != "") != want || err.Nearest != "" {
			t.Errorf("of %d words: %+v", n, err)
		}
	}
}

// A place is that of a region, of a zone, or of both. What says neither is nowhere.
func TestLocalities(t *testing.T) {
	for _, c := range []struct {
		region, zone, text string
		want               bool
	}{
		{"eu", "", "*", true},
		{"", "eu-1", "*", true},
		{"", "", "*", false},
		{"eu", "eu-1", "eu", true},
		{"eu", "eu-1", "eu-1", true},
		{"eu", "eu-1", "us", false},
	} {
		r := &Row{Entry: &session.Entry{}, Change: &check.Change{}, Node: &decode.Node{Region: c.region, Zone: c.zone}}
		if parse(t, "node.locality:"+c.text).Takes(r) != c.want {
			t.Errorf("%s of region %q and zone %q: %v", c.text, c.region, c.zone, !c.want)
		}
	}
}

// A filter is over as soon as no later entry can be taken: at the last number, and at
// the first time after the end.
func TestOver(t *testing.T) {
	at := func(seq session.Seq, second int) *session.Entry {
		return &session.Entry{Seq: seq, Time: time.Date(2026, 3, 9, 12, 41, second, 0, time.UTC)}
	}
	for _, c := range []struct {
		text string
		e    *session.Entry
		want bool
	}{
		{"seq:4", at(3, 0), false},
		{"seq:4", at(4, 0), true},
		{"seq:2..4", at(5, 0), true},
		{"seq:4..", at(9, 0), false},
		{"at:..12:41:07", at(1, 7), false},
		{"at:..12:41:07", at(1, 8), true},
		{"at:12:41:07..", at(1, 59), false},
		{"since:-1s", at(1, 59), false},
	} {
		f := parse(t, c.text)
		f.Begin(at(1, 0).Time, at(9, 59).Time)
		if f.Over(c.e) != c.want {
			t.Errorf("%s is over at %d, %v: %v", c.text, c.e.Seq, c.e.Time, !c.want)
		}
	}
}
