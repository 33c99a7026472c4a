package format

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// MagicDescriptors is the frame of a part of the descriptors that a recording has
// with it. The parts follow the header, which says how many bytes they have
// together, and are one zstd frame, cut anywhere.
const MagicDescriptors = 0x184D2A5C

const (
	// MaxDescriptors bounds the descriptors of a recording, in bytes, and the parts
	// of them together.
	MaxDescriptors = 16 << 20
	// descriptorsPart is the longest part.
	descriptorsPart = MaxSkippable - CRCSize
)

var errTooLarge = errors.New("the descriptors are larger than 16 MiB")

// PackDescriptors is what a FileHeader has of descriptors.
func PackDescriptors(set []byte) (string, error) {
	if len(set) == 0 {
		return "", nil
	}
	if len(set) > MaxDescriptors {
		return "", errTooLarge
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer enc.Close()
	return string(enc.EncodeAll(set, nil)), nil
}

// UnpackDescriptors undoes PackDescriptors.
func UnpackDescriptors(packed []byte) ([]byte, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxDescriptors))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	set, err := io.ReadAll(io.LimitReader(dec, MaxDescriptors+1))
	if len(set) > MaxDescriptors {
		return nil, errTooLarge
	}
	return set, err
}

// appendDescriptors appends the frames of what is packed.
func appendDescriptors(b []byte, packed string) []byte {
	for len(packed) > 0 {
		n := min(len(packed), descriptorsPart)
		b = AppendSkippable(b, MagicDescriptors, []byte(packed[:n]))
		packed = packed[n:]
	}
	return b
}

// DescriptorsPart is what a part has, from the payload of its frame.
func DescriptorsPart(payload []byte) ([]byte, error) { return checked(payload) }
