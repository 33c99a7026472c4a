// Command oldclient is a client of gRPC for Go 1.61: "oldclient TARGET" connects, and
// closes its channel at the first line of standard input. The program goes on.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/xds"
	"google.golang.org/grpc/xds/csds"
)

func main() {
	// It holds the xDS client, as any other user of it in a program does.
	if _, err := csds.NewClientStatusDiscoveryServer(); err != nil {
		log.Fatal(err)
	}
	cc, err := grpc.Dial(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	cc.Connect()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for s := cc.GetState(); s != connectivity.Ready && s != connectivity.TransientFailure; s = cc.GetState() {
		if !cc.WaitForStateChange(ctx, s) {
			log.Fatal("nothing happens")
		}
	}
	fmt.Println("connected")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_ = cc.Close()
		fmt.Println("closed")
	}
}
