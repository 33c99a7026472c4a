// Package recorder keeps the log of a session: Append takes entries from the
// relay, a goroutine writes them to a file, and a Reader gives them back, from
// a file that is finished as well as from one that is still growing.
//
// Append never waits: for no disk, no compressor, no reader. What does not fit
// into the bounded queue is dropped, and a Gap entry says so. What a Reader
// sees has passed Options.Transform, which is where secrets are masked: nothing
// else reads the queue.
//
// The package refuses to know what a message means. It knows no xDS, judges
// nothing, and opens no connection.
//
// # Format, version 0
//
// A recording is a sequence of zstd frames (RFC 8878), so that `zstd -dc`
// prints the bytes of all entries. Numbers of fixed width are little-endian;
// times are nanoseconds since the Unix epoch; each crc is the CRC-32C of the
// payload before it. Skippable frames are at most 64 KiB long. A reader passes
// over skippable frames it does not know, over what a header holds between the
// fields it knows and the crc, and over entry fields it does not know.
//
//	file   = header { block } [ end ]
//	header = skippable frame 0x184D2A58: "xdsp" version:u32 fields crc:u32
//	block  = skippable frame 0x184D2A59 (the block header), zstd frame
//	end    = skippable frame 0x184D2A5A: entries:u64 last_seq:u64 crc:u32
//
// The fields of the file header are in protocol buffer wire format: 1 created
// (sfixed64), 2 program (string), 3 masked (bool). A block header holds
//
//	compressed:u64 uncompressed:u64 entries:u64
//	first_seq:u64 last_seq:u64 min_time:i64 max_time:i64 crc:u32
//
// where compressed is the length of the zstd frame that follows. That frame
// has a checksum and decompresses to entries, each preceded by its length as a
// varint. A block is the unit of loss: it is there as a whole, or it counts as
// not written. The end frame is written by a regular Close and nothing follows
// it.
//
// An entry is a protocol buffer message. Fields that are zero are left out.
//
//	 1 seq       varint
//	 2 time      sfixed64
//	 3 start     sfixed64
//	 4 conn      varint
//	 5 stream    varint
//	 6 h2        varint
//	 7 side      varint
//	 8 kind      varint
//	 9 peer      1 client, 2 listen, 3 upstream, 4 local
//	10 method    string
//	11 headers   repeated: 1 name, 2 value
//	12 status    1 code (sint), 2 message, 3 reset, 4 was_reset, 5 http
//	13 message   1 size, 2 wire_size, 3 encoding, 4 compressed, 5 masked, 6 truncated, 7 hash
//	14 goaway    1 last_stream, 2 code, 3 debug
//	15 gap       1 first, 2 last, 3 entries, 4 bytes, 5 streams (packed)
//	16 note      1 code, 2 text, 3 hint
//	17 problems  repeated string
//	18 data      bytes of the message, after all other fields
package recorder
