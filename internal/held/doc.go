// Package held asks xDS clients what they hold: an Envoy by its admin endpoint, a
// gRPC program by its client status service (CSDS). What they say becomes one form,
// a ClientStatusResponse of package envoy.service.status.v3 with one ClientConfig, and
// of that only what changed is handed on, to the log. It judges nothing, and knows
// nothing of what was sent.
//
// Each source has one goroutine, which a Keeper starts and waits for. It asks at a
// slow pace, and soon after it was woken; never more often than once a second, nor
// for more than a tenth of the time.
//
// The resources of a client are told apart by type and name. What is said of one
// stands together and takes the place of all that was said of it before:
//
//	ACKED           it is in use; is_static_resource: and comes from no xDS server
//	REQUESTED       it is awaited; with xds_config: it is warming
//	NACKED          the last update failed, as error_state says; never with xds_config
//	DOES_NOT_EXIST  it is not there; with xds_config: it is draining
//
// What could not be read of a resource stands in error_state.details of an item that
// is not NACKED.
package held
