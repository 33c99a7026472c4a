package objects_test

import "github.com/minio/minio-go/v7"

var removeOptions = minio.RemoveObjectOptions{}
