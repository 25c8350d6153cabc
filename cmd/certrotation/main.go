// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command certrotation is the only binary of the system: the aggregated API server with the admission webhook, and
// the controller. It also has the programs that the controller runs on nodes (installer, prune), and those that need
// no API server (render, sign-csr, doctor, recover).
package main

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the log format json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"certrotation.dev/cmd/certrotation/app"
	"certrotation.dev/cmd/certrotation/app/process"
)

func main() {
	// Without this protection the process must not handle keys.
	utilruntime.Must(process.MakeUndumpable())
	// Go collects garbage harder before a container reaches its memory limit. If the limit cannot be read, or
	// GOMEMLIMIT is set, nothing changes.
	_, _ = memlimit.Set(memlimit.WithRatio(0.8))
	if os.Getenv("GOGC") == "" {
		// Most memory is long-lived: collecting twice as often costs little, and saves a quarter of the memory.
		debug.SetGCPercent(50)
	}
	// Some logging flags depend on feature gates, which must be registered before flags are parsed.
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	command := app.NewCommand()
	// The first SIGTERM or SIGINT ends the context and starts draining; a second one exits at once.
	command.SetContext(genericapiserver.SetupSignalContext())
	os.Exit(cli.Run(command))
}
