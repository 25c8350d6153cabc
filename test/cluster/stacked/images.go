// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"fmt"
	"path/filepath"

	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// Names of the images, as the sample has them.
const (
	etcdImage         = "certrotation.dev/etcd:local"
	certrotationImage = "certrotation.dev/certrotation:local"
)

// unbuilt is the digest that the sample's class has, in whose place that of the image comes which is built here.
const unbuilt = "certrotation.dev/certrotation@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// images writes the archives that each node imports.
func (c *Cluster) images() ([]string, error) {
	tools := filepath.Join(c.root, "bin", "tools")
	etcd := c.path("images", "etcd.tar")
	programs := map[string]string{"etcd": filepath.Join(tools, "etcd"), "etcd-metrics-proxy": c.binary("metricsproxy")}
	if _, err := nodes.WriteImage(etcd, etcdImage, programs, []string{"/etcd"}); err != nil {
		return nil, fmt.Errorf("%w (`make build node-tools` builds what is missing)", err)
	}
	certrotation, err := c.certrotationImage()
	return []string{etcd, certrotation}, err
}

// certrotationImage is the archive of certrotation. That of the release is not built where only installer pods run it.
func (c *Cluster) certrotationImage() (archive string, err error) {
	if c.cfg.Pods {
		c.image, archive, err = installation.Image()
		return archive, err
	}
	archive = c.path("images", "certrotation.tar")
	c.image, err = nodes.WriteImage(archive, certrotationImage, map[string]string{"certrotation": c.binary("certrotation")}, []string{"/certrotation"})
	if err != nil {
		return "", fmt.Errorf("%w (`make build` builds what is missing)", err)
	}
	return archive, nil
}
