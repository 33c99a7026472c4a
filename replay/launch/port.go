package launch

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that systems do not give to connections by themselves: Linux gives those
// from 32768, others those from 49152.
const (
	firstPort = 10000
	lastPort  = 32767
)

// FreePort is an address of this machine that nobody listens on. It may be taken
// before somebody else binds it; that is unlikely, since most systems give such a port
// only to who asks for it.
func FreePort() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort+1)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
