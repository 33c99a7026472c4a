package across

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// stand is where the clients of one recording stand at its end.
type stand struct {
	status *render.Standing
	at     time.Time
	err    error
}

// Standing is where all clients of all proxies stand, each at the end of the newest
// recording of its proxy that knows it. Ages of states are counted from the end of that
// recording, and when a client said something last from the newest entry of all. An
// error beside it says what could not be read.
func (r *Reader) Standing(ctx context.Context, o check.Options) (*render.Standing, error) {
	end := r.begin("reading")
	defer end()
	type who struct{ proxy, client string }
	var (
		at      time.Time
		damages int
		clients = make(map[who]render.ClientStatus)
		holding = make(map[who]render.Holding) // of those that are not in clients
		unreads int
		more    bool // clients that hold something than are kept of one recording
	)
	err := inOrder(ctx, len(r.All), func(ctx context.Context, i int) stand {
		checker, holders, at := check.NewChecker(o), &render.Holders{}, time.Time{}
		seq := session.Seq(0)
		_, err := r.each(ctx, r.All[i], checker, func(e *session.Entry, c *check.Change) error {
			holders.See(e, c)
			seq, at = e.Seq, checker.Now
			return nil
		})
		status := render.NewStanding(checker.Status(), uint64(seq), at)
		status.AddEffects(checker.Effects())
		status.AddHolders(holders, checker.Status())
		return stand{status, at, err}
	}, func(i int, s stand) error {
		what, err := r.judgeError(ctx, r.All[i], s.err)
		if err != nil {
			return err
		}
		switch what {
		case damaged:
			damages++
		case unread:
			unreads++
			return nil
		}
		if s.at.After(at) {
			at = s.at
		}
		of := render.Of{Proxy: r.Proxy(r.All[i]), Recording: r.All[i].Source, AsOf: s.status.At}
		for _, c := range s.status.Clients {
			c.Of = of
			key := who{c.Proxy, c.Client}
			if have, is := clients[key]; !is || have.Last < c.Last {
				clients[key] = c
			}
		}
		for _, h := range s.status.Holding {
			h.Of = of
			key := who{h.Proxy, h.Client}
			if have, is := holding[key]; !is || have.At < h.At {
				holding[key] = h
			}
		}
		more = more || s.status.HoldingMore
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := render.NewStanding(nil, 0, at)
	out.NotRead, out.HoldingMore = unreads, more
	ended := func(of *render.Of) {
		if of.AsOf == out.At {
			of.AsOf = ""
		}
	}
	for _, c := range clients {
		ended(&c.Of)
		out.Clients = append(out.Clients, c)
	}
	slices.SortFunc(out.Clients, func(a, b render.ClientStatus) int {
		return cmp.Or(cmp.Compare(grave(&b), grave(&a)), cmp.Compare(a.Proxy, b.Proxy), cmp.Compare(a.Client, b.Client))
	})
	for key, h := range holding {
		if _, asked := clients[key]; !asked {
			ended(&h.Of)
			out.Holding = append(out.Holding, h)
		}
	}
	slices.SortFunc(out.Holding, func(a, b render.Holding) int {
		return cmp.Or(cmp.Compare(a.Proxy, b.Proxy), cmp.Compare(a.Client, b.Client))
	})
	return out, left(damages, unreads, len(r.All), false)
}

// grave orders clients, the worst first, by the words of the account.
func grave(c *render.ClientStatus) int {
	worst := 0
	for i, state := range []string{"SYNCED", "UNKNOWN", "PENDING", "NOTSENT", "STALE", "NACKED"} {
		if slices.ContainsFunc(c.Types, func(t render.TypeStatus) bool { return t.State == state && t.Gone == "" }) {
			worst = i
		}
	}
	if c.Gone != "" {
		return worst - 10
	}
	return worst
}
