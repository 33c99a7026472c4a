package settings

import (
	"errors"
	"net"
	"os"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// Values of --viewer that are no addresses.
const (
	ViewerOn  = "on"
	ViewerOff = "off"
)

// viewerAddr is on, off or an address.
type viewerAddr string

func (v *viewerAddr) String() string { return string(*v) }
func (v *viewerAddr) Type() string   { return "ADDR|on|off" }
func (v *viewerAddr) Set(s string) error {
	switch strings.ToLower(s) {
	case "on", "true", "yes":
		*v = ViewerOn
	case "off", "false", "no":
		*v = ViewerOff
	default:
		addr, err := proxy.ParseAddr(s)
		if err != nil {
			return errors.New("neither on nor off, nor host:port or unix:/path")
		}
		if strings.HasPrefix(addr.Address, "@") {
			return errors.New("anybody on this machine may connect to an abstract socket; name a path")
		}
		*v = viewerAddr(s)
	}
	return nil
}

// LocalAddr is an address, or "" for none. Without a host it is of loopback.
type LocalAddr string

func (v *LocalAddr) Type() string { return "ADDR|off" }
func (v *LocalAddr) String() string {
	if *v == "" {
		return "off"
	}
	return string(*v)
}

func (v *LocalAddr) Set(s string) error {
	switch strings.ToLower(s) {
	case "", "off", "false", "no":
		*v = ""
		return nil
	}
	addr, err := proxy.ParseAddr(s)
	if err != nil {
		return errors.New("neither off, nor host:port, :port or unix:/path")
	}
	if port, only := strings.CutPrefix(addr.Address, ":"); only && addr.Network == "tcp" {
		addr.Address = net.JoinHostPort("127.0.0.1", port)
	}
	*v = LocalAddr(addr.String())
	return nil
}

// maxToken is the longest token that is read, in bytes.
const maxToken = 4 << 10

// ViewerToken is the token of viewer endpoints, ours or another's; "" if nobody
// said one. It is in no error.
func (ss *Settings) ViewerToken() (string, error) {
	token, from := os.Getenv(serve.TokenVariable), serve.TokenVariable
	if path := ss.ViewerTokenFile; path != "" {
		f, err := os.Open(path)
		if err != nil {
			return "", console.Misconfigured("cannot read the token: %w", err)
		}
		defer f.Close()
		text := make([]byte, maxToken)
		n, err := f.Read(text)
		if err != nil {
			return "", console.Misconfigured("cannot read the token of %q: %w", path, err)
		}
		token, from = string(text[:n]), path
	}
	token = strings.TrimSpace(token)
	if len(token) >= maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", console.Misconfigured("the token in %s is none: it has to be one word of plain characters", from)
	}
	return token, nil
}
