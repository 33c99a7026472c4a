package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// nonceless is a server that plays a fault of each stream, of one cause.
func nonceless(t *testing.T, times int) (*xdstest.ScriptedServer, plant) {
	p := plants(t)[0]
	return startScript(t, slices.Repeat([]xdstest.Part{p.server}, times)...), p
}

func playFault(t *testing.T, addr string, p plant) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := xdstest.PlayClient(ctx, addr, xdstest.SotWStream, p.client); err != nil {
		t.Fatal(err)
	}
}

// A dump that failed does not count: when its cause comes again, there is one, and
// then none any more.
func TestDumpAfterFailure(t *testing.T) {
	t.Parallel()
	server, fault := nonceless(t, 10_000)
	dir := filepath.Join(t.TempDir(), "dumps")
	p := startProxyWith(t, server.Addr(), setup{args: []string{"--dump-on", "error", "--dump-dir", dir, "--dump-every", "24h"}})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	playFault(t, p.addr, fault)
	p.stderr.find(t, regexp.MustCompile(`cannot write a dump`), p.exited)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a dump", func() bool {
		playFault(t, p.addr, fault)
		return strings.Contains(p.stderr.String(), "dumped the last minutes to ")
	})
	playFault(t, p.addr, fault)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := findDumped(t, dir); !slices.Equal(got, []string{fault.rule}) {
		t.Errorf("the dumps are of %q", got)
	}
}

// wrap writes dumps, too, of what its command was told.
func TestDumpOfWrapped(t *testing.T) {
	t.Parallel()
	server, fault := nonceless(t, 2)
	dir := filepath.Join(t.TempDir(), "dumps")
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.json")
	writeBootstrap(t, bootstrap, object{"xds_servers": []object{{"server_uri": server.Addr(), "channel_creds": []object{{"type": "insecure"}}}}})
	p, _ := startWrap(t, nil, "--bootstrap", bootstrap, "--dump-on", "response-nonce-missing", "--dump-dir", dir, "--", "sleep", "3600")
	playFault(t, p.addr, fault)
	playFault(t, p.addr, fault)
	p.stderr.find(t, regexp.MustCompile(`dumped the last minutes to `), p.exited)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(t); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	if got := findDumped(t, dir); !slices.Equal(got, []string{fault.rule}) {
		t.Errorf("the dumps are of %q", got)
	}
}

// A proxy that is asked to end while a dump is on its way finishes it; who asks
// twice does not wait for that. In both cases what is there is whole.
func TestDumpWhileEnding(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			server, fault := nonceless(t, 1)
			control, err := xdstest.StartControlPlane(xdstest.Options{Listen: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer control.Stop()
			dir := filepath.Join(t.TempDir(), "dumps")
			p := startProxyWith(t, server.Addr(), setup{args: []string{
				"--listen", freeAddr(t), "--upstream", control.Addr(), "--dump-on", "error", "--dump-dir", dir,
			}})
			loaded := p.stderr.find(t, regexp.MustCompile(`listening on (\S+), upstream `+regexp.QuoteMeta(control.Addr())), p.exited)[1]
			stop := underLoad(t, control, loaded)
			begun := func() bool { info, err := os.Stat(p.file); return err == nil && info.Size() > 64<<10 }
			eventually(t, "a recording with something in it", begun)
			playFault(t, p.addr, fault)
			for range signals {
				_ = p.cmd.Process.Signal(syscall.SIGTERM) // after the first it may have ended
				time.Sleep(time.Millisecond)              // two at once are one
			}
			p.ended(t)
			stop()
			got := findDumped(t, dir) // and nothing that is not finished
			unseen := strings.Contains(p.stderr.String(), "the rules had no time") || strings.Contains(p.stderr.String(), "could not be written")
			if !slices.Equal(got, []string{fault.rule}) && (len(got) > 0 || signals == 1 && !unseen) {
				t.Errorf("the dumps are of %q", got)
			}
		})
	}
}
