package agree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// A session that is read again tells the same: the same entry by entry, whoever
// looks on the way, and wherever one reader stops and the next one begins.
func TestRereading(t *testing.T) {
	eachConversation(t, fewer(), func(seed uint64, text string) []disagreement {
		once, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		again, _ := play(text)
		return rereads(seed, once, again)
	})
	for i, file := range recordings(t) {
		few(t, rereads(uint64(i), recordertest.Entries(t, file), recordertest.Entries(t, file)))
	}
}

// rereads reads once in one go, and then the same up to some entry, and from
// another copy what follows.
func rereads(seed uint64, once, again []session.Entry) (out []disagreement) {
	r := rand.New(rand.NewPCG(seed, 3))
	split := r.IntN(len(once) + 1)
	one, two := check.NewChecker(check.Options{}), check.NewChecker(check.Options{})
	defer func() {
		if why := recover(); why != nil {
			out = append(out, disagreement{"panic", 0, fmt.Sprint(why)})
		}
	}()
	for i := range once {
		of := &again[i]
		if i < split {
			of = &once[i]
		}
		a, b := one.Step(&once[i]), two.Step(of)
		if x, y := digest(&a, same)+found(&a), digest(&b, same)+found(&b); x != y {
			out = append(out, disagreement{"rereading", of.Seq, fmt.Sprintf("split at %d: %s, and %s", split, x, y)})
			return out
		}
		if r.IntN(8) == 0 { // to look changes nothing
			for _, c := range two.Status() {
				two.Tree(c.Client)
			}
			two.Findings()
		}
	}
	for _, d := range differences(standings(one), standings(two)) {
		out = append(out, disagreement{"rereading: status", 0, d})
	}
	return out
}
