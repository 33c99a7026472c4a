package settings

import (
	"io"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// Check says what run would refuse. That there is no upstream is no fault
// of who asks for settings.
func (ss *Settings) Check(con *console.Console) error {
	if _, err := ss.Dumps(); err != nil {
		return err
	}
	if _, err := ss.Archive(); err != nil {
		return err
	}
	if _, err := ss.Held(); err != nil {
		return err
	}
	if len(ss.Listeners) > 0 || len(ss.upstream) > 0 {
		_, err := ss.Pairs(con)
		return err
	}
	if err := ss.settlePair(); err != nil {
		return err
	}
	return ss.pairTable().unused([]proxy.Pair{{ListenTLS: ss.pair.listenTLS(), UpstreamTLS: ss.pair.dialTLS()}})
}

// WouldTake says what is wrong with the text of a configuration file, apart from
// flags and the environment.
func WouldTake(text []byte, path string) error {
	ss := New()
	ss.Path = path
	doc, err := parseConfig(text)
	if err != nil {
		return err
	}
	if err := ss.takeFile(doc, path); err != nil {
		return err
	}
	return ss.Check(&console.Console{Stderr: io.Discard})
}
