package decode

import "github.com/xdsproxy/xdsproxy/internal/xds"

// Method and Variant are those of package xds, under the names by which some
// callers still know them; so is all else in this file.
type (
	Method  = xds.Method
	Variant = xds.Variant
)

const (
	VariantSotwADS  = xds.VariantSotwADS
	VariantDeltaADS = xds.VariantDeltaADS
	VariantSotw     = xds.VariantSotw
	VariantDelta    = xds.VariantDelta
	VariantREST     = xds.VariantREST
	VariantFile     = xds.VariantFile
	VariantLRS      = xds.VariantLRS
	VariantCSDS     = xds.VariantCSDS
	VariantOther    = xds.VariantOther
)

func LookupMethod(path string) Method { return xds.LookupMethod(path) }

func TypeName(typeURL string) string { return xds.TypeName(typeURL) }

func ShortType(typeURL string) string { return xds.ShortType(typeURL) }

func TypeKey(typeURL string) string { return xds.TypeKey(typeURL) }

func TypeURL(word string) string { return xds.TypeURL(word) }
