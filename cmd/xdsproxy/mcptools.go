package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/compare"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/mcp"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// prints are the tools of an assistant, each by what its command does.
func (s *served) prints() map[string]mcp.Print {
	one := func(print func(a *cli, ctx context.Context, name string, args *mcp.Args) error) mcp.Print {
		return func(ctx context.Context, name string, args *mcp.Args, out, notes io.Writer) error {
			return print(s.with(out, notes), ctx, name, args)
		}
	}
	return map[string]mcp.Print{
		"clients": one((*cli).answerClients), "timeline": one((*cli).answerTimeline), "entry": one((*cli).answerEntry), "check": one((*cli).answerCheck),
		"explain": one((*cli).answerExplain), "diff": one((*cli).answerDiff), "tree": one((*cli).answerTree),
	}
}

func (a *cli) answerClients(ctx context.Context, name string, args *mcp.Args) error {
	status, _, damage := a.status(ctx, name, session.Seq(args.Number("at")))
	if status == nil {
		return damage
	}
	return cmp.Or(a.console().JSON(status), damage)
}

func (a *cli) answerTree(ctx context.Context, name string, args *mcp.Args) error {
	tree, damage := a.tree(ctx, name, args.Text("client"), session.Seq(args.Number("at")))
	if tree == nil {
		return damage
	}
	return cmp.Or(a.console().JSON(tree), damage)
}

func (a *cli) answerTimeline(ctx context.Context, name string, args *mcp.Args) error {
	wanted, err := input.ParseQuery(args.Text("filter"))
	if err != nil {
		return err
	}
	src, err := a.opener().Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	src.Follow(false)
	o := a.config.Judging()
	wanted.Judge = &o
	p := a.printer(a.stdout, "jsonl")
	if !args.Flag("unfolded") {
		p.repeats = newRepeats()
	}
	return a.watch(ctx, src, wanted, session.Seq(max(args.Number("from"), 1)), p)
}

func (a *cli) answerEntry(ctx context.Context, name string, args *mcp.Args) error {
	seq := strconv.FormatUint(args.Number("seq"), 10)
	path, resource := args.Text("path"), args.Text("resource")
	if path != "" && resource != "" {
		return misused("resource and path are two ways to say which part: which one?").Hint("leave one of them out")
	}
	wanted := &input.Selection{}
	if err := wanted.Add(seq); err != nil {
		return err
	}
	q, err := input.ParseQuery("")
	if err != nil {
		return err
	}
	src, err := a.opener().Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = a.show(ctx, src, q, wanted, func(c *check.Change, doc *render.Document) error {
		if resource != "" {
			i := -1
			if c.Message != nil {
				i = slices.IndexFunc(c.Message.Resources, func(r decode.Resource) bool { return r.Name == resource })
			}
			if i < 0 {
				return failed("entry %s carries no resource %q", seq, resource).Hint("names of the entry says which it carries")
			}
			path = fmt.Sprintf("message.resources[%d]", i)
		}
		if path == "" {
			_, err := a.stdout.Write(doc.JSON())
			return err
		}
		value, err := mcp.Select(doc.JSON(), path)
		if err != nil {
			return err
		}
		return a.console().JSON(&entryPart{schema, args.Number("seq"), path, value})
	})
	return err
}

// entryPart is what stands at one place of an entry.
type entryPart struct {
	Schema string          `json:"schema"`
	Seq    uint64          `json:"seq"`
	Path   string          `json:"path"`
	Value  json.RawMessage `json:"value"`
}

func (a *cli) answerCheck(ctx context.Context, name string, args *mcp.Args) error {
	if _, err := rulesNamed(args.Text("rule")); err != nil {
		return err
	}
	report := render.NewReport()
	damage := a.judge(ctx, []string{name}, "", a.config.Judging(), report)
	if damage != nil && !input.Damaged(damage) {
		return damage
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f render.Finding) bool {
		rule, severity := args.Text("rule"), args.Text("severity")
		return rule != "" && f.Rule != rule || severity != "" && !fails(severity, f.Severity)
	})
	return cmp.Or(a.console().JSON(report), damage)
}

func (a *cli) answerExplain(_ context.Context, _ string, args *mcp.Args) error {
	rules, err := rulesNamed(args.Text("rule"))
	if err != nil {
		return err
	}
	return a.console().JSON(render.NewRules(rules))
}

func (a *cli) answerDiff(ctx context.Context, name string, args *mcp.Args) error {
	c := &compare.Comparison{
		Opener: a.opener(), Output: "json", Client: args.Text("client"),
		From: args.Text("from"), To: args.Text("to"), All: args.Flag("all"),
	}
	if typ := args.Text("type"); typ != "" {
		c.Type = typeWord(typ)
	}
	return c.Versions(ctx, name, args.Text("name"))
}
