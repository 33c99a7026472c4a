package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bom writes what is in a program for a platform, as the program says itself.
func (r *release) bom(p platform, program string) error {
	info, err := buildinfo.ReadFile(r.binary(p, program))
	if err != nil {
		return err
	}
	body, err := os.ReadFile(r.binary(p, program))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	sums, err := goSums(filepath.Join(r.source, "go.sum"))
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	main := cdx.Component{
		BOMRef: purl(info.Main.Path, r.version), Type: cdx.ComponentTypeApplication, Name: program, Version: r.version,
		PackageURL: purl(info.Main.Path, r.version) + "?goos=" + p.os + "&goarch=" + p.arch,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: &[]cdx.Property{{Name: "xdsproxy:commit", Value: settings["vcs.revision"]}},
	}
	components := []cdx.Component{{
		BOMRef: purl("std", info.GoVersion), Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")),
	}}
	needs := []string{components[0].BOMRef}
	for _, d := range info.Deps {
		c := cdx.Component{BOMRef: purl(d.Path, d.Version), Type: cdx.ComponentTypeLibrary, Name: d.Path, Version: d.Version, PackageURL: purl(d.Path, d.Version)}
		// h1: a hash of the module's file list, which go.sum holds a build to.
		h1, ok := sums[d.Path+" "+d.Version]
		if !ok {
			return fmt.Errorf("go.sum does not have %s %s", d.Path, d.Version)
		}
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: h1}}
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h1, "h1:"))
		if err != nil {
			return err
		}
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		components = append(components, c)
		needs = append(needs, c.BOMRef)
	}
	doc := cdx.NewBOM()
	doc.SerialNumber = serial(sum)
	doc.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &main}
	doc.Components = &components
	doc.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	f, err := os.Create(r.artefact(program + "_" + r.number() + "_" + p.String() + ".cdx.json"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(doc, cdx.SpecVersion1_5); err != nil {
		return err
	}
	return f.Close()
}

// serial is a UUID (version 8, RFC 9562) of the program's hash.
func serial(sum [32]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

func goSums(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 {
			sums[f[0]+" "+f[1]] = f[2]
		}
	}
	return sums, err
}
