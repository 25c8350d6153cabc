// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "regexp"

// planes are the packages that start control planes.
var planes = regexp.MustCompile(`^certrotation\.dev/(test/(cluster|e2e|integration|recovery|security)(/.*)?|cmd/certrotation/app/controller|controller/etcdhealth)$`)

// batch is what one go test runs.
type batch struct {
	parallel int // Packages at the same time.
	packages []string
}

// batches has packages that start control planes run one at a time, after all others: two kube-apiservers on a small
// machine only wait for each other.
func batches(packages []string) []batch {
	together, alone := batch{parallel: 2}, batch{parallel: 1}
	for _, pkg := range packages {
		if planes.MatchString(pkg) {
			alone.packages = append(alone.packages, pkg)
		} else {
			together.packages = append(together.packages, pkg)
		}
	}
	var filled []batch
	for _, b := range []batch{together, alone} {
		if len(b.packages) > 0 {
			filled = append(filled, b)
		}
	}
	return filled
}
