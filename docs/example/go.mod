module example.org/nacks

go 1.26.0

require github.com/xdsproxy/xdsproxy v0.0.0

require (
	github.com/klauspost/compress v1.20.3 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/xdsproxy/xdsproxy => ../..
