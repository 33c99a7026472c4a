package console

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
)

// spoken is a console, and what it said.
func spoken(t *testing.T) (c *Console, out, said *strings.Builder) {
	t.Helper()
	out, said = &strings.Builder{}, &strings.Builder{}
	return &Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: out, Stderr: said}, out, said
}

func TestConsoleSpeaks(t *testing.T) {
	c, out, said := spoken(t)
	c.Say("it is %s", "a\x1b[2J\nb")
	c.Warn("it is %d", 7)
	c.Quiet = true
	c.Say("nobody hears this")
	c.Warn("everybody does")
	c.Tell("%s", strings.Repeat("x", MaxSentence)+"y")
	want := "it is a\\x1b[2J\\nb\nxdsproxy: warning: it is 7\nxdsproxy: warning: everybody does\n" + strings.Repeat("x", MaxSentence) + "…\n"
	if said.String() != want || out.Len() > 0 {
		t.Errorf("it said %.300q", said)
	}
	said.Reset()
	c.Tell("%s", strings.Repeat("x", MaxSentence))
	if said.String() != strings.Repeat("x", MaxSentence)+"\n" {
		t.Errorf("a sentence that fits became one of %d bytes", said.Len())
	}
}

func TestConsolePrints(t *testing.T) {
	c, out, said := spoken(t)
	value, text := map[string]int{"a": 1}, func() string { return "a is 1\n" }
	for _, form := range []string{"json", "text", ""} {
		if err := c.Show(form, value, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Pairs([][2]string{{"long name", "x"}, {"none", ""}, {"n", "\x07y"}}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": 1\n}\na is 1\na is 1\nlong name  x\nn          \\ay\n"
	if out.String() != want || said.Len() > 0 {
		t.Errorf("it printed %q", out)
	}
	c.Stdout = badWriter{}
	if err := c.Print("x"); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// Colour is for who asks for it, else for a terminal, which this is not.
func TestColourful(t *testing.T) {
	for _, s := range []struct {
		color, force, none string
		want               bool
	}{
		{"always", "", "1", true}, {"never", "1", "", false}, {"", "", "", false}, {"auto", "1", "", true}, {"auto", "0", "", false}, {"", "yes", "1", true},
	} {
		t.Setenv("CLICOLOR_FORCE", s.force)
		t.Setenv("NO_COLOR", s.none)
		c, _, _ := spoken(t)
		c.Color = s.color
		if got := c.Colourful(); got != s.want || c.Style().Color != s.want || c.Columns() != 0 {
			t.Errorf("%+v: %t", s, got)
		}
	}
}

func TestFailures(t *testing.T) {
	inner := errors.New("inner")
	for _, f := range []*Failure{Failed("it: %w", inner), Misused("it: %w", inner), Misconfigured("it: %w", inner)} {
		if !errors.Is(f, inner) || f.Error() != "it: inner" || !Said(f) || f.Silent {
			t.Errorf("%+v", f)
		}
	}
	if f := Failed("x"); f.Code != 1 || f.Aloof {
		t.Errorf("%+v", f)
	}
	if f := Misused("x"); f.Code != 2 || f.Aloof {
		t.Errorf("%+v", f)
	}
	if f := Misconfigured("x"); f.Code != 2 || !f.Aloof {
		t.Errorf("%+v", f)
	}
	if f := Failed("x").Adding(hinted{}); len(f.Hints) != 1 || f.Hints[0] != "do this" {
		t.Errorf("%+v", f)
	}
	if f := Failed("x").Adding(inner); len(f.Hints) != 0 {
		t.Errorf("%+v", f)
	}
	if !Said(context.Canceled) || Said(inner) || ErrDifferences.(*Failure).Code != 11 {
		t.Error("what is said is not told from what is not")
	}
	f := Misused("wrong")
	f.Usage = "do IT"
	var b strings.Builder
	f.Hint("help").Print(&b)
	if b.String() != "xdsproxy: error: wrong\nusage: do IT\nxdsproxy: hint: help\n" {
		t.Errorf("%q", b.String())
	}
}

type hinted struct{}

func (hinted) Error() string { return "hinted" }
func (hinted) Hint() string  { return "do this" }

// Lines come within a moment without being closed, and all when it is; an error is
// told by what is called next.
func TestLazyWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got heard.Buffer // a timer writes
		l := NewLazyWriter(&got)
		write := func(text string) {
			if _, err := io.WriteString(l, text); err != nil {
				t.Error(err)
			}
		}
		is := func(want string) {
			t.Helper()
			if synctest.Wait(); got.String() != want {
				t.Errorf("%q, want %q", got.String(), want)
			}
		}
		for _, so := range []string{"", "one\ntwo\n"} { // a second moment begins with the next write
			write("one\n")
			time.Sleep(moment / 2)
			write("two\n")
			time.Sleep(moment/2 - 1)
			is(so)
			time.Sleep(time.Nanosecond)
			is(so + "one\ntwo\n")
		}
		write("end\n")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		is("one\ntwo\none\ntwo\nend\n")
		time.Sleep(2 * moment)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		is("one\ntwo\none\ntwo\nend\n")

		l = NewLazyWriter(badWriter{})
		write("x")
		time.Sleep(moment)
		synctest.Wait()
		if _, err := io.WriteString(l, "x"); !errors.Is(err, io.ErrShortWrite) {
			t.Error(err)
		}
		if err := l.Close(); !errors.Is(err, io.ErrShortWrite) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
	})
}

// Who waits for a file or a pipe is let go when the program is to end.
func TestReading(t *testing.T) {
	c, _, _ := spoken(t)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{3: "1234", 5: "12345", 9: "12345"} {
		if got, err := c.ReadFile(path, most); err != nil || string(got) != want {
			t.Errorf("of at most %d bytes it reads %q, %v", most, got, err)
		}
	}
	if _, err := c.ReadFile(path+"x", 9); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if got, err := io.ReadAll(c.Heedful(strings.NewReader("all"))); err != nil || string(got) != "all" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.Ctx = ctx
	never, w := io.Pipe()
	defer w.Close()
	in := c.Heedful(never)
	cancel()
	if _, err := io.ReadAll(in); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Without a terminal there is neither progress nor a pager.
func TestNobodyLooks(t *testing.T) {
	c, out, said := spoken(t)
	t.Setenv("XDSPROXY_PAGER", "false")
	p := c.Progress("reading", "/dev/null", func() (int64, uint64) {
		t.Error("somebody asks how far it is")
		return 0, 0
	})
	p.next = time.Time{}
	for range 600 {
		p.Advance()
	}
	p.End()
	if err := c.Paging(func(to io.Writer) error {
		_, err := io.WriteString(to, "text")
		return err
	}); err != nil || out.String() != "text" || said.Len() > 0 {
		t.Errorf("%q %q, %v", out, said, err)
	}
}

// The line says how far it is, and what is left, and goes away at the end.
func TestProgress(t *testing.T) {
	var b strings.Builder
	read, entries := int64(1000), uint64(1)
	p := &Progress{w: &b, verb: "reading", far: func() (int64, uint64) { return read, entries }, begun: time.Now().Add(-10 * time.Second), total: 3000}
	for range 255 {
		p.Advance()
	}
	p.End()
	if b.Len() > 0 {
		t.Errorf("it speaks too soon: %q", b.String())
	}
	p.Advance()
	if got := b.String(); !regexp.MustCompile("^\r\x1b\\[Kreading 1000 B of 2.9 KiB, 1 entry, \\d+ B/s, \\d+s left$").MatchString(got) {
		t.Errorf("%q", got)
	}
	b.Reset()
	for range 256 {
		p.Advance() // within the same moment
	}
	if b.Len() > 0 {
		t.Errorf("it speaks too often: %q", b.String())
	}
	p.next, read, entries = time.Time{}, 5000, 1234
	for range 256 {
		p.Advance()
	}
	if got := b.String(); !regexp.MustCompile("^\r\x1b\\[Kreading 4.9 KiB, 1,234 entries, \\d+ B/s$").MatchString(got) {
		t.Errorf("of more than was measured: %q", got)
	}
	b.Reset()
	p.End()
	if b.String() != "\r\x1b[K" {
		t.Errorf("%q", b.String())
	}
}

func TestCommand(t *testing.T) {
	if got := Command([]string{"envoy", "-c", "a b", "0-9AZaz/._-+:@%,=", "~", "{}"}); got != "envoy -c 'a b' 0-9AZaz/._-+:@%,= '~' '{}'" {
		t.Error(got)
	}
}
