package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/export"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newImport(a *cli) *cobra.Command {
	path := ""
	cmd := a.command(&cobra.Command{
		Use:   "import FILE|DIR -w OUT",
		Short: "Make a recording of what other programs wrote, or of a folder",
		Long: `Makes a recording of a file of another program. The beginning of the file tells
which kind it is. Secrets are masked.

  capture         packets, pcap or pcapng, as tcpdump and Wireshark write them
  binary log      what a gRPC program has written of its own calls, as gRPC for
                  Go and Java do where GRPC_BINARY_LOG_FILTER says so and the
                  program has a sink for it. Messages must be logged whole, as
                  with the filter * or {h;m}
  grpc-dump       the lines of grpc-dump, of bradleyjkemp/grpc-tools
  config_dump     what an Envoy holds, as its admin endpoint says it at
                  /config_dump (?include_eds for endpoints, too), or as istioctl
                  proxy-config all -o json passes it on
  CSDS in JSON    a ClientStatusResponse: what one or several clients hold
  istiod's dump   /debug/config_dump?proxyID=ID: what istiod would send now, and
                  not what anybody holds

Logs and dumps of calls have headers and messages, and no connections or resets:
calls of one authority count as one connection. Calls that are not of xDS are
left out.

What a client holds becomes one entry of kind held. Its time is when the client
last updated anything, as it says itself, or else the time of the file. status,
tree and show read it; diff holds it against what the client accepted. What
istiod would send becomes responses, like those of a file that Envoy reads.

Of a capture, the bytes of each connection of TCP are read as the proxy reads
them. Connections without xDS are left out. Where packets are missing, a gap
entry says so; where the capture begins in the middle of a connection, methods
and header fields from before are unknown. TLS cannot be read; what tshark has
decrypted can:

  tshark -r leg.pcap -o tls.keylog_file:keys.txt \
    -o tls.desegment_ssl_application_data:FALSE \
    -U 'OSI layer 7' -w decrypted.pcapng

FILE is - for standard input.

DIR is a folder that xdsproxy export -o dir has written and that may have been
edited since. What was not edited keeps its bytes. What was edited is encoded
from its text: a value in a file of resources/, a field of an entry in
session.yaml. In session.yaml entries can also be deleted, put in another order,
copied, or added without a seq, and a resource can be another file: "@file" says
which. Keys such as "@unknown" and "@value" hold in base64 what could not be
decoded.

Every entry that differs has a remark in the recording, at its end. If anything
cannot be encoded, all of it is listed with file and line, and nothing is
written. Secrets that were masked stay masked; what is typed in is not masked.`,
		Example: `# A program in which grpc/binarylog.SetSink was called
GRPC_BINARY_LOG_FILTER='*' ./client
xdsproxy import /tmp/grpcgo_binarylog_123.txt -w client.xdsp
xdsproxy check client.xdsp

# What does this Envoy hold, and is that what it accepted?
curl -s 'localhost:9901/config_dump?include_eds' >dump.json
xdsproxy import dump.json -w dump.xdsp
xdsproxy tree dump.xdsp
xdsproxy diff session.xdsp dump.xdsp gw-0

# What passes on the port of a control plane without TLS
tcpdump -i any -B 32768 -w leg.pcap tcp port 18000
xdsproxy import leg.pcap -w leg.xdsp

# A folder of xdsproxy export -o dir
xdsproxy import gw -w edited.xdsp`,
	}, func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misused("import needs a FILE or a DIR")
		case len(args) > 1:
			return misused("one FILE at a time, but got %d", len(args))
		case path == "" || path == "-":
			return misused("import needs -w OUT: where is the recording to go?")
		}
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			return export.ImportFolder(cmd.Context(), a.console(), args[0], path)
		}
		return export.ImportFile(a.console(), args[0], path)
	})
	cmd.Flags().VarP(settings.NewText(&path, "OUT"), "write", "w", "write the recording to this file, which must not exist yet")
	return cmd
}
