package objects

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/ini.v1"
)

// surroundings are what the environment of AWS says of a store that speaks S3: its
// variables, and the profile in ~/.aws/config.
type surroundings struct {
	endpoint *url.URL // nil for AWS
	region   string
	bundle   string // file with the certificates to trust
	// trailers says that bodies are sent with a checksum behind them.
	trailers bool
}

// maxConfig bounds ~/.aws/config.
const maxConfig = 1 << 20

func readSurroundings() (surroundings, error) {
	var s surroundings
	profile := readProfile()
	first := func(key string, names ...string) string {
		for _, name := range names {
			if v := os.Getenv(name); v != "" {
				return v
			}
		}
		return profile[key]
	}
	s.region = first("region", "AWS_REGION", "AWS_DEFAULT_REGION")
	s.bundle = first("ca_bundle", "AWS_CA_BUNDLE")
	// The default of AWS's own programs is when_supported, and there it means what
	// their bodies need. Ours are signed with their SHA-256, which a server that
	// verifies signatures verifies, and which those know that refuse trailers.
	switch v := strings.ToLower(first("request_checksum_calculation", "AWS_REQUEST_CHECKSUM_CALCULATION")); v {
	case "", "when_required":
	case "when_supported":
		s.trailers = true
	default:
		return s, &Error{What: fmt.Sprintf("AWS_REQUEST_CHECKSUM_CALCULATION is %s", printable(v)), Hint: "it can be when_required or when_supported"}
	}
	if strings.EqualFold(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return s, nil
	}
	endpoint := first("endpoint_url", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	if endpoint == "" {
		return s, nil
	}
	u, err := url.Parse(endpoint)
	if strings.Contains(endpoint, "@") {
		// What is before it may be a secret: it is not repeated.
		return s, &Error{What: "AWS_ENDPOINT_URL has an @: it takes no credentials", Hint: hintCredentials}
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, &Error{What: fmt.Sprintf("AWS_ENDPOINT_URL is %s, which is not an address of a server", printable(endpoint)), Hint: "it looks like https://s3.example.com, or http://127.0.0.1:9000"}
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return s, &Error{What: fmt.Sprintf("AWS_ENDPOINT_URL is %s, and only a server and its port can be given", printable(endpoint)), Hint: "the bucket belongs into the s3:// URL"}
	}
	s.endpoint = u
	return s, nil
}

// readProfile is what ~/.aws/config says of the profile; nothing if it cannot be
// read, as for AWS's own programs.
func readProfile() map[string]string {
	path := os.Getenv("AWS_CONFIG_FILE")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(home, ".aws", "config")
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil
	}
	file, err := ini.LoadSources(ini.LoadOptions{Loose: true, AllowNestedValues: true, SkipUnrecognizableLines: true}, path)
	if err != nil {
		return nil
	}
	section := "default"
	if name := os.Getenv("AWS_PROFILE"); name != "" && name != "default" {
		section = "profile " + name
	}
	found, err := file.GetSection(section)
	if err != nil {
		return nil
	}
	return found.KeysHash()
}
