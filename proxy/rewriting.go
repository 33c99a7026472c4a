package proxy

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
	"github.com/xdsproxy/xdsproxy/session"
)

// loadRewrites reads what the rules of the pairs set.
func (p *Proxy) loadRewrites() error {
	for _, pair := range p.cfg.Pairs {
		if pair.Rewrite == nil || p.rewrites[pair.Rewrite] != nil {
			continue
		}
		s, err := rewrite.Load(pair.Rewrite, p.headerFile)
		if err != nil {
			return err
		}
		if p.rewrites == nil {
			p.rewrites = make(map[*rewrite.Rules]*rewrite.Source)
		}
		p.rewrites[pair.Rewrite] = s
	}
	return nil
}

// headerFile says that the file of a header cannot be used any more, or can
// again.
func (p *Proxy) headerFile(name, path string, err error) {
	note := session.Note{Code: session.NoteRewrite, Text: fmt.Sprintf("header %s is set from %s again", name, path)}
	if err != nil {
		note.Text = fmt.Sprintf("header %s cannot be set from %s: %v; it stays what it was", name, path, err)
		note.Hint = "requests go on with the old value until the file can be read again"
		p.cfg.Logger.Warn("a header cannot be set from its file; it stays what it was", zap.String("header", name), zap.String("file", path), zap.Error(err))
	} else {
		p.cfg.Logger.Info("a header is set from its file again", zap.String("header", name), zap.String("file", path))
	}
	p.cfg.Log.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &note})
}

// notFollowed says whether a write failed because what the client sends cannot
// be followed any more. Then it ends the pair, which the caller aborts: to go on
// without rewriting is not possible, since the server's header tables are not
// the client's.
func (c *conn) notFollowed(err error) bool {
	if _, ok := errors.AsType[*rewrite.FollowError](err); !ok {
		return false
	}
	c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteRewrite, Text: err.Error() + "; the connection was closed",
		Hint: "without --upstream-authority, --header and --header-from-file it would be passed on as it is",
	}})
	c.end(session.Proxy, err.Error())
	return true
}

// heldBack records, at the end of what one side sends, what of it was never
// passed on because it was not whole.
func (c *conn) heldBack(from session.Side) {
	if c.rewriter == nil || from != session.Client {
		return
	}
	if n := c.rewriter.Held(); n > 0 {
		c.undelivered(from, n, errors.New("the last header block is not whole"))
	}
}
