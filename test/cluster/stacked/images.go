// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"fmt"
	"path/filepath"

	"certrotation.dev/test/cluster/installation"
	"certrotation.dev/test/cluster/nodes"
)

// Names of the images in the sample.
const (
	etcdImage         = "certrotation.dev/etcd:local"
	certrotationImage = "certrotation.dev/certrotation:local"
)

// unbuilt is the placeholder image in the sample's class, which the image of this build replaces.
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

// certrotationImage returns the archive of certrotation. Without Config.Pods only installer pods run it, so it needs
// no release image.
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
