// Package standalone makes the bootstrap of an Envoy that asks nobody: what a client
// accepted stands in it, each resource where Envoy would have asked for it.
//
//	RDS    in place of rds, with virtual hosts of VHDS in it
//	SRDS   as the list of a scoped_rds, with their routes in them
//	EDS    as the load_assignment of a cluster, which becomes STATIC, or STRICT_DNS
//	       where an address is a name; LEDS in their localities
//	ECDS   in place of a config_discovery
//	SDS    as static secrets, named by who uses them
//	RTDS   as layers of the runtime
//
// What has no place is left out, and a sentence says so. It reads no recordings: what
// was accepted comes from its caller. It puts nothing in the place of masks.
package standalone
