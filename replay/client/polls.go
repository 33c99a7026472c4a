package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// refresh is how long it takes until a client polls again that waits for news.
const refresh = replay.Grace / 4

// poller plays one subscription by polls. It belongs to its goroutine.
type poller struct {
	*replay.Polling
	*replay.Member
	role     *role // by which what differs is worded
	client   *client
	http     *http.Client
	row      replay.Played
	contents *contents
	topic    *replay.Topic // of the contents that the recorded server sent

	live    string          // version that the live server sent last
	taken   string          // the one that the played client says that it has
	news    []*replay.Turn  // turns with a content, so far
	overdue bool            // one was waited for in vain, and none came since
	told    map[string]bool // differences
	broken  string          // why it could not be played
}

// pollers play the pollings of the plan. hangUp closes their connections.
func (c *client) pollers(groups replay.Groups) (out []*poller, hangUp func()) {
	transports := map[bool]*http.Transport{}
	for _, http1 := range []bool{false, true} {
		t := &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			Protocols:   new(http.Protocols), DisableCompression: true,
		}
		t.Protocols.SetHTTP1(http1)
		t.Protocols.SetUnencryptedHTTP2(!http1)
		transports[http1] = t
	}
	for _, of := range c.plan.Pollings {
		if c.o.Client != "" && of.Client != c.o.Client {
			continue
		}
		topic := &replay.Topic{Key: of.Method.Type, Type: of.Method.Type, TypeURL: of.TypeURL}
		out = append(out, &poller{
			Polling: of, Member: groups.Join(of.Stream), client: c, row: of.Row(), topic: topic,
			role: &role{Stream: of.Stream, client: c}, contents: newContents(inspect.New(c.o.Types), of.Whole),
			told: map[string]bool{},
			http: &http.Client{Transport: transports[of.HTTP1], CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		})
	}
	return out, func() {
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	}
}

// play polls as was polled.
func (p *poller) play(ctx context.Context) {
	defer p.Reach(replay.AtEnd)
	begun := time.Now()
	for i := range p.Turns {
		turn := &p.Turns[i]
		p.Reach(turn.Poll)
		if !p.await(ctx, turn, begun) {
			return
		}
		if i == 0 {
			p.client.ledger.Say(fmt.Sprintf("%s begins", p.Polling))
		}
		if !p.turn(ctx, turn) {
			return
		}
	}
	p.client.ledger.Say(fmt.Sprintf("%s is over", p.Polling))
}

// await waits until it is the time of a turn; false if the play is over.
func (p *poller) await(ctx context.Context, turn *replay.Turn, begun time.Time) bool {
	for p.Behind(turn.Poll) > 0 && p.Owed(turn.Poll) {
		news, wait := p.Group.Moved(), p.patience()-p.Group.Still(time.Now())
		if wait <= 0 {
			p.Forgo(turn.Poll)
			break
		}
		select {
		case <-news:
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
	o := &p.client.o
	var step <-chan struct{}
	var due <-chan time.Time
	switch {
	case o.Pace.Kind == replay.PaceTimed:
		due = time.After(o.Pace.After(turn.At-p.Turns[0].At) - time.Since(begun))
	case o.Pace.Steps():
		step = o.Step
	default:
		return ctx.Err() == nil
	}
	select {
	case <-step:
	case <-due:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// patience is how long others may stand still before a poll goes out without them:
// they may wait for news themselves.
func (p *poller) patience() time.Duration { return max(replay.Grace, p.client.o.Idle+refresh) }

// turn polls, and while the recorded server had news, until these have come or were
// waited for in vain. It is false if the server cannot be reached.
func (p *poller) turn(ctx context.Context, turn *replay.Turn) bool {
	r := &turn.Reply
	if r.News {
		p.expect(ctx, turn)
	}
	p.row.Sent++
	until := time.Now().Add(p.client.o.Idle)
	if p.overdue {
		until = time.Now().Add(min(replay.Grace, p.client.o.Idle))
	}
	for first := true; ; first = false {
		status, ok := p.poll(ctx, turn, first)
		if !ok {
			return false
		}
		if first {
			p.compareStatus(turn, status)
		}
		if !r.News || p.contents.all() || r.Masked && status == http.StatusOK { // what is masked is never the same
			p.overdue = false
			return true
		}
		if time.Now().After(until) {
			p.overdue = true
			return true
		}
		select {
		case <-time.After(refresh):
		case <-ctx.Done():
			return false
		}
	}
}

// expect lets contents expect what a reply brought.
func (p *poller) expect(ctx context.Context, turn *replay.Turn) {
	p.news = append(p.news, turn)
	body, err := p.client.plan.Body(ctx, turn.Reply.Body)
	if err != nil {
		p.client.ledger.Note("entry %d is not compared: %v", turn.Reply.Body, err)
		return
	}
	m := decode.Peek(p.Method, session.Server, "", body)
	p.contents.expect(turn.Reply.Body, len(p.news), turn.Reply.Masked, &m)
}

// request is the body of a poll, which announces what the client has of the live
// server: as it did in the recording, or else what came last, while more is to come.
func (p *poller) request(ctx context.Context, turn *replay.Turn, first bool) ([]byte, error) {
	body, err := p.client.plan.Body(ctx, turn.Poll)
	if err != nil {
		return nil, err
	}
	version := ""
	switch {
	case turn.Says == replay.HasNewest, turn.Says == replay.HasNothing && !first:
		p.taken = p.live
		version = p.taken
	case turn.Says == replay.HasOther:
		version = p.taken
		if p.live == "" { // it came by that before the recording
			version = decode.Peek(p.Method, session.Client, "", body).Version
		}
	}
	out, ok := edit.VersionOfPoll(body, version)
	if !ok {
		return nil, fmt.Errorf("its bytes are no poll")
	}
	return out, nil
}

// mostReply is the longest reply that is read.
const mostReply = 1 << 30

// poll polls once. The status is 0 if none came in the time that the recorded client
// gave.
func (p *poller) poll(ctx context.Context, turn *replay.Turn, first bool) (status int, ok bool) {
	body, err := p.request(ctx, turn, first)
	if err != nil {
		p.client.ledger.Note("entry %d is not said again: %v", turn.Poll, err)
		return 0, ctx.Err() == nil
	}
	wait := max(p.client.o.Idle, time.Duration(turn.Held())+replay.Grace)
	if turn.Reply.Status == 0 && turn.Reply.By == session.Client {
		wait = min(time.Duration(turn.Held()), p.client.o.Idle)
	}
	within, stop := context.WithTimeout(ctx, wait)
	defer stop()
	q, err := http.NewRequestWithContext(within, http.MethodPost, "http://xds"+p.Method.Path, bytes.NewReader(body))
	if err != nil {
		p.broken = err.Error()
		return 0, false
	}
	q.Host = p.client.o.Authority
	q.Header.Set("Content-Type", "application/json")
	p.client.ledger.Sent()
	w, err := p.http.Do(q)
	if err != nil {
		return 0, p.unreached(ctx, within, err)
	}
	defer w.Body.Close()
	p.client.ledger.Received()
	p.row.Begun = true
	body, err = read(w)
	if err != nil {
		return 0, p.unreached(ctx, within, err)
	}
	if w.StatusCode == http.StatusOK {
		p.receive(w.Header.Get("Content-Type"), body)
	}
	return w.StatusCode, true
}

// read reads a reply.
func read(w *http.Response) ([]byte, error) {
	var in io.Reader = w.Body
	if w.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = z
	}
	return io.ReadAll(io.LimitReader(in, mostReply))
}

// unreached takes an error of the transport. What nobody answers in time is one.
func (p *poller) unreached(ctx, within context.Context, err error) bool {
	switch {
	case ctx.Err() != nil:
		return false
	case within.Err() != nil, p.row.Begun:
		return true
	}
	p.broken = fmt.Sprintf("the server could not be asked: %v", err)
	failed := fmt.Errorf("%s", p.broken)
	p.client.failed.CompareAndSwap(nil, &failed)
	return false
}

// receive takes a content of the live server.
func (p *poller) receive(contentType string, data []byte) {
	m := decode.Peek(p.Method, session.Server, contentType, data)
	if len(m.Problems) > 0 {
		p.differ(replay.Difference{
			Expected: "a response of " + p.topic.Type, Got: "something else", Detail: replay.Bounded(m.Problems[0]),
		})
		return
	}
	p.live = m.Version
	p.contents.receive(&m)
}

// differ tells of a difference, once.
func (p *poller) differ(d replay.Difference) {
	if key := d.Expected + "\x00" + d.Got; !p.told[key] {
		p.told[key] = true
		d.Type, d.Names = p.topic.Type, replay.BoundedNames(p.Names)
		if d.Seq == 0 {
			d.Seq = p.Opened
		}
		p.client.ledger.Differ(p.Difference(d))
	}
}

// compareStatus holds the status of a reply against that of the recorded one.
func (p *poller) compareStatus(turn *replay.Turn, status int) {
	r := &turn.Reply
	good := func(s int) bool { return s == http.StatusOK || s == http.StatusNotModified }
	d := replay.Difference{Seq: turn.Poll, Expected: fmt.Sprintf("status %d", r.Status), Got: fmt.Sprintf("status %d", status)}
	if status == 0 {
		d.Got = "no answer"
	}
	switch {
	case r.Status == 0, good(r.Status) && good(status):
	case good(r.Status), r.Told() && r.Status != status:
		p.differ(d)
	case r.Told():
		p.row.Matched++
	}
}

// compare completes the row, and tells what contents did not come, or came
// unexpectedly.
func (p *poller) compare() {
	ctx := context.Background()
	for i := range p.Turns {
		turn := &p.Turns[i]
		switch {
		case turn.Reply.News, turn.Reply.Told():
			p.row.Expected++
		}
		if p.row.ToSend++; turn.Reply.News && !slices.Contains(p.news, turn) {
			p.expect(ctx, turn)
		}
	}
	if !p.row.Begun {
		p.client.ledger.Differ(p.Difference(replay.Difference{
			Seq: p.Opened, Expected: "an answer to polls for " + p.topic.Type, Got: "none", Type: p.topic.Type, Detail: p.broken,
		}))
		return
	}
	wrong := map[int]bool{}
	for _, m := range p.contents.mismatches() {
		d, same := p.role.explain(ctx, p.topic, m)
		if same {
			continue
		}
		if m.expected != nil {
			wrong[m.expected.response] = true
		}
		p.client.ledger.Differ(p.Difference(d))
	}
	p.row.Matched += len(p.news) - len(wrong)
}
