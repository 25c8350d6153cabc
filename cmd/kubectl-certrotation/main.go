// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// The program kubectl-certrotation is the kubectl plugin "kubectl certrotation".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"certrotation.dev/cmd/kubectl-certrotation/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := app.Run(ctx, app.Config{Streams: streams}, os.Args[1:])
	stop()
	os.Exit(code)
}
