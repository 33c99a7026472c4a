package agree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Clients do not influence each other: however their entries are mixed, each
// means what it means alone, and each client stands where it stands alone.
func TestClientsApart(t *testing.T) {
	eachConversation(t, fewer(), func(seed uint64, text string) []disagreement {
		entries, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		return apart(seed, entries)
	})
}

// apart mixes the entries of clients anew. All happens at one time, so that who
// waits for how long does not depend on the others.
func apart(seed uint64, entries []session.Entry) (out []disagreement) {
	defer func() {
		if why := recover(); why != nil {
			out = append(out, disagreement{"panic", 0, fmt.Sprint(why)})
		}
	}()
	of := byClient(entries)
	names := sorted(of)
	if len(names) < 2 {
		return nil
	}
	// What each says alone.
	alone, stands, trees := make(map[session.Seq]string), make(map[string]string), make(map[string]string)
	for _, name := range names {
		k := check.NewChecker(check.Options{})
		for _, e := range of[name] {
			c := k.Step(&e)
			alone[e.Seq] = digest(&c, same)
		}
		for key, text := range standings(k) {
			stands[key] = text
		}
		trees[name] = treeOf(k, name)
	}
	// And together.
	r := rand.New(rand.NewPCG(seed, 5))
	together := check.NewChecker(check.Options{})
	old := []session.Seq{0} // numbers as they were, by those they have now
	number := func(seq session.Seq) session.Seq { return old[seq] }
	for len(names) > 0 {
		i := r.IntN(len(names))
		name := names[i]
		e := of[name][0]
		if of[name] = of[name][1:]; len(of[name]) == 0 {
			names = slices.Delete(names, i, i+1)
		}
		was := e.Seq
		old, e.Seq = append(old, was), session.Seq(len(old))
		c := together.Step(&e)
		if got := digest(&c, number); got != alone[was] {
			out = append(out, disagreement{"clients: change", was, fmt.Sprintf("alone %s, with others %s", alone[was], got)})
		}
	}
	for _, d := range differences(stands, standings(together)) {
		out = append(out, disagreement{"clients: status", 0, d})
	}
	for _, name := range sorted(trees) {
		if got := treeOf(together, name); got != trees[name] {
			out = append(out, disagreement{"clients: tree", 0, fmt.Sprintf("%s alone:\n%swith others:\n%s", name, trees[name], got)})
		}
	}
	return out
}

// byClient sorts entries by whose connection they are on, at one time. Gaps and
// the passing of time are left out.
func byClient(entries []session.Entry) map[string][]session.Entry {
	w := newWorld()
	names := make(map[session.ConnID]string)
	for i := range entries {
		if m := w.step(&entries[i]); m.client != "" {
			names[entries[i].Conn] = m.client
		}
	}
	out := make(map[string][]session.Entry)
	for _, e := range entries {
		if e.Conn == 0 || e.Kind == session.KindGap {
			continue
		}
		name := names[e.Conn]
		if name == "" {
			name = fmt.Sprint("connection ", e.Conn)
		}
		e.Time = time.Unix(1_000_000_000, 0)
		out[name] = append(out[name], e)
	}
	return out
}
