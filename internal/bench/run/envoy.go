package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// envoyProgram is where make envoy puts it.
const envoyProgram = ".tools/envoy/envoy/_bin/envoy"

// envoyConfig forwards HTTP/2 and does nothing else: no log, no retry, no
// request id, no header of its own, no limit that a load could meet.
const envoyConfig = `static_resources:
  listeners:
  - name: in
    address: {socket_address: {address: %[1]q, port_value: %[2]s}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          codec_type: HTTP2
          generate_request_id: false
          stream_idle_timeout: 0s
          http2_protocol_options:
            max_concurrent_streams: 1024
            initial_stream_window_size: 1048576
            initial_connection_window_size: 16777216
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: out, timeout: 0s}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              dynamic_stats: false
              suppress_envoy_headers: true
  clusters:
  - name: out
    type: STATIC
    connect_timeout: 5s
    circuit_breakers:
      thresholds: [{max_connections: 1000000, max_pending_requests: 1000000, max_requests: 1000000}]
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config:
          http2_protocol_options:
            initial_stream_window_size: 1048576
            initial_connection_window_size: 16777216
    load_assignment:
      cluster_name: out
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {socket_address: {address: %[3]q, port_value: %[4]s}}
`

func envoy(_ *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	upHost, upPort, err := net.SplitHostPort(upstream)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, envoyConfig, host, port, upHost, upPort), 0o644); err != nil {
		return nil, err
	}
	return exec.Command(envoyProgram, "-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"), nil
}
