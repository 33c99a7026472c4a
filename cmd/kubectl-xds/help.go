package main

const help = `Looks at an xdsproxy in a cluster, and prints what puts one in.

Usage:
  kubectl xds watch  [flags] KIND/NAME [flags of xdsproxy watch]
  kubectl xds open   [flags] KIND/NAME [flags of xdsproxy open]
  kubectl xds status [flags] KIND/NAME [flags of xdsproxy status]
  kubectl xds insert WAY [flags] KIND/NAME

watch, open and status forward the viewer port of the proxy with kubectl
port-forward, and run the xdsproxy of this machine with it. So do check, info,
show and tree. Whatever is no flag of this plugin goes to xdsproxy, and so does
what follows --. Its exit code is that of xdsproxy. The end of kubectl
port-forward, as when a pod is replaced, is mended: it is started again.

insert applies nothing. It prints the commands that send clients through a
proxy, and those that take it out again. WAY is one of:

  istio          an annotation for istio-agent, to the plaintext port of istiod
  istio-tls      the same with TLS; the agent has to trust a certificate more
  envoy-gateway  KIND/NAME is the EnvoyProxy of the gateway: envoyproxy/NAME
  contour        KIND/NAME is what runs Contour's Envoys: ds/envoy
  consul         a proxy in the pod, for Consul without TLS
  sidecar        a proxy in the pod; the client's bootstrap has to lead to it
  original-dst   a proxy in the pod, which the client does not know of

Examples:
  kubectl xds watch -n xdsproxy deploy/xdsproxy
  kubectl xds watch -n xdsproxy deploy/xdsproxy --filter kind:nack
  kubectl xds open -n shop deploy/web
  kubectl xds insert istio -n shop deploy/web

Flags:
  -n, --namespace NAME      the namespace of KIND/NAME
      --context NAME        the context of kubectl
      --kubeconfig FILE     the configuration of kubectl
      --port N              where --viewer listens in the pod (default 18999)
      --token-secret NAME   the Secret whose key "token" is the viewer's token
                            (default xdsproxy-viewer); it is not read if
                            XDSPROXY_VIEWER_TOKEN or --viewer-token-file says it
      --wait DURATION       how long to wait for the proxy (default 30s)
  -h, --help                print this help

Flags of insert:
      --proxy HOST:PORT     where clients reach the proxy (default
                            xdsproxy.xdsproxy.svc:18000; istio, istio-tls)
      --upstream HOST:PORT  the control plane (sidecar)
      --xds-port N          the port of the control plane (default 18000;
                            original-dst)
      --image NAME          an image with /usr/bin/xdsproxy (consul, sidecar,
                            original-dst); none is published yet
      --iptables-image NAME an image with sh and iptables (consul, original-dst)

It needs kubectl and, to look, xdsproxy, both in PATH.
`
