package effect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestTold: what an account can be asked, after each entry of a conversation.
// The nth line "# stats name=value ..." of it gives counters to what the client says
// the nth time, and "# tell TYPE NAME" says that it was told of a resource.
func TestTold(t *testing.T) {
	list, err := filepath.Glob(filepath.Join("testdata", "told", "*.xds"))
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	for _, path := range list {
		name := strings.TrimSuffix(path, ".xds")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := script.Parse(path, text)
			if err != nil {
				t.Fatal(err)
			}
			golden.Is(t, name+".txt", toldOf(s, string(text)))
		})
	}
}

func toldOf(s *script.Script, text string) string {
	var stats []string
	for line := range strings.Lines(text) {
		if list, is := strings.CutPrefix(line, "# stats "); is {
			stats = append(stats, list)
		}
	}
	var (
		a     effect.Account
		out   strings.Builder
		said  map[string]bool
		began time.Time
	)
	k := engine.New(engine.Options{})
	for e := range s.Entries() {
		if began.IsZero() {
			began = e.Time
		}
		if e.Kind == session.KindHeld && len(stats) > 0 && e.Message != nil {
			e.Message.Data = append(slices.Clone(e.Message.Data), counters(stats[0]))
			stats = stats[1:]
		}
		c := k.Step(&e)
		a.Step(k, &e, &c)
		now := told(k, &a, began)
		fmt.Fprintf(&out, "#%d %s %s\n", e.Seq, e.Kind, c.Type)
		is := make(map[string]bool)
		for _, line := range now {
			if is[line] = true; !said[line] {
				fmt.Fprintf(&out, "  %s\n", line)
			}
		}
		said = is
		for line := range strings.Lines(text) {
			var at, typ, name string
			if n, _ := fmt.Sscanf(line, "# tell %s %s %s", &at, &typ, &name); n == 3 && at == fmt.Sprint(e.Seq) {
				a.Tell("n1", typ, name)
			}
		}
	}
	fmt.Fprintf(&out, "expected %v, forgotten %d\n", a.Expected(), a.Forgotten())
	return out.String()
}

// counters are those of an Envoy in a ClientStatusResponse.
func counters(list string) []byte {
	field := func(num protowire.Number, b string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), b))
	}
	const url = xds.AdminPrefix + "v3.SimpleMetric"
	var config string
	for _, one := range strings.Fields(list) {
		name, value, _ := strings.Cut(one, "=")
		var n uint64
		fmt.Sscan(value, &n)
		body := string(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), n))
		config += field(3, field(1, url)+field(2, name)+field(4, field(1, url)+field(2, body)))
	}
	return []byte(field(1, config))
}

func told(k *engine.Engine, a *effect.Account, began time.Time) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, l := range a.Loads() {
		of := "?"
		if l.Sub != nil {
			of = l.Sub.Type
		}
		say("load of %s in #%d by %s: %s %q", of, l.Seq, l.Client, l.Verdict, l.Why)
	}
	for _, id := range []string{"n1", "n2"} {
		for _, e := range a.Client(id) {
			say("%s", words(&e, began))
		}
		for _, asked := range a.Asked(id) {
			say("%s was asked %s", id, golden.Compact(asked, began))
		}
		for e, s := range a.Pending(k, id) {
			say("%s has pending %s %s on %d: %s", id, e.Type, e.Name, s.Stream.ID, e.State)
		}
		for x, s := range a.Strangers(k, id) {
			say("%s has the stranger %s %s on %d since #%d", id, x.Type, x.Name, s.Stream.ID, x.At.Seq)
		}
		s := a.Standing(id)
		say("%s stands %s, worst %s, unread %q, more %d, counts %s", id, s.Answer(), s.Worst(), s.Unread, s.More, golden.Compact(s.Counts, began))
		for i := range s.Behind {
			say("%s is behind: %s", id, words(&s.Behind[i], began))
		}
	}
	return out
}
