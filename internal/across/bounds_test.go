package across

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// A clock is told that is ahead by more than the store's own may be behind.
func TestClockThatIsAhead(t *testing.T) {
	for by, want := range map[time.Duration]int{maxSkew: 0, maxSkew + time.Second: 1} {
		var told []string
		r := New(opener(t, &told), []*fleet.Recording{{Proxy: "gw", Modified: began}})
		r.skewed(0, &recorder.Facts{Last: began.Add(by)})
		if len(told) != want {
			t.Errorf("ahead by %s: told %q", by, told)
		}
	}
}

// What is new is told, however much was told before it; so much of it is remembered.
func TestSentencesAreBounded(t *testing.T) {
	var told []string
	r := New(opener(t, &told), nil)
	const n = 2*maxTold + maxTold/2
	for i := range n {
		for range 2 {
			r.tell("gw-%d is not complete", i)
		}
	}
	_, err := r.judgeError(t.Context(), &fleet.Recording{Proxy: "gw", Name: "r1"}, &recorder.FormatError{Reason: "it is none"})
	if err != nil || len(told) != n+1 || !strings.Contains(told[n], "r1 of gw is left out") || len(r.told) != maxTold/2+1 {
		t.Errorf("%d are told, want %d, %d are remembered; the last is %q", len(told), n+1, len(r.told), told[len(told)-1])
	}
}

func TestCausesAreBounded(t *testing.T) {
	all, rec := causes{known: make(map[string]*cause)}, &fleet.Recording{}
	for i := range maxCauses {
		all.known[fmt.Sprint(i)] = nil
	}
	delete(all.known, "0")
	for _, v := range []struct {
		common string
		more   bool
	}{{"last", false}, {"last", false}, {"one more", true}} {
		all.add(&check.Finding{Common: v.common}, rec, "gw")
		if len(all.known) != maxCauses || all.more != v.more {
			t.Errorf("%s: %d are known, and more: %v", v.common, len(all.known), all.more)
		}
	}
}

// Proxies and clients of one cause are counted up to a bound. That there are more is told.
func TestProxiesAndClientsOfACauseAreBounded(t *testing.T) {
	all, rec := causes{known: make(map[string]*cause)}, &fleet.Recording{}
	c := &cause{on: make(map[string]bool), proxies: make([]string, maxProxies-1), clients: make([]string, maxClients-1)}
	all.known["x"] = c
	for _, v := range []struct {
		name string
		more bool
	}{{"last", false}, {"last", false}, {"one more", true}} {
		all.add(&check.Finding{Common: "x", Client: v.name}, rec, v.name)
		if len(c.proxies) != maxProxies || len(c.clients) != maxClients || c.more != v.more || c.beyond != v.more {
			t.Errorf("%s: %d proxies, more: %v, %d clients, more: %v", v.name, len(c.proxies), c.beyond, len(c.clients), c.more)
		}
	}
	if got := strings.Join(append(c.proxies[maxProxies-1:], c.clients[maxClients-1:]...), ","); got != "last,last" {
		t.Errorf("the last ones are %s", got)
	}
}

// The text of many recordings that waits is within a bound, as long as each has a little.
func TestTextThatWaitsIsBounded(t *testing.T) {
	for n, want := range map[int]int{0: aheadBytes, 1: aheadBytes, maxReady / aheadBytes * 2: aheadBytes / 2, maxReady / 512: 1 << 10} {
		m := merger{r: &Reader{All: make([]*fleet.Recording, n)}}
		if got := m.room(); got != want {
			t.Errorf("%d of each of %d, want %d", got, n, want)
		}
	}
}
