package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The screen of a proxy elsewhere compares what was sent, however often one looks,
// and while more and more is sent.
func TestScreenOfARunningProxy(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	px := startProxyWith(t, ads(t), setup{env: []string{"XDG_RUNTIME_DIR=" + home}})
	c := connect(t, px.addr)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				if c.ask() != nil {
					return
				}
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	sockets, err := filepath.Glob(filepath.Join(home, "xdsproxy", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("no socket for viewers: %v, %v", sockets, err)
	}
	p := newPane(t, 120, 30, "open", "unix:"+sockets[0])
	p.shows("caller")
	for range 12 {
		p.press("1")
		p.shows("[1 Clients]", "caller")
		p.press("d")
		compared := false
		for end := time.Now().Add(30 * time.Second); !compared && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			screen := p.screen()
			if strings.Contains(screen, "cannot show") || strings.Contains(screen, "cannot read") {
				t.Fatalf("it is not compared:\n%s", screen)
			}
			compared = strings.Contains(screen, "difference")
		}
		if !compared {
			t.Fatalf("nothing is compared:\n%s", p.screen())
		}
		p.press("q")
		p.shows("[1 Clients]")
	}
	p.press("q")
	p.ended()
}
