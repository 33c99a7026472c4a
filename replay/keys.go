package replay

type keys struct{}

func newKeys() *keys { return &keys{} }

func (k *keys) renew(b []byte) ([]byte, []string) { return b, nil }
