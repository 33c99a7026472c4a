package objects

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const (
	schemeS3   = "s3://"
	schemeFile = "file://"
	schemeGCS  = "gs://" // which has another API, too
)

// Is says whether name is the URL of something that Open opens, or says how it is
// opened.
func Is(name string) bool {
	return strings.HasPrefix(name, schemeS3) || strings.HasPrefix(name, schemeFile) || strings.HasPrefix(name, schemeGCS)
}

// Open opens the store that a URL names, and says which key within it the URL has:
// "" or one that ends in / for everything below. No network is asked for that, and
// nothing has to be there yet.
//
// In s3:// everything behind the bucket is taken as it stands, as other programs
// do; in file:// %41 is an A, as in any file URL.
func Open(name string, o Options) (Store, string, error) {
	where, key, err := split(name)
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(name, schemeFile) {
		s, key, err := openDir(where, o)
		if err != nil {
			return nil, "", err
		}
		return s, key, nil
	}
	s, err := openBucket(where, o)
	if err != nil {
		return nil, "", err
	}
	return s, key, nil
}

// Check says what of a URL Open would refuse, and looks at nothing.
func Check(name string) error {
	_, _, err := split(name)
	return err
}

// split is the bucket and the key that a URL names, or a path.
func split(name string) (where, key string, err error) {
	switch {
	case strings.HasPrefix(name, schemeS3):
		bucket, key, _ := strings.Cut(strings.TrimPrefix(name, schemeS3), "/")
		if err := checkBelow(name, key); err != nil {
			return "", "", err
		}
		if strings.Contains(bucket, "@") {
			// What is before it may be a secret: it is not repeated.
			return "", "", &Error{What: "an s3:// URL takes no credentials: BUCKET has an @", Hint: hintCredentials}
		}
		if err := s3utils.CheckValidBucketName(bucket); err != nil {
			return "", "", &Error{What: fmt.Sprintf("%q cannot be the name of a bucket", printable(bucket)), Hint: "s3://BUCKET/PREFIX/ has 3 to 63 letters, digits, dots and hyphens as BUCKET"}
		}
		return bucket, key, nil
	case strings.HasPrefix(name, schemeFile):
		host, path, _ := strings.Cut(strings.TrimPrefix(name, schemeFile), "/")
		if host != "" && host != "localhost" {
			return "", "", &Error{
				What: fmt.Sprintf("%s names the machine %s, and files of other machines cannot be read", printable(name), printable(host)),
				Hint: "a path begins with a third slash: file:///var/archive/",
			}
		}
		path, err := url.PathUnescape(path)
		if err != nil || strings.ContainsRune(path, 0) {
			return "", "", &Error{What: fmt.Sprintf("%s is not a URL: a %% has to be followed by two hexadecimal digits", printable(name)), Hint: "write %25 for a % in a path"}
		}
		return "/" + path, "", nil
	}
	hint := "s3://BUCKET/PREFIX/ and file:///DIR/ are"
	if behind, is := strings.CutPrefix(name, schemeGCS); is {
		hint = fmt.Sprintf("GCS speaks the API of S3: name it s3://%s, with AWS_ENDPOINT_URL=https://storage.googleapis.com, AWS_REGION=auto and an HMAC key as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", printable(behind))
	}
	return "", "", &Error{What: fmt.Sprintf("%s is not the URL of a store", printable(name)), Hint: hint}
}

// checkBelow refuses a key in a URL that no object can have.
func checkBelow(name, key string) error {
	if key == "" || plain(strings.TrimSuffix(key, "/")) {
		return nil
	}
	return &Error{What: fmt.Sprintf("%s has a key that is not a plain path", printable(name)), Hint: "s3://BUCKET/PREFIX/ has no empty parts, and none that are . or .."}
}
