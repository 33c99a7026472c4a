package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/push"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/session"
)

// pushFlags say which pushes are wanted, and what is one.
type pushFlags struct {
	filter, client, typ string
	within              time.Duration
	follow              bool
}

func newPushes(a *cli) *cobra.Command {
	output, f := "table", pushFlags{within: pushes.DefaultWithin}
	cmd := a.command(&cobra.Command{
		Use:   "pushes [SOURCE] [N] [--within DURATION] [-o table|json|jsonl]",
		Short: "Print each push of a server: to whom, how far, with what gap",
		Long: `Prints a line for each push: the responses of one server that belong together,
over types, streams and clients. These are the responses of one version; or of
one time, where the server writes that in front of its versions; or else those
that come in one burst, each at most --within after the one before. What a
client asks for because of them belongs to them. What clients are given when
they come is a start.

A line says what changed, to how many clients, how long it took from the first
response to the last ACK, who rejected it, who is behind, and for how long
something was missing to which others referred. With N, the number of a push, it
prints that one in full: by type and by client, what was removed and what came
in its place, and which bytes changed nothing.

A client is behind if it has not answered. It is also behind if it wants what
others were sent, was not sent that, and still has what they had before.

--filter is for those pushes of which an entry is wanted: a response, or an
answer to one. --follow goes on with what is still being written, and prints a
push when the next one of its server has begun, or all have answered; at the
end, those that are left.

-o json has the list, or the push that N names in full; -o jsonl has every push
in full, one JSON object a line.`,
		Example: `xdsproxy pushes @last
xdsproxy pushes @last 41
xdsproxy pushes session.xdsp --type cds --client gw-0
xdsproxy pushes @last -o json | jq '.pushes[] | select(.gap_ms > 1000)'`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		n := 0
		if len(args) == 2 {
			var err error
			if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
				return misused("the number of a push is from 1 on, not %q", args[1]).Hint("xdsproxy pushes %s lists them", shellWord(args[0]))
			}
			args = args[:1]
		}
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if n > 0 && f.filter+f.client+f.typ != "" {
			return misused("--filter, --client and --type choose from the list, and %d names a push", n).
				Hint("xdsproxy pushes %s %d prints all of it", shellWord(name), n)
		}
		if f.follow && (n > 0 || output == "json") {
			return misused("--follow prints a line for each push as it is over").Hint("-o jsonl has all of each in its line")
		}
		return a.pushes(cmd.Context(), name, n, output, &f)
	})
	filterFlag(cmd, &f.filter)
	flags := cmd.Flags()
	flags.Var(settings.NewText(&f.client, "CLIENT"), "client", "those that concern a client whose node id contains this text")
	_ = cmd.RegisterFlagCompletionFunc("client", a.completeClient)
	flags.Var(settings.NewText(&f.typ, "TYPE"), "type", "those with something of that type, such as cds")
	flags.Var((*settings.Duration)(&f.within), "within", "how far apart responses of one push are at most that have no version in common")
	flags.BoolVar(&f.follow, "follow", false, "go on with what is still being written")
	outputFlag(cmd, &output, "table", "json", "jsonl")
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	return cmd
}

// pushes reads a source and prints its pushes.
func (a *cli) pushes(ctx context.Context, name string, n int, output string, f *pushFlags) error {
	query, err := input.ParseQuery(f.filter)
	if err != nil {
		return err
	}
	src, err := a.opener().Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	src.Follow(f.follow)
	heap.Lean()
	o := a.config.Accounting()
	if query.Needs().Findings {
		o = a.config.Judging()
	}
	checker := check.NewChecker(o)
	s := &pushSearch{grouper: pushes.New(pushes.Options{Within: f.within}), checker: checker, flags: f, jsonl: output == "jsonl", wanted: make(map[int]bool), printed: make(map[int]bool)}
	wants := query.Asker()
	damage := a.judgeEach(ctx, src, checker, func(e *session.Entry, c *check.Change) error {
		s.grouper.Step(checker.Engine, e, &c.Change)
		if !query.Empty() && wants(e, c) {
			s.wanted[cmp.Or(s.grouper.Of(e.Seq), s.grouper.Of(c.Answers))] = true
		}
		if now := checker.Now; f.follow && now.Sub(s.looked) >= followLook {
			s.looked = now
			return s.print(a, false)
		}
		return nil
	})
	if stopped := f.follow && ctx.Err() != nil; damage != nil && !input.Damaged(damage) && !stopped {
		return damage
	}
	c := a.console()
	if n > 0 {
		p, ok := s.grouper.Push(checker.Engine, n)
		if !ok {
			return cmp.Or(damage, error(failed("there is no push %d in %q: it has %d", n, src.Name, len(s.grouper.Heads(checker.Engine, 0))+s.grouper.Forgotten()).Hint("xdsproxy pushes %s lists them", shellWord(src.Name))))
		}
		if s.jsonl {
			return cmp.Or(s.one(a, &p.Head), damage)
		}
		return cmp.Or(c.Show(output, push.NewObject(&p), func() string { return push.Text(&p, c.Style(), c.Columns(), push.Form{}) }), damage)
	}
	if f.follow || s.jsonl {
		return cmp.Or(s.print(a, true), damage)
	}
	heads := s.heads()
	if let := s.grouper.Forgotten(); let > 0 {
		a.warn("the %d oldest pushes were let go, there are too many", let)
	}
	if output != "json" && len(heads) == 0 {
		a.say("no server has sent anything in %q that is wanted", src.Name)
		return damage
	}
	return cmp.Or(c.Show(output, push.NewList(heads, s.grouper.Forgotten()), func() string { return push.Table(heads, c.Style(), c.Columns()) }), damage)
}

// pushSearch finds the pushes that are wanted.
type pushSearch struct {
	grouper *pushes.Grouper
	checker *check.Checker
	flags   *pushFlags
	jsonl   bool
	wanted  map[int]bool // by their entries
	titled  bool         // the titles stand above

	// With --follow: which were printed, all up to a number and some above it.
	upTo    int
	printed map[int]bool
	looked  time.Time // when that was done last, as the session counts time
}

// followLook is how often --follow looks for pushes that are over: each look counts
// anew what has changed in those that are not.
const followLook = 100 * time.Millisecond

// heads are those that are wanted.
func (s *pushSearch) heads() []pushes.Head {
	all := s.grouper.Heads(s.checker.Engine, 0)
	return slices.DeleteFunc(all, func(h pushes.Head) bool { return !s.wants(&h) })
}

func (s *pushSearch) wants(h *pushes.Head) bool {
	f := s.flags
	if f.filter != "" && !s.wanted[h.N] || f.typ != "" && !slices.ContainsFunc(h.Types, func(t string) bool { return strings.EqualFold(t, f.typ) }) {
		return false
	}
	if f.client == "" {
		return true
	}
	p, _ := s.grouper.Push(s.checker.Engine, h.N)
	is := func(id string) bool { return strings.Contains(id, f.client) }
	return slices.ContainsFunc(p.Members, func(c pushes.Client) bool { return is(c.Client) }) ||
		slices.ContainsFunc(p.Unsents, func(u pushes.Unsent) bool { return is(u.Client) })
}

// print prints the pushes that are over, or all that are left. One that is not keeps
// back those of its server that came later, and no others.
func (s *pushSearch) print(a *cli, all bool) error {
	lost := 0
	for s.upTo < s.grouper.Forgotten() {
		if !s.printed[s.upTo+1] {
			lost++
		}
		s.pass()
	}
	if lost > 0 {
		a.warn("%s let go before they were over, there are too many", render.Count(uint64(lost), "push was", "pushes were"))
	}
	heads := s.grouper.Heads(s.checker.Engine, s.upTo)
	newest := make(map[string]int) // by server
	for i := range heads {
		newest[heads[i].Server] = heads[i].N
	}
	waits := make(map[string]bool) // servers with a push that is not over
	for i := range heads {
		h := &heads[i]
		if s.printed[h.N] || waits[h.Server] {
			continue
		}
		last := newest[h.Server] == h.N
		if !all && (s.checker.Now.Sub(h.Sent) <= s.flags.within || last && (h.Pending > 0 || h.Open > 0)) {
			waits[h.Server] = true
			continue
		}
		if s.wants(h) {
			if err := s.one(a, h); err != nil {
				return err
			}
		}
		s.printed[h.N] = true
	}
	for s.printed[s.upTo+1] {
		s.pass()
	}
	return nil
}

// pass is done with the first push that is not behind it.
func (s *pushSearch) pass() {
	s.upTo++
	delete(s.printed, s.upTo)
	delete(s.wanted, s.upTo)
}

// one prints a push as it is now.
func (s *pushSearch) one(a *cli, h *pushes.Head) error {
	style, columns := a.console().Style(), a.console().Columns()
	text := push.TableLine(h, style, columns)
	switch {
	case s.jsonl:
		p, _ := s.grouper.Push(s.checker.Engine, h.N)
		line, err := render.JSONLine(push.NewObject(&p))
		if err != nil {
			return err
		}
		text = string(line)
	case !s.titled:
		text, s.titled = push.TableHead(style, columns)+text, true
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}
