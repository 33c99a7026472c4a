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
		Short: "Make a recording of a capture, a log of gRPC, or an edited folder",
		Long: `Makes a recording of what a gRPC program has written of its own calls: its
binary log, as gRPC for Go and for Java write it where GRPC_BINARY_LOG_FILTER
says so and the program has a sink for it. Calls that are not of xDS are left
out, and secrets are masked.

Such a log has the headers and messages of each call. Connections, resets and
how messages were compressed are not in it: calls of one authority count as one
connection. Messages must be logged whole, as with the filter * or {h;m}.

Or of a capture of packets, pcap or pcapng, as tcpdump and Wireshark write it:
the bytes of each connection of TCP are read as the proxy reads them. Connections
without xDS are left out. Where packets are missing, a gap entry says so; where
the capture begins in the middle of a connection, methods and header fields from
before are unknown. TLS cannot be read; what tshark has decrypted can:

  tshark -r leg.pcap -o tls.keylog_file:keys.txt \
    -o tls.desegment_ssl_application_data:FALSE \
    -U 'OSI layer 7' -w decrypted.pcapng

FILE is - for standard input.

DIR is a folder that xdsproxy export -o dir has written and that may have been
edited since. What was not edited keeps its bytes. What was is encoded from its
text: a value in a file of resources/, a field of an entry in session.yaml. In
session.yaml entries can also be deleted, put in another order, copied, or added
without a seq, and a resource can be another file: "@file" says which. Keys such
as "@unknown" and "@value" hold in base64 what could not be decoded.

Every entry that differs has a remark in the recording, at its end. If anything
cannot be encoded, all of it is listed with file and line, and nothing is
written. Secrets that were masked stay masked; what is typed in is not masked.`,
		Example: `# A program in which grpc/binarylog.SetSink was called
GRPC_BINARY_LOG_FILTER='*' ./client
xdsproxy import /tmp/grpcgo_binarylog_123.txt -w client.xdsp
xdsproxy check client.xdsp

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
