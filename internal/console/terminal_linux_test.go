package console

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// atTerminal is a console of a terminal, and what has come to its far end.
func atTerminal(t *testing.T) (c *Console, shown func() string) {
	t.Helper()
	for _, v := range []string{"XDSPROXY_PAGER", "PAGER", "LESS", "NO_COLOR", "CLICOLOR_FORCE"} {
		t.Setenv(v, "")
	}
	t.Setenv("TERM", "xterm")
	far, near := terminal.Pair(t)
	came := make(chan string, 1)
	go func() { // a terminal that nobody reads takes but little
		defer close(came)
		for in := bufio.NewReader(far); ; {
			text, err := in.ReadString('\a')
			if err != nil {
				return
			}
			came <- strings.TrimSuffix(text, "\a")
		}
	}()
	return &Console{Ctx: t.Context(), Stdin: near, Stdout: near, Stderr: near}, func() string {
		if _, err := near.WriteString("\a"); err != nil {
			t.Fatal(err)
		}
		return <-came
	}
}

// A terminal is one behind whatever stands before it, and has a width and colour.
func TestTerminal(t *testing.T) {
	c, _ := atTerminal(t)
	near := c.Stdout.(*os.File)
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, s := range []struct {
		name   string
		stream any
		is     bool
	}{
		{"itself", near, true},
		{"a pipe of ours", Pipe{near}, true},
		{"standard error", &Stderr{W: near}, true},
		{"a pager", paged{io.Discard, Pipe{near}}, true},
		{"a pager of a pager", paged{io.Discard, near}, true},
		{"a file", Pipe{file}, false},
		{"no file", &bytes.Buffer{}, false},
		{"a pager without a terminal", paged{near, &bytes.Buffer{}}, false},
	} {
		columns := 0
		if s.is {
			columns = 100
		}
		c := &Console{}
		if w, is := s.stream.(io.Writer); is {
			c.Stdout = w
		}
		if IsTerminal(s.stream) != s.is || c.Columns() != columns || c.Colourful() != s.is {
			t.Errorf("%s: %v, %d columns, colour %v", s.name, IsTerminal(s.stream), c.Columns(), c.Colourful())
		}
	}
	for _, e := range []struct {
		name, value string
		want        bool
	}{{"TERM", "dumb", false}, {"TERM", "xterm", true}, {"NO_COLOR", "1", false}} {
		t.Setenv(e.name, e.value)
		if c.Colourful() != e.want {
			t.Errorf("with %s=%s: colour %v", e.name, e.value, !e.want)
		}
	}
}

// On a terminal long texts go through the pager that was chosen, and without one they
// are printed.
func TestPaging(t *testing.T) {
	c, shown := atTerminal(t)
	out := filepath.Join(t.TempDir(), "paged")
	for _, p := range []struct {
		name      string
		env       map[string]string
		size      int // of the text, in bytes
		paged     string
		said      string
		unprinted bool // it is known that nobody has read it
	}{
		{"none", nil, 4, "", "", false},
		{"cat", map[string]string{"PAGER": "cat"}, 4, "", "", false},
		{"a dumb terminal", map[string]string{"PAGER": "cat >OUT", "TERM": "dumb"}, 4, "", "", false},
		{"chosen", map[string]string{"PAGER": "cat >OUT"}, 4, "xxxx", "", false},
		{"chosen for us", map[string]string{"PAGER": "false", "XDSPROXY_PAGER": "cat >OUT; echo $LESS >>OUT"}, 4, "xxxxFRX\n", "", false},
		{"less as one likes it", map[string]string{"PAGER": "cat >OUT; echo $LESS >>OUT", "LESS": "R"}, 4, "xxxxR\n", "", false},
		{"left early", map[string]string{"PAGER": "head -c 3 >OUT"}, 1 << 20, "xxx", "", true},
		{"failed", map[string]string{"PAGER": "cat >OUT; exit 3"}, 4, "xxxx", "xdsproxy: warning: the pager cat >OUT; exit 3: exit status 3\r\nxdsproxy: hint: XDSPROXY_PAGER=cat prints without a pager\r\n", false},
		{"failed at once", map[string]string{"PAGER": "exit 3"}, 1 << 20, "", "xdsproxy: warning: the pager exit 3: exit status 3\r\nxdsproxy: hint: XDSPROXY_PAGER=cat prints without a pager\r\n", true},
	} {
		t.Run(p.name, func(t *testing.T) {
			_ = os.Remove(out)
			for name, value := range p.env {
				t.Setenv(name, strings.ReplaceAll(value, "OUT", out))
			}
			err := c.Paging(func(to io.Writer) error {
				if !IsTerminal(to) {
					t.Error("who prints cannot tell that there is a terminal")
				}
				_, err := io.WriteString(to, strings.Repeat("x", p.size))
				return err
			})
			if err != nil && !errors.Is(err, ErrClosedPipe) || (err != nil) != p.unprinted {
				t.Error(err)
			}
			b, _ := os.ReadFile(out)
			if string(b) != p.paged {
				t.Errorf("the pager got %.100q", b)
			}
			want := strings.ReplaceAll(p.said, "OUT", out)
			if p.paged == "" && want == "" {
				want = strings.Repeat("x", p.size)
			}
			if got := shown(); got != want {
				t.Errorf("it shows %.200q, want %q", got, want)
			}
		})
	}
	// What fails before the pager has ended is said, and not blamed on the pager.
	t.Setenv("PAGER", "cat >"+out)
	broken := errors.New("broken")
	if err := c.Paging(func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if got := shown(); got != "" {
		t.Errorf("it says %q", got)
	}
}

// On a terminal who waits sees how far a long work is, of the size of its file, unless he wants quiet.
func TestProgressOnTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, make([]byte, 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, of := range map[string]string{file: " of 3.9 KiB", filepath.Dir(file): "", file + "x": ""} {
		c, shown := atTerminal(t)
		p := c.Progress("reading", path, func() (int64, uint64) { return 1000, 7 })
		p.next = time.Time{}
		p.Look()
		p.End()
		want := "\r\x1b[Kreading 1000 B" + of + ", 7 entries, "
		if got := shown(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("%q, want %q", got, want)
		}
		c.Quiet = true
		if p := c.Progress("reading", path, nil); p.w != nil {
			t.Error("it speaks although it is to be quiet")
		}
	}
}
