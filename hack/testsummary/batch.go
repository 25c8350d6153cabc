// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "regexp"

// planes are the packages that start control planes.
var planes = regexp.MustCompile(`^certrotation\.dev/(test/(cluster|e2e|integration|recovery|security)(/.*)?|cmd/certrotation/app/controller|controller/etcdhealth)$`)

// waiting is the longest of them. It mostly waits for kubelets to restart static pods, and leaves half of a small machine to
// others, as long as these give way to it.
const waiting = module + "test/e2e/etcd"

// batch is what one go test runs.
type batch struct {
	parallel int // Packages at the same time.
	packages []string
	nice     bool // It gets the CPU time that nobody else wants.
}

// stages are batches that run at the same time, one stage after the other. Packages that start control planes run one at a
// time, as two kube-apiservers on a small machine only wait for each other; all that need none run beside the one that waits.
func stages(packages []string) [][]batch {
	first, together, alone := batch{parallel: 1}, batch{parallel: 2}, batch{parallel: 1}
	for _, pkg := range packages {
		switch {
		case pkg == waiting:
			first.packages = append(first.packages, pkg)
		case planes.MatchString(pkg):
			alone.packages = append(alone.packages, pkg)
		default:
			together.packages = append(together.packages, pkg)
		}
	}
	together.nice = len(first.packages) > 0
	var filled [][]batch
	for _, stage := range [][]batch{{first, together}, {alone}} {
		var at []batch
		for _, b := range stage {
			if len(b.packages) > 0 {
				at = append(at, b)
			}
		}
		if len(at) > 0 {
			filled = append(filled, at)
		}
	}
	return filled
}
