package compare

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestCompared: what is said of the versions of a resource, of two messages and of
// two recordings, or why it is refused.
func TestCompared(t *testing.T) {
	at := func(name string) string {
		return filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")
	}
	nack, other := at("envoy-sotw-nack"), at("envoy-delta-nack")
	versions := func(source, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Versions(t.Context(), source, name) }
	}
	messages := func(args ...string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Messages(t.Context(), args) }
	}
	dump := func(source, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.ConfigDump(t.Context(), source, name) }
	}
	held := func(source, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Held(t.Context(), source, c.States(t.Context(), name), name) }
	}
	monday, tuesday, fleet, holds, broken := "testdata/monday.xds", "testdata/tuesday.xds", "testdata/fleet.xds", "testdata/holds.xds", "testdata/broken.xds"
	long := strings.Repeat("gateway-", 10) + "0"
	envoy := filepath.Join("..", "configdump", "testdata", "secrets.json")
	sessions := func(a, b, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Sessions(t.Context(), a, b, name) }
	}
	var got bytes.Buffer
	for _, tc := range []struct {
		title string
		asked Comparison
		do    func(*Comparison) error
	}{
		{"a resource", Comparison{Type: "CDS", Context: 1}, versions(nack, "web")},
		{"two steps", Comparison{Type: "CDS", Context: 1, All: true}, versions(at("grpc-go-nack"), "greeter")},
		{"what was rejected", Comparison{Type: "CDS", Context: 1}, versions(at("grpc-go-nack"), "greeter")},
		{"two steps as JSON", Comparison{Type: "CDS", Output: "json", All: true}, versions(at("grpc-go-nack"), "greeter")},
		{"the first and the last", Comparison{Type: "CDS", From: "v1", To: "v3"}, versions(at("grpc-go-nack"), "greeter")},
		{"of two types", Comparison{}, versions(nack, "web")},
		{"a resource as JSON", Comparison{Type: "CDS", Output: "json"}, versions(nack, "web")},
		{"all of its versions", Comparison{Type: "EDS", All: true}, versions(nack, "web")},
		{"from one to another", Comparison{Type: "CDS", From: "v1", To: "v2"}, versions(nack, "web")},
		{"a type that it is not of", Comparison{Type: "SDS"}, versions(nack, "web")},
		{"a client that is not there", Comparison{Client: "nobody"}, versions(nack, "web")},
		{"a name with a slip", Comparison{}, versions(nack, "wbe")},
		{"a name like nothing", Comparison{}, versions(nack, "nothing like it")},
		{"a file that is not there", Comparison{}, versions("nowhere.xdsp", "web")},
		{"two messages", Comparison{Context: 2}, messages(nack, "5", "8")},
		{"two messages as JSON", Comparison{Output: "json"}, messages(nack, "5", "8")},
		{"a message with itself", Comparison{}, messages(nack, "5", "5")},
		{"an entry that is no message", Comparison{}, messages(nack, "1", "5")},
		{"an entry that is not there", Comparison{}, messages(nack, "5", "99999")},
		{"recordings that differ", Comparison{Context: 1}, sessions(nack, at("envoy-sotw-route-to-nowhere"), "")},
		{"recordings that differ, as JSON", Comparison{Output: "json"}, sessions(nack, at("envoy-sotw-route-to-nowhere"), "")},
		{"two recordings", Comparison{}, sessions(nack, other, "")},
		{"two recordings as JSON", Comparison{Output: "json"}, sessions(nack, other, "")},
		{"a recording with itself", Comparison{}, sessions(nack, nack, "")},
		{"of one type", Comparison{Type: "CDS", Context: 1}, sessions(nack, at("demo"), "")},
		{"of one resource", Comparison{}, sessions(nack, other, "web")},
		{"of a resource that is in none", Comparison{}, sessions(nack, other, "nothing like it")},
		{"of several clients", Comparison{}, sessions(monday, tuesday, "")},
		{"of several clients, all of it", Comparison{All: true}, sessions(monday, tuesday, "")},
		{"of several clients, as JSON", Comparison{All: true, Output: "json"}, sessions(monday, tuesday, "")},
		{"the other way", Comparison{All: true}, sessions(tuesday, monday, "")},
		{"of one client", Comparison{Client: "gw-1"}, sessions(monday, tuesday, "")},
		{"of a client that is only in one", Comparison{Client: "gw-3"}, sessions(monday, tuesday, "")},
		{"of a client that is in none", Comparison{Client: "gw-7"}, sessions(monday, tuesday, "")},
		{"of several clients, a resource", Comparison{Context: 0}, sessions(monday, tuesday, "c2")},
		{"of several clients, a resource as JSON", Comparison{Output: "json", Type: "EDS"}, sessions(monday, tuesday, "c2")},
		{"of several clients, a resource that is the same", Comparison{}, sessions(monday, tuesday, "c5")},
		{"of several clients, a resource that is in one", Comparison{}, sessions(monday, tuesday, "l1")},
		{"of several clients, part of a name", Comparison{}, sessions(monday, tuesday, "C")},
		{"recordings with secrets", Comparison{All: true}, sessions(at("envoy-sotw-secrets"), at("envoy-delta-secrets"), "")},
		{"a secret of two recordings", Comparison{Context: 1}, sessions(at("envoy-sotw-secrets"), at("envoy-delta-secrets"), "ledger-cert")},
		{"what was made of other objects", Comparison{All: true, Type: "RDS", Output: "json"}, sessions("../../check/testdata/systems/eg-updates-plain.xdsp", "../../check/testdata/systems/eg-warm-plain.xdsp", "")},
		{"what a resource was made of", Comparison{Type: "RDS"}, versions("../../check/testdata/systems/eg-updates-plain.xdsp", "default/eg/http")},
		{"what cannot be read whole", Comparison{}, sessions(broken, monday, "")},
		{"what cannot be read whole and is the same", Comparison{}, sessions(broken, broken, "")},
		{"nothing at all", Comparison{}, sessions(holds, holds, "")},
		{"nothing at all, by name", Comparison{}, sessions(holds, holds, "c1")},
		{"twice through a pipe", Comparison{}, sessions("-", "-", "")},
		{"a recording that is not there", Comparison{}, sessions(nack, "nowhere.xdsp", "")},
		{"what was removed", Comparison{Client: "gw-1"}, versions(monday, "c2")},
		{"what was removed, all of it", Comparison{Client: "gw-1", All: true}, versions(monday, "c2")},
		{"what is not answered, as JSON", Comparison{Client: "gw-2", Output: "json", From: "v1"}, versions(monday, "c1")},
		{"what is not answered", Comparison{Client: "gw-2"}, versions(monday, "c1")},
		{"what was rejected among others", Comparison{Client: "gw-2", To: "v2"}, versions(monday, "c1")},
		{"one version", Comparison{Client: "gw-2"}, versions(monday, "c9")},
		{"the same for all", Comparison{}, versions(fleet, "all")},
		{"not the same for all", Comparison{}, versions(fleet, "c1")},
		{"of a client without a node", Comparison{}, versions(fleet, "nobody")},
		{"what cannot be decoded", Comparison{}, versions(broken, "c2")},
		{"of nothing", Comparison{}, versions(holds, "c1")},
		{"a part of a name", Comparison{}, versions(fleet, "C")},
		{"a message that does not parse", Comparison{}, messages(broken, "5", "8")},
		{"a request and a response", Comparison{Context: 0}, messages(monday, "3", "5")},
		{"two requests", Comparison{}, messages(monday, "3", "6")},
		{"two messages that are far apart", Comparison{Context: 0}, messages(monday, "22", "26")},
		{"two messages, the later first", Comparison{Context: 0}, messages(monday, "26", "22")},
		{"two numbers, one of none", Comparison{}, messages(monday, "3", "x")},
		{"two messages of a file that is not there", Comparison{}, messages("nowhere.xdsp", "1", "2")},
		{"a dump", Comparison{}, dump(at("envoy-sotw-secrets"), envoy)},
		{"a dump, of one type", Comparison{Type: "SDS"}, dump(at("envoy-sotw-secrets"), envoy)},
		{"a dump as JSON", Comparison{Type: "EDS", Output: "json"}, dump(at("envoy-sotw-secrets"), envoy)},
		{"a dump of another client", Comparison{}, dump(monday, envoy)},
		{"a dump for a client that it is not of", Comparison{Client: "gw-1"}, dump(monday, envoy)},
		{"a dump that is none", Comparison{}, dump(monday, tuesday)},
		{"a dump that is not there", Comparison{}, dump(monday, "nowhere.json")},
		{"a dump and a pipe", Comparison{}, dump("-", envoy)},
		{"what clients hold", Comparison{Client: long}, held(monday, holds)},
		{"what clients hold, as JSON", Comparison{Client: "gw-1", Output: "json"}, held(monday, holds)},
		{"what clients hold, of one that is not said", Comparison{}, held(monday, holds)},
		{"what clients hold, of a type", Comparison{Client: long, Type: "EDS"}, held(monday, holds)},
		{"what clients hold, in a file that says it of none", Comparison{}, held(monday, tuesday)},
		{"what clients hold, in a recording with more", Comparison{}, held(monday, at("envoy-sotw-held"))},
		{"what clients hold, in a pipe", Comparison{}, held(monday, "-")},
		{"what clients hold, in a file that is not there", Comparison{}, held(monday, "nowhere.xdsp")},
	} {
		var out, said bytes.Buffer
		c := tc.asked
		if c.Output == "" {
			c.Output = "text"
		}
		c.Opener = &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: &out, Stderr: &said, Color: "never"}}
		err := tc.do(&c)
		fmt.Fprintf(&got, "== %s\n%s", tc.title, out.Bytes())
		if said.Len() > 0 {
			fmt.Fprintf(&got, "said: %s", said.Bytes())
		}
		fmt.Fprintf(&got, "differs: %v; %v\n", c.Differs, err)
		if wrong, is := errors.AsType[*console.Failure](err); is && len(wrong.Hints) > 0 {
			fmt.Fprintf(&got, "hints: %s\n", strings.Join(wrong.Hints, "\n       "))
		}
	}
	for name, want := range map[string]bool{envoy: true, monday: false, "nowhere": false, "testdata": false} {
		if IsState(name) != want {
			t.Errorf("%s is a state: %v", name, !want)
		}
	}
	golden.Is(t, "testdata/compared.txt", got.String())
}

// A held entry that does not say of what is none that says what clients hold.
func TestHeldOfNobody(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "odd.xdsp")
	log, err := recorder.Create(path, recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log.Append(session.Entry{Kind: session.KindHeld, Side: session.Proxy, Message: &session.Message{}})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	c := Comparison{Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}}}
	if all := c.States(t.Context(), path); len(all) != 0 {
		t.Errorf("%d states", len(all))
	}
}
