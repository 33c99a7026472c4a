package objects

import (
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// chain asks the usual places for credentials, in the order of AWS's own programs:
// the environment, a web identity, the files in ~/.aws, and what a container or
// the machine is given.
func chain() *credentials.Credentials {
	return credentials.New(&provider{client: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}})
}

// provider is a chain that has an error where nobody has credentials: to send the
// request unsigned would say that access was denied.
type provider struct {
	client *http.Client
	from   credentials.Provider
}

func (p *provider) IsExpired() bool { return p.from == nil || p.from.IsExpired() }

func (p *provider) Retrieve() (credentials.Value, error) { return p.RetrieveWithCredContext(nil) }

func (p *provider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	for _, from := range p.places() {
		v, err := from.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			p.from = from
			return v, nil
		}
	}
	p.from = nil
	return credentials.Value{}, ErrNoCredentials
}

// places are those that may have some. That of the machine is asked by network,
// and only where nothing says not to.
func (p *provider) places() []credentials.Provider {
	machine := &credentials.IAM{Client: p.client}
	out := []credentials.Provider{&credentials.EnvAWS{}}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		out = append(out, machine)
	}
	out = append(out, &credentials.FileAWSCredentials{})
	container := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	if len(out) == 2 && (container || !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true")) {
		out = append(out, machine)
	}
	return out
}
