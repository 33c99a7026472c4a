// Package capture reads and writes captures of packets: pcap and pcapng.
//
// Reading puts the bytes of each TCP connection in order and hands them to a tap of
// package wire, as the proxy does: what they mean is decided there. Of the
// connections, those count on which there is a stream of xDS. What a capture lacks
// is said: packets that are not in it, the beginning of a connection, what is TLS.
//
// Writing makes a capture in which each recorded connection is one of TCP, with
// HTTP/2 or HTTP/1.1 in it, as it may have been between the client and the server.
//
// A file may be hostile: what is kept of it is bounded by maxPacket, maxConns,
// maxAhead and the budget of the taps. The package opens nothing.
package capture
