// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command certrotation is the one binary of the system: the aggregated API server with the guard, the controller, what runs
// on nodes for it (installer, prune), and what works before or without an API server (render, sign-csr, doctor, recover).
package main

import (
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the log format json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"certrotation.dev/cmd/certrotation/app"
	"certrotation.dev/cmd/certrotation/app/undumpable"
)

func main() {
	// A process that cannot keep its keys to itself is not to have any.
	utilruntime.Must(undumpable.Process())
	// What the logging flags may ask for is behind feature gates, which must be known before flags are parsed.
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	command := app.NewCommand()
	// The first SIGTERM or SIGINT ends the context and starts the draining, a second one exits at once.
	command.SetContext(genericapiserver.SetupSignalContext())
	os.Exit(cli.Run(command))
}
