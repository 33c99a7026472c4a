package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/session"
)

// Whether anything was edited.
func TestChanged(t *testing.T) {
	for of, want := range map[[4]uint64]bool{
		{}: false, {1}: true, {0, 1}: true, {0, 0, 1}: true, {0, 0, 0, 1}: true,
		{1, 1}: true, {0, 1, 1}: true, {0, 0, 1, 1}: true, {1, 0, 0, 1}: true,
	} {
		i := Imported{Entries: 3, Messages: 2, Masked: 1, Bytes: 5, Edited: of[0], Added: of[1], Deleted: of[2], Moved: of[3]}
		if got := i.changed(); got != want {
			t.Errorf("%+v: %v", i, got)
		}
	}
}

// What an entry of each kind cannot be without.
func TestMissingFields(t *testing.T) {
	for _, c := range []struct {
		whole session.Entry
		want  string // without it
	}{
		{session.Entry{Kind: session.KindOpen, Stream: 1, Method: "/m"}, "stream method"},
		{session.Entry{Kind: session.KindHeader, Stream: 1}, "stream"},
		{session.Entry{Kind: session.KindHalfClose, Stream: 1}, "stream"},
		{session.Entry{Kind: session.KindTrailer, Stream: 1, Status: &session.Status{}}, "stream status"},
		{session.Entry{Kind: session.KindCancel, Stream: 1, Status: &session.Status{}}, "stream status"},
		{session.Entry{Kind: session.KindConnect, Conn: 1}, "conn"},
		{session.Entry{Kind: session.KindDisconnect, Conn: 1}, "conn"},
		{session.Entry{Kind: session.KindGoAway, GoAway: &session.GoAway{}}, "goaway"},
		{session.Entry{Kind: session.KindGap, Gap: &session.Gap{}}, "gap"},
		{session.Entry{Kind: session.KindNote, Note: &session.Note{}}, "note"},
		{session.Entry{Kind: session.KindHeld, Held: &session.Held{}}, "held"},
		{session.Entry{Kind: session.KindTime}, ""},
	} {
		if got := missing(&c.whole); len(got) != 0 {
			t.Errorf("%s: %q is missing", c.whole.Kind, got)
		}
		if got := strings.Join(missing(&session.Entry{Kind: c.whole.Kind}), " "); got != c.want {
			t.Errorf("%s: %q is missing, want %q", c.whole.Kind, got, c.want)
		}
	}
}

// Numbers up to the bounds of their type are read, and no others.
func TestNumbersOfTypes(t *testing.T) {
	fails := func(read func(f *fields)) bool {
		wrong := false
		read(&fields{wrong: func(int, int, string, ...any) { wrong = true }})
		return wrong
	}
	at := &yaml.Node{}
	for _, c := range []struct {
		text                           string
		asInt32, asInt64, as32, asUint bool
	}{
		{"0", true, true, true, true},
		{"-1", true, true, false, false},
		{"2147483647", true, true, true, true},
		{"2147483648", false, true, true, true},
		{"-2147483648", true, true, false, false},
		{"-2147483649", false, true, false, false},
		{"4294967295", false, true, true, true},
		{"4294967296", false, true, false, true},
		{"9223372036854775807", false, true, false, true},
		{"9223372036854775808", false, false, false, true},
		{"18446744073709551615", false, false, false, true},
		{"18446744073709551616", false, false, false, false},
		{"-9223372036854775808", false, true, false, false},
		{"1.5", false, false, false, false},
		{"", false, false, false, false},
	} {
		got := []bool{
			!fails(func(f *fields) { parse[int32](f, "n", c.text, at) }), !fails(func(f *fields) { parse[int64](f, "n", c.text, at) }),
			!fails(func(f *fields) { parse[uint32](f, "n", c.text, at) }), !fails(func(f *fields) { parse[uint64](f, "n", c.text, at) }),
		}
		if want := []bool{c.asInt32, c.asInt64, c.as32, c.asUint}; !slices.Equal(got, want) {
			t.Errorf("%q is read: %v, want %v", c.text, got, want)
		}
	}
	f := &fields{wrong: func(int, int, string, ...any) { t.Error("it is no number") }}
	if a, b := parse[uint64](f, "n", "18446744073709551615", at), parse[int64](f, "n", "-3", at); a != math.MaxUint64 || b != -3 {
		t.Errorf("%d, %d", a, b)
	}
}

// What is no truth value, and no time that a recording can have, is said.
func TestFlagsAndTimes(t *testing.T) {
	for text, wrong := range map[string]string{
		"true": "", "false": "", "yes": "flag is true or false", "1": "flag is true or false",
	} {
		said, v := "", true
		f := fields{in: map[string]member{"flag": {&yaml.Node{}, &yaml.Node{Kind: yaml.ScalarNode, Value: text}}}}
		f.wrong = func(_, _ int, format string, args ...any) { said += fmt.Sprintf(format, args...) }
		if f.flag("flag", &v); said != wrong || v != (text == "true") {
			t.Errorf("%s: %v, %q, want %q", text, v, said, wrong)
		}
	}
	for text, is := range map[string]bool{
		"1969-12-31T23:59:59Z": false, "1970-01-01T00:00:00Z": true, "2261-12-31T23:59:59Z": true, "2262-01-01T00:00:00Z": false, "today": false,
	} {
		wrong, v := false, time.Time{}
		f := fields{in: map[string]member{"at": {&yaml.Node{}, &yaml.Node{Kind: yaml.ScalarNode, Value: text}}}}
		f.wrong = func(int, int, string, ...any) { wrong = true }
		if f.time("at", &v); wrong == is {
			t.Errorf("%s: it is read: %v", text, !wrong)
		}
	}
	for text, is := range map[string]bool{
		"0000-12-31T23:59:59Z": false, "0001-01-01T00:00:00Z": true, "9999-12-31T23:59:59Z": true, "9999-12-31T23:59:59-01:00": false, "never": false,
	} {
		wrong, v := false, time.Time{}
		f := fields{in: map[string]member{"at": {&yaml.Node{}, &yaml.Node{Kind: yaml.ScalarNode, Value: text}}}}
		f.wrong = func(int, int, string, ...any) { wrong = true }
		if f.expiry("at", &v); wrong == is {
			t.Errorf("%s: it is read as an expiry: %v", text, !wrong)
		}
	}
}

// A name gets as much of a sum as it takes to be another one than all before.
func TestStemsThatAreTaken(t *testing.T) {
	key := "Cluster\x00a/b"
	sum := sha256.Sum256([]byte(key))
	whole := hex.EncodeToString(sum[:])
	n := newNames()
	for _, digits := range []int{8, 16, 32, 64, 64} {
		want := "Cluster/a_b+" + whole[:digits]
		if got := n.stem("Cluster", "a/b", key); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		n.taken[strings.ToLower(want)] = true
	}
	if got := n.stem("Cluster", "ab", ""); got != "Cluster/ab" {
		t.Error(got)
	}
}
