// Package csds answers in the words of client status discovery
// (envoy.service.status.v3) what clients asked for, were sent and accepted. It asks
// the account of internal/engine, and keeps none of its own. It keeps no contents of
// resources either: it reads them from the recording when it is asked. What the
// recording does not have any more is left out.
//
// It says what the traffic proves. What a client does by itself, such as giving up
// waiting for a resource, is not in it: internal/held asks the client for that.
package csds
