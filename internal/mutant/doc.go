// Package mutant changes recordings, for the tests of whoever reads them. Raw
// changes bytes as a bad disk does, and the checksums are wrong then. Sound
// changes what a recording says, as an enemy does who knows the format: it is
// compressed again and all checksums are right, so that what was changed gets
// through to the decoder and to all who trust it.
//
// The package knows the format by itself, as docs/format.md has it: what it
// writes must not depend on what the recorder would write.
package mutant
