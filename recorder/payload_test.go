package recorder

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/xdsproxy/xdsproxy/session"
)

// clusterText is something like a resource of a response; all have the same
// length.
func clusterText(i int) string {
	name := fmt.Sprintf("outbound|8080||service-%06d.namespace-%03d.svc.cluster.local", i, i%200)
	return "\x12\xdb\x02\n,type.googleapis.com/envoy.config.cluster.v3.Cluster\x12\xaa\x02" +
		"\n?" + name + "\x1aM\n\x04\n\x02\x1a\x00\x12?" + name + "\x22\x02\x08\x05R\x0c\x1a\x03\x08\x80\x20\x22\x03\x08\x80\x20" +
		"\xe2\x01@xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
}

// clusters makes n bytes of resources that differ in little more than their
// names.
func clusters(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		b.WriteString(clusterText(i))
	}
	return b.Bytes()[:n]
}

// chunked cuts a payload as a socket would.
func chunked(b []byte) session.Chunks {
	var c session.Chunks
	for len(b) > 16<<10 {
		c, b = append(c, b[:16<<10]), b[16<<10:]
	}
	return append(c, b)
}

// noise is what cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(b)
	return b
}
