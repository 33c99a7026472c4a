package xds

// Variant is the shape of a conversation, as the machine-readable forms name
// it.
type Variant string

// The variants. An empty Variant means that the method is not known, because
// the headers of the stream were lost.
const (
	VariantSotwADS  Variant = "sotw-ads"
	VariantDeltaADS Variant = "delta-ads"
	VariantSotw     Variant = "sotw"
	VariantDelta    Variant = "delta"
	VariantREST     Variant = "rest"
	VariantFile     Variant = "file"
	VariantLRS      Variant = "lrs"
	VariantCSDS     Variant = "csds"
	VariantOther    Variant = "other"
)

// Variants lists them.
func Variants() []Variant {
	return []Variant{
		VariantSotwADS, VariantDeltaADS, VariantSotw, VariantDelta, VariantREST,
		VariantFile, VariantLRS, VariantCSDS, VariantOther,
	}
}

// ADS says whether all types share the stream.
func (v Variant) ADS() bool { return v == VariantSotwADS || v == VariantDeltaADS }

// Delta says whether responses have changes only.
func (v Variant) Delta() bool { return v == VariantDelta || v == VariantDeltaADS }

// Discovery says whether it is one of the four variants of discovery on gRPC.
func (v Variant) Discovery() bool {
	return v.ADS() || v.Delta() || v == VariantSotw
}
