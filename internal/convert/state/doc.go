// Package state makes a recording of what a client holds at one time, as an Envoy says
// it at /config_dump, istioctl proxy-config passes it on, or a program says it by CSDS
// in JSON: one entry of kind held for each client, or a few where it is very long.
//
// What istiod says at its own /debug/config_dump has the same form and is something
// else: what it would send to a client now, whatever that holds. It becomes responses,
// as a client would read them from files, and no client is said to hold them.
//
// The time of a state is the last time at which the client says that anything changed,
// or else that of the file. Package configdump reads, and bounds what it reads.
package state
