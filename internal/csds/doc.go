// Package csds answers in the words of client status discovery
// (envoy.service.status.v3) what clients asked for, were sent and accepted. It asks
// the account of internal/engine, and keeps none of its own. What resources consist
// of it reads from the recording when it is asked, so that nothing is kept for that
// either. What the recording does not have any more is left out.
//
// It says what the traffic proves. What a client does by itself, such as giving up
// waiting for a resource, is not in it: that, internal/held asks the client.
package csds
