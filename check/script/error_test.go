package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each text has its error where ^ stands in the line below.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, message, hint string }{
		{"Q> type=CDS\n^", `"Q>" is no kind of line`, "C> S< D> d< P> p< L> l< F: --"},
		{"t=3s C> type=CDS\n  ^", "begins with +", "t=+3s"},
		{"t=+3x C> type=CDS\n  ^", `"+3x" is not a duration`, "250ms"},
		{"t=+-3s C> type=CDS\n  ^", "is not a duration", ""},
		{"t=+9999h C> type=CDS\n  ^", "more than a year", ""},
		{"t=+1s\n     ^", "ends before it says what happens", ""},
		{"@ C> type=CDS\n^", "@ names one stream", "@2"},
		{"@1 @2 C> type=CDS\n   ^", "@ names one stream", ""},
		{"@2 C> type=CDS\n^", "no stream 2 yet", "-- stream 2"},
		{"C> V=1\n^", "type= is missing", ""},
		{"C> type=FDS\n        ^", `"FDS" is no resource type`, "did you mean"},
		{"C> type=" + strings.Repeat("F", 40) + "\n        ^", `"` + strings.Repeat("F", 40) + `" is no resource type`, ""},
		{"C> type=" + strings.Repeat("F", 41) + "\n        ^", `"` + strings.Repeat("F", 40) + `..." is no resource type`, ""},
		{"C> type=v2.LEDS\n        ^", `"v2.LEDS" is no resource type`, ""},
		{"C> type=CDS X=1\n            ^", "X= does not belong to a line with C>", ""},
		{"C> type=CDS sub=[a]\n            ^", "sub= does not belong to a line with C>", ""},
		{"C> type=CDS V=1 V=2\n                ^", "V= stands here twice", ""},
		{"C> type=CDS R=a\n              ^", `"a" is not a list`, "[a,b]"},
		{"C> type=CDS R=[a,,b]\n                 ^", "an element of the list is missing", `""`},
		{"C> type=CDS R=[a\n              ^", "[ is not closed", ""},
		{"C> type=CDS R=[a)]\n                ^", ") where ] is expected", "double quotes"},
		{"C> type=CDS R=[\"a]\n               ^", "the quote is not closed", ""},
		{"C> type=CDS R=[a\"b\"]\n                ^", "a quote in the middle", ""},
		{"C> type=CDS err=\"a\\q\"\n                ^", "is not a text in quotes", "backslash"},
		{"C> type=CDS err=\"\\xff\"\n                ^", "is not a text in quotes", ""},
		{"C> type=CDS V=\"a\"b\n                 ^", "after the closing quote", ""},
		{"C> type=CDS code=WRONG\n                 ^", `"WRONG" is not a status code`, ""},
		{"C> type=CDS code=NOTFOUND\n                 ^", "is not a status code", "did you mean NOT_FOUND?"},
		{"C> type=CDS ua=envoy\n            ^", "there is none", "node=n1"},
		{"C> type=CDS size=5Mb\n                 ^", `"5Mb" is not a size`, "5MiB"},
		{"C> type=CDS size=5GiB\n                 ^", "more than 64 MiB", ""},
		{"C> type=CDS hello\n            ^", `"hello" has no name`, "NAME=VALUE"},
		{"C> type=CDS # why\n            ^", "has no name", "comment"},
		{"C> type=CDS x0\n            ^", "x0 is not between", ""},
		{"C> type=CDS x100001\n            ^", "is not between", ""},
		{"C> type=CDS x2 x3\n               ^", "says twice", ""},
		{"C> type=CDS \xff\n            ^", "not valid UTF-8", ""},
		{"C> type=CDS\nD> type=CDS\n^", "D> on a stream of C> and S<", "-- stream 2"},
		{"-- stream 1 method=StreamClusters\nD> type=CDS\n^", "D> on a stream of C>", ""},
		{"-- stream 1 method=StreamCluster\n                   ^", "is no method", "did you mean StreamClusters?"},
		{"-- stream 1\n-- stream 1\n          ^", "there is a stream 1 already", ""},
		{"-- stream\n^", "has no name", "-- stream 2"},
		{"-- stream 2 x2\n^", "opened once", ""},
		{"-- stream 2 conn=7\n            ^", `no stream "7" yet`, ""},
		{"C> type=CDS\n-- stream 2 conn=1 peer=x\n            ^", "has its addresses", ""},
		{"-- serverend\n   ^", `"serverend" is no event`, "did you mean server-end?"},
		{"--\n^", "the event is missing", "stream"},
		{"-- server-end\n^", "no stream yet", ""},
		{"C> type=CDS\n-- server-end\n-- server-end\n^", "stream 1 has ended", "@1"},
		{"C> type=CDS\n-- server-end\nC> type=CDS\n^", "stream 1 has ended", "-- stream N"},
		{"C> type=CDS\n-- server-end x2\n^", "happens once", ""},
		{"C> type=CDS\n-- cut by=me\n          ^", `"me" is neither`, ""},
		{"@1 -- tick\n^", "belongs to no stream", ""},
		{"S< type=CDS res=[c1@1@2]\n                     ^", "a second version", "double quotes"},
		{"S< type=CDS res=[c1#1#2]\n                     ^", "a second content", ""},
		{"S< type=CDS res=[c1#]\n                   ^", "nothing after #", ""},
		{"S< type=CDS res=[c1~5s~6s]\n                      ^", "a second TTL", ""},
		{"S< type=CDS res=[c1~x]\n                    ^", "is not a duration", ""},
		{"S< type=CDS res=[c1{eds}{eds}]\n                        ^", "stand here twice", ""},
		{"S< type=CDS res=[c1{rds}]\n                    ^", "rds needs a name", `"rds"`},
		{"S< type=CDS res=[c1{eds=}{]\n                          ^", "is expected", ""},
		{"S< type=CDS res=[c1{src=moon,eds}]\n                        ^", "is no config source", "delta-grpc"},
		{"S< type=CDS res=[ok,c1{rds=r}]\n                    ^", `"c1": a resource of type CDS does not refer to route configurations`, ""},
		{"S< type=LDS res=[l{rds=}]\n                 ^", "a reference has no name", ""},
		{"S< type=SDS res=[s{c}]\n                 ^", "does not refer to clusters", ""},
		{"S< type=CDS res=[c(color=red)]\n                   ^", `"color" says nothing`, "payload=NAME"},
		{"S< type=CDS res=[c(payload=a)b]\n                             ^", "after the name of a resource", ""},
		{"S< type=SRDS res=[s#keyA#keyB]\n                        ^", "a second scope key", ""},
		{"S< type=CDS res=[c] errs=[x]\n                          ^", "has no colon", "NAME:VALUE"},
		{"S< type=CDS errs=[x:WHAT]\n                    ^", "is not a status code", ""},
		{"D> type=CDS init={a}\n                  ^", "has no colon", ""},
		{"D> type=CDS init={a:1,a:2}\n                 ^", `"a" stands twice`, ""},
		{"P> V=1\n^", "has no path", "/v3/discovery:clusters"},
		{"P> path=v3\n        ^", "begins with a slash", ""},
		{"p< 200\n^", "there is no poll", ""},
		{"P> type=CDS\np< type=CDS\n^", "the status is missing", "p< 200"},
		{"P> type=CDS\np< OK\n   ^", "is not a number", ""},
		{"P> type=CDS\np< 99\n   ^", "no status of HTTP", ""},
		{"P> type=CDS\np< 304 V=1\n       ^", "has no resources", "body="},
		{"F: rename\n^", "is missing", "F: rename"},
		{"F: move a type=CDS\n   ^", "does not happen to a file", ""},
		{"F: write a b type=CDS\n           ^", "two names", ""},
		{"F: delete a type=CDS\n            ^", "has no content", ""},
		{"@1 F: write a\n^", "belongs to no stream", ""},
		{"l< send_all=yes\n            ^", "neither true nor false", ""},
		{"-- csds CDS/c=ACKED\n^", "node= is missing", ""},
		{"-- held CDS/active=[c]\n^", "node= is missing", ""},
		{"-- held node=n CDS/activ=[c]\n                   ^", `"activ" is no state`, "did you mean active?"},
		{"-- held node=n CXS/active=[c]\n               ^", `"CXS" is no resource type`, "CDS"},
		{"-- csds node=n CDS=ACKED\n               ^", "is no status of a resource", "CDS/c1=NACKED@1"},
		{"-- csds node=n CDS/c=NAKED\n                     ^", `"NAKED" is no status`, "did you mean NACKED?"},
		{"-- stream-open gap=1s method=/v3/discovery:clusters\n                             ^", "no streams of gRPC", ""},
	} {
		lines := strings.Split(c.text, "\n")
		text, marker := strings.Join(lines[:len(lines)-1], "\n"), lines[len(lines)-1]
		t.Run(text, func(t *testing.T) {
			_, err := Parse("f.xds", []byte(text+"\n# more\n"))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("no error: %v", err)
			}
			if want := fmt.Sprintf("f.xds:%d:%d: ", len(lines)-1, len(marker)); !strings.HasPrefix(e.Error(), want) {
				t.Errorf("%s, expected at %s", e, want)
			}
			if !strings.Contains(e.Message, c.message) {
				t.Errorf("%q does not say %q", e.Message, c.message)
			}
			if !strings.Contains(e.Hint, c.hint) {
				t.Errorf("the hint %q does not say %q", e.Hint, c.hint)
			}
		})
	}
}

// Columns are characters, not bytes.
func TestColumnsAreCharacters(t *testing.T) {
	_, err := Parse("f", []byte("C> type=CDS V=äöü X=1"))
	if err == nil || !strings.HasPrefix(err.Error(), "f:1:19: ") {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	for name, text := range map[string]string{
		"entries":   strings.Repeat("C> type=CDS x60000\n", 2),
		"bytes":     strings.Repeat("C> type=CDS size=60MiB\n", 5),
		"repeated":  "C> type=CDS size=1MiB x300\n",
		"aliases":   "S< type=CDS alias=[" + strings.Repeat("a", 2000) + "] res=[" + strings.Repeat("c,", 200_000) + "c]\n",
		"lines":     "C> type=CDS\n" + strings.Repeat("-- server-headers\n", 100_000),
		"names":     "C> type=CDS R=[" + strings.Repeat("a,", 1<<20) + "a]\n",
		"resources": "S< type=CDS res=[" + strings.Repeat("a,", 1<<18) + "a]\n",
		"line":      "C> type=CDS V=" + strings.Repeat("a", 17<<20) + "\n",
		"time":      "t=+8000h -- tick x100000\n",
	} {
		if _, err := Parse(name, []byte(text)); err == nil {
			t.Errorf("%s: not bounded", name)
		}
	}
	s := parseText(t, "C> type=CDS x49000\nS< type=CDS x49000 res=[c1]\n")
	n := 0
	for range s.Entries() {
		n++
	}
	if n != 98_003 {
		t.Errorf("%d entries", n)
	}
}
