// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
)

// planes are the packages that start control planes. Two kube-apiservers on a small machine only wait for each other, so these run
// one at a time, but for those that give way.
var planes = regexp.MustCompile(`^certrotation\.dev/(test/(cluster|e2e|integration|recovery|security|versions)(/.*)?|cmd/certrotation/app/controller|controller/etcdhealth)$`)

var (
	// waiting are those of them that mostly wait for kubelets, and leave much of a small machine to others, as long as these give way.
	// The hungriest comes first: when it is over, those that run beside it have come to their own control planes.
	waiting = []string{module + "test/e2e/etcd", module + "test/e2e/pods", module + "test/e2e/recovery"}
	// beside are those of them that can give way: they have no kubelet, and wait for nobody who does not. They wait for processes,
	// within a time, so they get a tenth of what they want even while the others want everything.
	beside = []string{
		module + "cmd/certrotation/app/controller", module + "controller/etcdhealth", module + "test/e2e", module + "test/integration",
		module + "test/recovery", module + "test/security", module + "test/versions",
	}
)

// batch is what one go test runs.
type batch struct {
	parallel int // Packages at the same time.
	packages []string
	nice     int // As of nice(1): how far it gives way to what runs beside it.
}

// lane is batches that run one after the other.
type lane []batch

// lanes run at the same time. In the first are the control planes, those that wait before the others; in the second, which gives way
// to it, all that needs no control plane, and then the control planes that can give way.
func lanes(packages []string) []lane {
	alone, together, last := batch{parallel: 1}, batch{parallel: 2, nice: 19}, batch{parallel: 1, nice: 10}
	for _, pkg := range waiting {
		if slices.Contains(packages, pkg) {
			alone.packages = append(alone.packages, pkg)
		}
	}
	for _, pkg := range packages {
		switch {
		case slices.Contains(waiting, pkg):
		case slices.Contains(beside, pkg):
			last.packages = append(last.packages, pkg)
		case planes.MatchString(pkg):
			alone.packages = append(alone.packages, pkg)
		default:
			together.packages = append(together.packages, pkg)
		}
	}
	return filled(lane{alone}, lane{together, last})
}

// filled leaves out what has no packages. Those in the first lane give way to nobody.
func filled(all ...lane) []lane {
	var lanes []lane
	for _, l := range all {
		var batches lane
		for _, b := range l {
			if len(b.packages) > 0 {
				if len(lanes) == 0 {
					b.nice = 0
				}
				batches = append(batches, b)
			}
		}
		if len(batches) > 0 {
			lanes = append(lanes, batches)
		}
	}
	return lanes
}
