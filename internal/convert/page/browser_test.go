package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// patience is how long a browser may take for anything.
const patience = 2 * time.Minute

// browser is a tab of a headless Chromium, and what it says.
type browser struct {
	*testing.T
	ctx  context.Context
	file string

	mu       sync.Mutex
	said     []string // console, exceptions, violations of the policy, dialogs
	requests []string
}

// newBrowser starts a browser. Without Chromium the test is skipped, or fails on a
// build machine.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed: run make chromium")
		}
		t.Skip("chromium is not installed: run make chromium")
	}
	b := &browser{T: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.ProxyServer("127.0.0.1:1"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	ctx, stopBrowser := chromedp.NewExecAllocator(ctx, options...)
	ctx, stopTab := chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(func() {
		stopTab()
		stopBrowser()
		stop()
	})
	b.ctx = ctx
	b.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// open opens a page from a file, for a test that may be a part of the browser's.
func (b *browser) open(t *testing.T, text string) *browser {
	t.Helper()
	b.T, b.file = t, filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(b.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate("about:blank"))
	b.mu.Lock()
	b.said, b.requests = nil, nil
	b.mu.Unlock()
	b.do(chromedp.Navigate("file://" + b.file))
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			b.said = append(b.said, string(a.Value))
		}
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		b.said = append(b.said, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// value is what an expression gives.
func value[T any](b *browser, js string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.Fatalf("%s: %v", js, err)
	}
	return v
}

// await waits until an expression is true.
func (b *browser) await(js string) {
	b.Helper()
	for !value[bool](b, js) {
		select {
		case <-b.ctx.Done():
			b.Fatalf("it never came that %s", js)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// quiet holds that nothing was said, and nothing but the file was asked for.
func (b *browser) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		b.Errorf("the browser says %q", b.said)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file://"+b.file) {
			b.Errorf("it asked for %s", url)
		}
	}
	if len(b.requests) == 0 {
		b.Error("it asked for nothing, not even the file")
	}
}

func (b *browser) media(kind, scheme string) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		b.Fatal(err)
	}
}

// The pages of recordings open, filter, show a message and a difference, draw the
// ladder, and print.
func TestPagesInBrowser(t *testing.T) {
	tab := newBrowser(t)
	for _, c := range []struct{ name, term string }{
		{"sessions/demo", "connect_timeout"},
		{"sessions/envoy-delta-nack", "cluster"},
		{"sessions/grpc-go-nack", "cluster"},
		{"systems/consul-nack", "cluster"},
		{"systems/istio-router-delta", "outbound"},
	} {
		t.Run(filepath.Base(c.name), func(t *testing.T) {
			w := &telling{all: read(t, c.name)}
			text := w.page(t, convert.Report{Program: "xdsproxy test", Source: "part.xdsp"}, usual())
			told := contentsOf(t, text)
			b := tab.open(t, text)

			if n := value[int](b, `document.querySelectorAll('#finding-list details.finding').length`); n != len(told.Findings) {
				t.Errorf("%d findings, want %d", n, len(told.Findings))
			}
			all := value[int](b, `document.querySelectorAll('#rows .row').length`)
			if all < min(10, len(told.Entries)/2) {
				t.Errorf("%d rows of %d entries", all, len(told.Entries))
			}

			// The filter, by what is in a message, and by kind.
			full := value[string](b, `document.getElementById('count').textContent`)
			b.do(chromedp.SendKeys(chromedp.CSS("#f-text"), c.term))
			b.await(fmt.Sprintf(`document.getElementById('count').textContent !== %q`, full))
			if some := value[string](b, `document.getElementById('count').textContent`); strings.HasPrefix(some, "0 ") {
				t.Errorf("%q finds %q", c.term, some)
			}
			b.do(chromedp.Click(chromedp.CSS("#filter button")))
			b.await(fmt.Sprintf(`document.getElementById('count').textContent === %q`, full))
			if rejects := slices.ContainsFunc(told.Entries, func(e entry) bool { return e.What == "NACK" }); rejects {
				value[bool](b, `(() => { const k = document.getElementById('f-kind'); k.value = 'NACK'; k.dispatchEvent(new Event('change')); return true })()`)
				if bad := value[int](b, `[...document.querySelectorAll('#rows .c-what')].filter((x) => !x.textContent.includes('NACK')).length`); bad > 0 {
					t.Errorf("%d rows are no NACK", bad)
				}
				value[bool](b, `(document.getElementById('filter').reset(), true)`)
				b.await(fmt.Sprintf(`document.getElementById('count').textContent === %q`, full))
			}

			// A message, by keys alone: the list, down to one, into it and back.
			b.do(chromedp.Focus(chromedp.CSS("#list")))
			b.do(chromedp.KeyEvent(kb.Home))
			for range 2 {
				b.do(chromedp.KeyEvent(kb.ArrowDown))
			}
			at := value[string](b, `document.getElementById('list').getAttribute('aria-activedescendant')`)
			if at != "row-2" || value[string](b, `document.getElementById('row-2').getAttribute('aria-selected')`) != "true" {
				t.Errorf("chosen is %q", at)
			}
			b.do(chromedp.KeyEvent(kb.Enter))
			b.await(`document.activeElement.id === 'detail'`)
			b.do(chromedp.KeyEvent(kb.Escape))
			b.await(`document.activeElement.id === 'list'`)

			// An entry with a message, and all of that.
			i := slices.IndexFunc(told.Entries, func(e entry) bool { return len(e.Parts) > 0 && e.Kind == "message" })
			value[bool](b, fmt.Sprintf(`(location.hash = '#%d', true)`, told.Entries[i].Seq))
			b.await(fmt.Sprintf(`document.querySelector('#detail h3').textContent.startsWith('%d ')`, told.Entries[i].Seq))
			before := value[int](b, `document.querySelectorAll('#detail li').length`)
			value[bool](b, `([...document.querySelectorAll('#detail button')].find((x) => x.textContent === 'Unfold all').click(), true)`)
			if after := value[int](b, `document.querySelectorAll('#detail li').length`); after < before || after < 4 {
				t.Errorf("unfolded it has %d lines, folded %d", after, before)
			}

			// Every finding, with its difference where there is one.
			value[bool](b, `(document.querySelectorAll('details').forEach((d) => { d.open = true }), true)`)
			want := 0
			for _, v := range told.Evidence {
				for _, r := range v.Resources {
					if len(r.Lines) > 0 {
						want++
					}
				}
			}
			b.await(fmt.Sprintf(`document.querySelectorAll('.diff').length === %d`, want))
			if strings.HasSuffix(c.name, "demo") && !strings.Contains(value[string](b, `document.querySelector('.diff .new').textContent`), "connect_timeout: 0s") {
				t.Error("the difference is not there")
			}

			// The ladder.
			value[bool](b, `(() => { const v = document.getElementById('f-view'); v.value = 'ladder'; v.dispatchEvent(new Event('change')); return true })()`)
			if n := value[int](b, `document.querySelectorAll('#rows .lane').length`); n == 0 {
				t.Error("there is no ladder")
			}

			pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
			if err != nil || !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 10_000 {
				t.Errorf("a PDF of %d bytes, %v", len(pdf), err)
			}
			if n := value[int](b, `document.querySelectorAll('#printed tr').length`); n != 0 {
				t.Errorf("%d lines are left of printing", n)
			}
			value[bool](b, `(dispatchEvent(new Event('beforeprint')), true)`)
			if n := value[int](b, `document.querySelectorAll('#printed tr').length`); n < 2 {
				t.Error("the timeline is not printed")
			}
			b.quiet()
		})
	}
}

// Nothing of what a reader has to see or to reach is missing for one who sees
// little, or has no mouse: names of what can be operated, order of headings, room,
// and the contrast that WCAG 2.2 asks for at level AA, by light, by dark, on paper,
// and on a telephone.
func TestPageForEveryone(t *testing.T) {
	b := newBrowser(t).open(t, (&telling{all: read(t, "sessions/demo")}).page(t, convert.Report{Source: "demo.xdsp"}, usual()))
	value[bool](b, `(location.hash = '#48', document.querySelectorAll('details').forEach((d) => { d.open = true }), true)`)
	b.await(`document.querySelector('#detail h3') !== null && document.querySelectorAll('.diff').length > 0`)
	for _, view := range []struct {
		width        int64
		kind, scheme string
	}{{1280, "screen", "light"}, {1280, "screen", "dark"}, {390, "screen", "light"}, {390, "screen", "dark"}, {800, "print", "light"}, {800, "print", "dark"}} {
		b.do(chromedp.EmulateViewport(view.width, 844))
		b.media(view.kind, view.scheme)
		if bad := value[[]string](b, contrast); len(bad) > 0 {
			t.Errorf("%+v: too little contrast: %q", view, bad)
		}
		if over := value[int](b, `document.documentElement.scrollWidth - innerWidth`); view.kind == "screen" && over > 0 {
			t.Errorf("%+v: %d columns are out of sight", view, over)
		}
	}
	b.media("", "light")
	b.do(chromedp.EmulateViewport(1280, 800))
	if bad := value[[]string](b, `[...document.querySelectorAll('input, select, button, [role=listbox], [role=search], section, [tabindex="0"]')].filter((e) =>
		!(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')).map((e) => e.outerHTML.slice(0, 80))`); len(bad) > 0 {
		t.Errorf("these have no name: %q", bad)
	}
	for id, want := range map[string]string{"#finding-1 > summary": "warning the client rejected a response fault of the server demo-envoy CDS 3 times at ", "#client-list summary": "demo-envoy scripted Envoy 2 streams, "} {
		if is := value[string](b, fmt.Sprintf(`document.querySelector(%q).textContent`, id)); !strings.HasPrefix(is, want) {
			t.Errorf("%s is read as %q", id, is)
		}
	}
	levels := value[[]int](b, `[...document.querySelectorAll('h1, h2, h3, h4')].filter((h) => !h.closest('#detail')).map((h) => Number(h.tagName[1]))`)
	if levels[0] != 1 || slices.Index(levels[1:], 1) >= 0 {
		t.Errorf("the headings are of levels %v", levels)
	}
	if dark, light := value[string](b, `(getComputedStyle(document.body).backgroundColor)`), ""; true {
		b.media("", "dark")
		if light = value[string](b, `getComputedStyle(document.body).backgroundColor`); dark == light {
			t.Errorf("by dark and by light it is %s", dark)
		}
	}
	b.do(chromedp.KeyEvent(kb.Tab))
	if width := value[string](b, `getComputedStyle(document.activeElement).outlineWidth`); width != "2px" {
		t.Errorf("what has the focus is framed by %s", width)
	}
	b.quiet()
}

// contrast lists the texts in sight that differ too little from what is behind them.
const contrast = `(() => {
	const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return n.length === 3 ? [...n, 1] : n; };
	const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
	const light = (c) => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return [255, 255, 255, 1]; };
	const bad = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let seen = 0;
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.checkVisibility() || ['SCRIPT', 'NOSCRIPT', 'OPTION'].includes(e.tagName)) continue;
		seen++;
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.add(ratio.toFixed(2) + ' ' + e.tagName + '.' + e.className + ' ' + walk.currentNode.data.slice(0, 30));
	}
	if (seen < 50) bad.add('only ' + seen + ' texts are in sight');
	return [...bad];
})()`

// evil is put wherever a peer chooses a text. If any of it is code or markup, it
// says so.
const evil = `EVIL</script><script>window.ran=1;console.log('ran')</script><img src=x onerror="window.ran=1"><!--<script>` +
	"\u2028window.ran=1\u2029" + `'"` + "`${window.ran=1}`" + `<svg onload=window.ran=1>&lt;&#60;javascript:window.ran=1 <a href="javascript:window.ran=1">` + "\u202e\x1b[2J\x00\xff]]>{{ran}} __proto__"

// hostile is a recording of which the peers are.
func hostile(t testing.TB) *telling {
	t.Helper()
	all := read(t, "sessions/grpc-go-nack")
	for i := range all {
		e := &all[i]
		if e.Peer != nil {
			e.Peer = &session.Peer{Client: evil, Listen: evil, Upstream: evil, Local: evil, ClientTLS: &session.TLS{ServerName: evil, Identities: []string{evil}, Issuer: evil, ALPN: evil}}
		}
		if e.Method != "" && i > len(all)/2 {
			e.Method = evil
		}
		if e.Status != nil {
			e.Status.Message = evil
		}
		if e.GoAway != nil {
			e.GoAway.Debug = evil
		}
		if e.Message != nil { // a field that nobody knows, with a text in it
			m := *e.Message
			field := append([]byte{0xfa, 0x3e, byte(0x80 | len(evil)&0x7f), byte(len(evil) >> 7)}, evil...)
			m.Data = session.Chunks{append(slices.Clone(m.Data.Bytes()), field...)}
			e.Message = &m
		}
		e.Problems = []string{evil}
		for j := range e.Headers {
			e.Headers[j].Name, e.Headers[j].Value = evil, e.Headers[j].Value+evil
		}
	}
	all = append(all, session.Entry{
		Seq: all[len(all)-1].Seq + 1, Time: all[len(all)-1].Time, Kind: session.KindNote,
		Note: &session.Note{Code: session.NoteStatic, Text: fmt.Sprintf("[%q]", "EVIL</script><script>window.ran=1</script>"), Hint: evil},
	})
	return &telling{all: all, change: taint, found: func(all []check.Finding) {
		for i := range all {
			taintFinding(&all[i])
		}
	}}
}

func taint(c *check.Change) {
	if c.Client != "" {
		c.Client = evil
	}
	if c.Node != nil {
		n := *c.Node
		n.ID, n.UserAgent, n.UserAgentVersion, n.Cluster = evil, evil, evil, evil
		c.Node = &n
	}
	if c.Type != "" {
		c.Type = evil
	}
	c.Added, c.Removed = append(c.Added, evil), append(c.Removed, evil)
	if m := c.Message; m != nil {
		own := *m
		own.Version, own.Nonce, own.TypeURL = evil, evil, evil
		own.Names = append(own.Names[:len(own.Names):len(own.Names)], evil)
		own.Problems = []string{evil}
		own.Resources = append(own.Resources[:0:0], own.Resources...)
		for i := range own.Resources {
			own.Resources[i].Name = evil
		}
		if own.Error != nil {
			e := *own.Error
			e.Message = evil
			own.Error = &e
		}
		c.Message = &own
	}
	for i := range c.Findings {
		taintFinding(&c.Findings[i])
	}
}

func taintFinding(f *check.Finding) {
	f.Client, f.Type, f.Message, f.Names = evil, evil, evil, []string{evil, evil}
}

// What peers chose is text, wherever it stands, and runs nothing.
func TestHostileTextInBrowser(t *testing.T) {
	o := convert.Report{Program: evil, Source: evil, Chosen: evil}
	o.Facts.Program = evil
	text := hostile(t).page(t, o, usual())
	if n := strings.Count(text, "EVIL"); n < 100 {
		t.Fatalf("it is there %d times", n)
	}
	if rest := strings.Replace(text, dataOf(t, text), "", 1); strings.Contains(rest, "EVIL") {
		t.Error("it is outside of the data")
	}
	b := newBrowser(t).open(t, text)
	elements := `document.querySelectorAll('img, svg, iframe, object, embed, form:not(#filter), [onerror], [onload], [style*="url"], a:not([href^="#"]), script:not([id]) ~ script').length`
	check := func(where string) {
		t.Helper()
		if n := value[int](b, elements); n > 0 {
			t.Errorf("%s: %d elements are made of text", where, n)
		}
		if value[bool](b, `'ran' in window || 'ran' in {}`) {
			t.Errorf("%s: it ran", where)
		}
		if value[bool](b, `/[\u202e\u2028\u2029\u001b\u0000]/.test(document.body.innerText)`) {
			t.Errorf("%s: what is not printable is passed on", where)
		}
	}
	check("opened")
	value[bool](b, `(document.querySelectorAll('details').forEach((d) => { d.open = true }), true)`)
	b.await(`document.querySelectorAll('.advice').length === document.querySelectorAll('details.finding').length`)
	seqs := contentsOf(t, text).Entries
	for _, e := range seqs {
		value[bool](b, fmt.Sprintf(`(location.hash = '#%d', true)`, e.Seq))
		b.await(fmt.Sprintf(`document.querySelector('#detail h3')?.textContent.startsWith('%d ')`, e.Seq))
		value[bool](b, `(document.querySelectorAll('#detail button').forEach((x) => x.textContent === 'Unfold all' && x.click()), document.querySelectorAll('#detail details').forEach((d) => { d.open = true }), true)`)
	}
	check("each entry opened")
	if n := value[int](b, `document.body.innerText.split('EVIL').length`); n < 20 {
		t.Errorf("it can be read %d times", n)
	}
	for _, id := range []string{"f-client", "f-type"} {
		value[bool](b, fmt.Sprintf(`(() => { const s = document.getElementById(%q); s.selectedIndex = s.options.length - 1; s.dispatchEvent(new Event('change')); return true })()`, id))
	}
	value[bool](b, `(() => { const v = document.getElementById('f-view'); v.value = 'ladder'; v.dispatchEvent(new Event('change')); return true })()`)
	b.do(chromedp.SendKeys(chromedp.CSS("#f-text"), "evil</script>"))
	value[bool](b, `(dispatchEvent(new Event('beforeprint')), true)`)
	check("filtered, drawn and printed")
	b.quiet()

	// The policy holds even where a script of the page itself were wrong.
	for _, js := range []string{
		`document.body.innerHTML = '<img src=x onerror="window.ran=1">'`,
		`document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran=1'}))`,
	} {
		if !value[bool](b, `(() => { try { `+js+`; return !('ran' in window) } catch (e) { return true } })()`) {
			t.Errorf("%s ran", js)
		}
	}
}

// A name of 10 KB is cut in the middle where it is a heading, and stands in full where
// an entry is.
func TestLongNamesInBrowser(t *testing.T) {
	long := "BEGIN" + strings.Repeat("x", 10_000) + "END"
	all := func(f *check.Finding) { f.Client, f.Names = long, []string{long, long} }
	w := &telling{all: read(t, "sessions/grpc-go-nack"), change: func(c *check.Change) {
		if c.Client != "" {
			c.Client = long
		}
		for i := range c.Findings {
			all(&c.Findings[i])
		}
	}, found: func(found []check.Finding) {
		for i := range found {
			all(&found[i])
		}
	}}
	b := newBrowser(t).open(t, w.page(t, convert.Report{}, usual()))
	value[bool](b, `(document.querySelectorAll('details').forEach((d) => { d.open = true }), true)`)
	b.await(`document.querySelectorAll('.advice').length > 0`)
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 844))
		if high := value[[]int](b, `[...document.querySelectorAll('summary, h4, .advice dd')].map((e) => e.offsetHeight).filter((n) => n > 400)`); len(high) > 0 {
			t.Errorf("%d columns: these are %v high", width, high)
		}
	}
	if text := value[string](b, `document.querySelector('.advice dd').textContent`); !strings.HasPrefix(text, "BEGINxx") || !strings.Contains(text, "xxEND, BEGINxx") {
		t.Errorf("the names are %.400q", text)
	}
	b.do(chromedp.Focus(chromedp.CSS("#list")))
	b.do(chromedp.KeyEvent(kb.End))
	b.await(`document.querySelector('#detail dl').textContent.includes('x'.repeat(10000) + 'END')`)
	b.quiet()
}

// Of a session with more than there is room for the file stays under 10 MB, and says
// what is missing. More than 10,000 messages open, scroll and filter; how fast,
// docs/report.md says, and here it is only written down.
func TestManyMessages(t *testing.T) {
	const entries = 18_000
	text := (&telling{all: many(t, entries)}).page(t, convert.Report{}, usual())
	c := contentsOf(t, text)
	messages := 0
	for _, e := range c.Entries {
		if e.Message != nil {
			messages++
		}
	}
	if len(text) > 10_000_000 || messages < 10_000 || len(c.LeftOut) == 0 {
		t.Errorf("%d messages in %d bytes; %d times some are left out", messages, len(text), len(c.LeftOut))
	}
	t.Run("in a browser", func(t *testing.T) {
		b := newBrowser(t).open(t, text)
		took := value[float64](b, `performance.getEntriesByType('navigation')[0].loadEventEnd`)
		t.Logf("%d messages, %d bytes: open after %.0f ms", messages, len(text), took)
		if n := value[int](b, `document.getElementsByTagName('*').length`); n > 5000 {
			t.Errorf("it has %d elements at once", n)
		}
		value[bool](b, fmt.Sprintf(`(() => { const l = document.getElementById('list'); l.scrollTop = %d; return true })()`, firstSum(c)*28))
		b.await(`document.querySelectorAll('#rows .sum').length > 0`)
		value[bool](b, `(() => { const l = document.getElementById('list'); l.scrollTop = l.scrollHeight; return true })()`)
		b.await(fmt.Sprintf(`[...document.querySelectorAll('#rows .c-seq')].some((x) => x.textContent === '%d')`, entries))
		filtered := value[float64](b, `(() => { const from = performance.now(); const f = document.getElementById('f-text'); f.value = 'connect_timeout 0s'; document.getElementById('filter').requestSubmit(); return performance.now() - from })()`)
		t.Logf("%s after %.0f ms", value[string](b, `document.getElementById('count').textContent`), filtered)
		b.quiet()
	})
}

// firstSum is about how many lines come before the first one that says what is left
// out.
func firstSum(c *contents) int {
	return slices.IndexFunc(c.Entries, func(e entry) bool { return e.Seq > c.LeftOut[0].First })
}
