// Package deploy holds the manifests that put xdsproxy into a cluster. As Go it is
// what the kubectl plugin prints of them, so that both are one text.
package deploy

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed sidecar/patch.yaml
	sidecar string
	//go:embed original-dst/patch.yaml
	originalDst string
)

// Sidecar is the patch of a pod template that puts a proxy beside a client, as a
// strategic merge. What it is given stands in it as it is: the caller has looked at
// it.
func Sidecar(image, upstream string) string {
	return fill(sidecar, "image: xdsproxy\n", "image: "+image+"\n", "control-plane.example:18000", upstream)
}

// OriginalDst is the patch that redirects what goes to a port to a proxy in the pod.
func OriginalDst(image, tables string, port int) string {
	return fill(originalDst,
		"image: xdsproxy\n", "image: "+image+"\n",
		"image: xdsproxy-iptables\n", "image: "+tables+"\n",
		`{name: XDS_PORT, value: "18000"}`, fmt.Sprintf(`{name: XDS_PORT, value: "%d"}`, port))
}

// fill replaces what the manifest has in the place of values, and takes the head
// off, by which kustomize knows what is patched.
func fill(manifest string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(manifest, pairs[i]) != 1 {
			panic("deploy: the manifest has not one " + pairs[i])
		}
	}
	manifest = strings.NewReplacer(pairs...).Replace(manifest)
	_, spec, _ := strings.Cut(manifest, "\nspec:\n")
	return "spec:\n" + spec
}
