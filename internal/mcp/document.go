package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// document answers with a page of the one document that a tool prints.
func (c *call) document(from *cursor) (json.RawMessage, error) {
	doc, err := c.whole(from)
	if err != nil {
		return nil, err
	}
	at := position{}
	if from != nil {
		at = from.position
	}
	p, err := makePage(doc, at, c.space())
	if err != nil {
		return nil, refused(errNoCursor.Error())
	}
	var next *cursor
	if p.more {
		next = &cursor{asked: c.asked, recording: c.recording, answer: markOf(doc), position: p.next}
	}
	return c.frame(p, p.levels, at, next), nil
}

// whole is all that the tool prints: as it was when the cursor was made, if that is
// still there or the same again.
func (c *call) whole(from *cursor) ([]byte, error) {
	if from != nil {
		if doc := c.kept.get(c.asked, from.answer); doc != nil {
			return doc, nil
		}
	}
	var out, doc bytes.Buffer
	err := c.Prints[c.tool.Name](c.ctx, c.name, c.args, &out, &c.notes)
	if err = c.beside(err, out.Len() > 0); err != nil {
		return nil, err
	}
	if err := json.Compact(&doc, out.Bytes()); err != nil {
		return nil, console.Failed("%s printed no JSON: %w", c.tool.Command, err)
	}
	if from != nil && markOf(doc.Bytes()) != from.answer {
		return nil, refused("the recording has grown since the cursor was made, and the answer is another one")
	}
	c.kept.put(c.asked, markOf(doc.Bytes()), doc.Bytes())
	return doc.Bytes(), nil
}

// beside makes a note of an error if there is an answer all the same.
func (c *call) beside(err error, printed bool) error {
	if err == nil || !printed || c.ctx.Err() != nil {
		return err
	}
	c.notes.WriteString(sentence(err) + "\n")
	return nil
}

// kept are the latest answers that have more than one page.
type kept struct {
	all []keptAnswer // the oldest first
}

type keptAnswer struct {
	asked, sum mark
	doc        []byte
}

const (
	maxKept      = 8
	maxKeptBytes = 64 << 20
)

func (k *kept) get(asked, sum mark) []byte {
	for _, one := range k.all {
		if one.asked == asked && one.sum == sum {
			return one.doc
		}
	}
	return nil
}

// put keeps an answer. One that is larger than all that is kept is made anew for
// each page.
func (k *kept) put(asked, sum mark, doc []byte) {
	if len(doc) < MaxAnswer/4 || len(doc) > maxKeptBytes || k.get(asked, sum) != nil {
		return
	}
	k.all = append(k.all, keptAnswer{asked, sum, doc})
	size := 0
	for i := len(k.all) - 1; i >= 0; i-- {
		if size += len(k.all[i].doc); size > maxKeptBytes || len(k.all)-i > maxKept {
			k.all = append([]keptAnswer(nil), k.all[i+1:]...)
			return
		}
	}
}
