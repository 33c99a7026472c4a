package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/deploy"
)

// A way is how clients come to a proxy. It writes what is to be pasted.
type way struct {
	kinds []string // of what is patched
	write func(o *options, to target) (string, error)
}

var workloads = []string{"deployment", "daemonset", "statefulset"}

func ways() map[string]way {
	return map[string]way{
		"istio":         {workloads, insertIstio},
		"istio-tls":     {workloads, insertIstioTLS},
		"envoy-gateway": {[]string{"envoyproxy"}, insertEnvoyGateway},
		"contour":       {workloads, insertContour},
		"consul":        {workloads, insertConsul},
		"sidecar":       {workloads, insertSidecar},
		"original-dst":  {workloads, insertOriginalDst},
	}
}

func insert(o *options) (string, error) {
	if len(o.rest) > 0 {
		return "", misused("insert does not know %s", o.rest[0])
	}
	if len(o.words) != 2 {
		return "", misused("insert takes a way and one KIND/NAME, such as istio deploy/web")
	}
	w, known := ways()[o.words[0]]
	if !known {
		return "", misused("%q is no way in", o.words[0])
	}
	to, err := parseTarget(o.words[1])
	if err != nil {
		return "", err
	}
	for _, k := range w.kinds {
		if k == to.kind {
			return w.write(o, to)
		}
	}
	return "", misused("%s wants a %s, and not a %s", o.words[0], strings.Join(w.kinds, ", "), to.kind)
}

// A sheet is text for a shell: what is said stands in comments.
type sheet struct{ strings.Builder }

func (s *sheet) say(format string, args ...any) {
	for l := range strings.Lines(fmt.Sprintf(format, args...)) {
		s.WriteString(strings.TrimRight("# "+l, " \n") + "\n")
	}
}

func (s *sheet) step(n int, format string, args ...any) {
	s.WriteString("\n")
	s.say("%d. "+format, append([]any{n}, args...)...)
}

func (s *sheet) out(format string, args ...any) {
	s.WriteString("\n")
	s.say("To take it out again: "+format, args...)
}

func (s *sheet) run(argv []string) { s.WriteString(line(argv) + "\n") }

// patch is a patch of the target in JSON.
func (s *sheet) patch(o *options, to target, kind string, patch any) {
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // it consists of maps and strings
	}
	s.run(o.kubectl("patch", to.kind, to.name, "--type", kind, "-p", string(text)))
}

// patchText is a strategic merge patch in YAML, which the shell hands over.
func (s *sheet) patchText(o *options, to target, yaml string) {
	fmt.Fprintf(s, "%s <<'XDSPROXY'\n%sXDSPROXY\n", line(o.kubectl("patch", to.kind, to.name, "--type", "strategic", "--patch-file", "/dev/stdin")), yaml)
}

type object = map[string]any

func template(o object) object { return object{"spec": object{"template": o}} }

func annotations(a object) object { return template(object{"metadata": object{"annotations": a}}) }

const istioConfig = "proxy.istio.io/config"

func insertIstio(o *options, to target) (string, error) {
	s := &sheet{}
	s.say("Sends the istio-agents of %s to the xdsproxy at %s. Nothing is applied until you paste it.\nThe proxy has to be there: kubectl apply -k deploy/overlays/istio", to, o.proxy)
	s.say("The token of the agent crosses the network in the clear on this way. istio-tls hides it.")
	s.present(o, to, istioConfig)
	s.step(2, "Put it in. The pods are replaced, one after the other.")
	s.patch(o, to, "merge", annotations(object{istioConfig: "discoveryAddress: " + o.proxy + "\ncontrolPlaneAuthPolicy: NONE\n"}))
	s.out("the pods are replaced once more.")
	s.patch(o, to, "merge", annotations(object{istioConfig: nil}))
	return s.String(), nil
}

// present looks whether annotations are there that would be replaced.
func (s *sheet) present(o *options, to target, names ...string) {
	s.step(1, "This has to print nothing. Else there is such an annotation, which step 2 would replace: merge them by hand.")
	var paths strings.Builder
	for _, name := range names {
		paths.WriteString("{.spec.template.metadata.annotations." + strings.ReplaceAll(name, ".", `\.`) + "}")
	}
	s.run(o.kubectl("get", to.kind, to.name, "-o", "jsonpath="+paths.String()))
}

func insertIstioTLS(o *options, to target) (string, error) {
	const userVolume, userMount = "sidecar.istio.io/userVolume", "sidecar.istio.io/userVolumeMount"
	s := &sheet{}
	s.say("Sends the istio-agents of %s to the xdsproxy at %s, by TLS. Nothing is applied until you paste it.\nThe proxy has to be there, with its authority: deploy/README.md, and kubectl apply -k deploy/overlays/istio-tls", to, o.proxy)
	s.present(o, to, istioConfig, userVolume, userMount)
	s.step(2, "The certificate of the authority, for the agents. ca.pem is the file in the Secret xdsproxy-ca.")
	s.run(o.kubectl("create", "configmap", "xdsproxy-ca", "--from-file=ca.pem"))
	s.step(3, "Put it in. The pods are replaced, one after the other.")
	s.patch(o, to, "merge", annotations(object{
		istioConfig: "discoveryAddress: " + o.proxy + "\nproxyMetadata:\n  XDS_ROOT_CA: /etc/xdsproxy-ca/ca.pem\n",
		userVolume:  `[{"name":"xdsproxy-ca","configMap":{"name":"xdsproxy-ca"}}]`,
		userMount:   `[{"name":"xdsproxy-ca","mountPath":"/etc/xdsproxy-ca","readOnly":true}]`,
	}))
	s.out("the pods are replaced once more.")
	s.patch(o, to, "merge", annotations(object{istioConfig: nil, userVolume: nil, userMount: nil}))
	s.run(o.kubectl("delete", "configmap", "xdsproxy-ca"))
	return s.String(), nil
}

// The names by which Envoy Gateway's Envoys know it.
var gatewayNames = []string{"envoy-gateway", "envoy-gateway.envoy-gateway-system.svc.cluster.local"}

func insertEnvoyGateway(o *options, to target) (string, error) {
	s := &sheet{}
	s.say("Sends the Envoys that %s configures to xdsproxy. Nothing is applied until you paste it.\nThe proxy has to be there: kubectl apply -k deploy/overlays/envoy-gateway", to)
	s.say("Envoy Gateway lets nobody change where its Envoys look for it. So the name of it leads to\nthe proxy, in the hosts file of their pods. Wasm code, which they fetch from the same name at\nanother port, does not come meanwhile.")
	s.step(1, "This has to print nothing. Else the Deployment is patched already, and step 2 would replace that: merge them by hand.")
	s.run(o.kubectl("get", to.kind, to.name, "-o", "jsonpath={.spec.provider.kubernetes.envoyDeployment.patch}"))
	s.step(2, "Put it in. Envoy Gateway replaces the pods.")
	const address = "XDSPROXY-ADDRESS"
	text, err := json.Marshal(object{"spec": object{"provider": object{"type": "Kubernetes", "kubernetes": object{"envoyDeployment": object{"patch": object{
		"type":  "StrategicMerge",
		"value": template(object{"spec": object{"hostAliases": []object{{"ip": address, "hostnames": gatewayNames}}}}),
	}}}}}})
	if err != nil {
		return "", err
	}
	ask := *o
	ask.namespace = "envoy-gateway-system"
	patch := line(o.kubectl("patch", to.kind, to.name, "--type", "merge", "-p", string(text)))
	fmt.Fprintf(s, "address=$(%s) && [ -n \"$address\" ] &&\n  %s\n",
		line(ask.kubectl("get", "service", "xdsproxy", "-o", "jsonpath={.spec.clusterIP}")),
		strings.Replace(patch, address, `'"$address"'`, 1))
	s.step(3, "Look whether it works with your version of Envoy Gateway. An address with a dot at its end\n(svc.cluster.local.) is not looked for in a hosts file, and the proxy gets no connection.")
	s.WriteString(line(ask.kubectl("get", "deployment", "-l", "app.kubernetes.io/managed-by=envoy-gateway", "-o", "yaml")) + " | grep 'address: envoy-gateway'\n")
	s.out("Envoy Gateway replaces the pods once more.")
	s.patch(o, to, "merge", object{"spec": object{"provider": object{"kubernetes": object{"envoyDeployment": object{"patch": nil}}}}})
	return s.String(), nil
}

func insertContour(o *options, to target) (string, error) {
	s := &sheet{}
	s.say("Sends the Envoys of %s to xdsproxy. Nothing is applied until you paste it.\nThe proxy has to be there: kubectl apply -k deploy/overlays/contour", to)
	s.say("The patch tests that the container that writes Envoy's bootstrap is the first init\ncontainer, and what its arguments are; where they differ, nothing is changed.")
	const args = "/spec/template/spec/initContainers/0/args/"
	swap := func(from, to [2]string) []object {
		ops := []object{{"op": "test", "path": "/spec/template/spec/initContainers/0/name", "value": "envoy-initconfig"}}
		for i := range from {
			path := args + []string{"2", "3"}[i]
			ops = append(ops, object{"op": "test", "path": path, "value": from[i]}, object{"op": "replace", "path": path, "value": to[i]})
		}
		return ops
	}
	direct, through := [2]string{"--xds-address=contour", "--xds-port=8001"}, [2]string{"--xds-address=xdsproxy", "--xds-port=18000"}
	s.step(1, "Put it in. The pods are replaced, one after the other.")
	s.patch(o, to, "json", swap(direct, through))
	s.out("the pods are replaced once more.")
	s.patch(o, to, "json", swap(through, direct))
	return s.String(), nil
}

func insertSidecar(o *options, to target) (string, error) {
	if o.upstream == "" || o.image == "" {
		return "", misused("sidecar needs --upstream, where the control plane listens, and --image, with xdsproxy in it; none is published yet")
	}
	s := &sheet{}
	s.say("Puts an xdsproxy into the pods of %s, in front of %s. Nothing is applied until you paste it.\nThe client in the pod has to look for its control plane at 127.0.0.1:18000, in plaintext.", to, o.upstream)
	s.inPod(o, to, deploy.Sidecar(o.image, o.upstream), nil)
	return s.String(), nil
}

func insertOriginalDst(o *options, to target) (string, error) {
	if o.image == "" || o.tables == "" {
		return "", misused("original-dst needs --image, with xdsproxy in it, and --iptables-image; none is published yet")
	}
	s := &sheet{}
	s.say("Puts an xdsproxy into the pods of %s, and redirects to it what goes to port %d. Nothing is applied until you paste it.\nThe client is to speak plaintext there, by IPv4. An init container has NET_ADMIN.", to, o.xdsPort)
	s.inPod(o, to, deploy.OriginalDst(o.image, o.tables, o.xdsPort), nil)
	return s.String(), nil
}

func insertConsul(o *options, to target) (string, error) {
	if o.image == "" || o.tables == "" {
		return "", misused("consul needs --image, with xdsproxy in it, and --iptables-image; none is published yet")
	}
	s := &sheet{}
	s.say("Puts an xdsproxy into the pods of %s, and redirects to it what consul-dataplane sends to port 8502 of the servers.\nNothing is applied until you paste it. For Consul without TLS (global.tls.enabled: false). An init container has NET_ADMIN.", to)
	s.inPod(o, to, deploy.OriginalDst(o.image, o.tables, 8502), [][2]string{
		{"consul.hashicorp.com/transparent-proxy-exclude-uids", "65532"},
		{"consul.hashicorp.com/transparent-proxy-exclude-inbound-ports", "18990"},
	})
	return s.String(), nil
}

// inPod puts a proxy into a pod, with annotations for what else is in it.
func (s *sheet) inPod(o *options, to target, patch string, notes [][2]string) {
	n := 1
	var without object
	if len(notes) > 0 {
		var names []string
		without = object{}
		meta := "spec:\n  template:\n    metadata:\n      annotations:\n"
		for _, a := range notes {
			names, without[a[0]] = append(names, a[0]), nil
			meta += fmt.Sprintf("        %s: %q\n", a[0], a[1])
		}
		patch = strings.Replace(patch, "spec:\n  template:\n", meta, 1)
		s.present(o, to, names...)
		n++
	}
	s.step(n, "The token of viewers, if the Secret is not there yet.")
	s.WriteString(line(o.kubectl("create", "secret", "generic", "xdsproxy-viewer")) + ` --from-literal=token="$(openssl rand -hex 16)"` + "\n")
	s.step(n+1, "Put it in. The pods are replaced, one after the other.")
	s.patchText(o, to, patch)
	s.step(n+2, "Look.")
	look := []string{"kubectl", "xds", "status"}
	s.run(append(append(look, o.kubectl()[1:]...), to.String()))
	s.out("the pods are replaced once more.")
	removed := func(names ...string) (list []object) {
		for _, name := range names {
			if strings.Contains(patch, "- name: "+name+"\n") {
				list = append(list, object{"$patch": "delete", "name": name})
			}
		}
		return list
	}
	undo := object{"spec": object{
		"initContainers": removed("xdsproxy-redirect", "xdsproxy"),
		"volumes":        removed("xdsproxy-state", "xdsproxy-tmp", "xdsproxy-viewer", "xdsproxy-run"),
	}}
	if without != nil {
		undo["metadata"] = object{"annotations": without}
	}
	s.patch(o, to, "strategic", template(undo))
}
