package compare

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Messages compares the messages of two entries.
func (c *Comparison) Messages(ctx context.Context, args []string) error {
	var seqs [2]session.Seq
	wanted := &input.Selection{}
	for i, arg := range args[1:] {
		n, _ := strconv.ParseUint(arg, 10, 63)
		seqs[i] = session.Seq(n)
		if err := wanted.Add(arg); err != nil {
			return err
		}
	}
	src, err := c.Open(args[0])
	if err != nil {
		return err
	}
	defer src.Close()
	q, err := input.ParseQuery("")
	if err != nil {
		return err
	}
	var docs [2]document.Document
	var names [2]string
	var part session.Seq // of which only the beginning is there
	done := c.Reading(src)
	spans := filter.Union(wanted.Spans)
	spans[len(spans)-1].Last = filter.NoLimit // the gap that explains what is missing may be told of later
	err = q.In(ctx, src, spans, func(e *session.Entry, c *check.Change, _ bool) error {
		done.Advance()
		wanted.Meet(e)
		for i := range seqs {
			if e.Seq != seqs[i] {
				continue
			}
			if e.Message == nil {
				return console.Failed("entry %d is of kind %s, and not a message", e.Seq, e.Kind).Hint("xdsproxy show %s %d prints it", console.ShellWord(args[0]), e.Seq)
			}
			if e.Message.Unread() != "" {
				failure := console.Failed("entry %d cannot be compared: %s", e.Seq, e.Message.Unread())
				if e.Message.Large() {
					failure = failure.Hint("it is recorded as it came: xdsproxy export %s --seq %d -w FILE.xdsp copies it", console.ShellWord(args[0]), e.Seq)
				}
				return failure
			}
			if e.Message.Truncated {
				part = e.Seq
			}
			docs[i], names[i] = q.Documents.Message(e, c), messageName(e, c)
		}
		if wanted.Done() {
			return input.ErrEnough
		}
		return nil
	})
	done.End()
	if err == nil {
		wanted.Seen.Last = max(wanted.Seen.Last, src.Facts().LastSeq)
		err = wanted.Missing(src.Name)
	}
	if err != nil {
		return err
	}
	r := c.compare(docs[0], docs[1])
	if part != 0 && r.Same() {
		return console.Failed("entry %d was not recorded whole: what is there of it does not differ", part)
	}
	if c.Output == "json" {
		return c.JSON(&render.MessageDiff{Schema: render.Schema, StepJSON: render.NewStep(uint64(seqs[0]), uint64(seqs[1]), r)})
	}
	w := bufio.NewWriter(c.Stdout)
	fmt.Fprintf(w, "%s against %s\n\n", names[0], names[1])
	if err := c.printResult(w, r); err != nil {
		return err
	}
	return w.Flush()
}

// messageName is such as "entry 12 (CDS RESP 41 to gw-0)".
func messageName(e *session.Entry, c *check.Change) string {
	words := []string{c.Type, c.What}
	if c.Message != nil {
		words = append(words, c.Message.Version)
	}
	if c.Client != "" {
		side := "of"
		if e.Side == session.Server {
			side = "to"
		}
		words = append(words, side, c.Client)
	}
	return fmt.Sprintf("entry %d (%s)", e.Seq, render.Safe(strings.Join(strings.Fields(strings.Join(words, " ")), " ")))
}
