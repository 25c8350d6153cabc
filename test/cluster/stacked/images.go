// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"fmt"
	"path/filepath"

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
	var archives []string
	for _, image := range []struct {
		name, ref  string
		files      map[string]string
		entrypoint string
	}{
		{"etcd", etcdImage, map[string]string{"etcd": filepath.Join(tools, "etcd"), "etcd-metrics-proxy": c.binary("metricsproxy")}, "/etcd"},
		{"certrotation", certrotationImage, map[string]string{"certrotation": c.binary("certrotation")}, "/certrotation"},
	} {
		archive := c.path("images", image.name+".tar")
		byDigest, err := nodes.WriteImage(archive, image.ref, image.files, []string{image.entrypoint})
		if err != nil {
			return nil, fmt.Errorf("%w (`make build node-tools` builds what is missing)", err)
		}
		if image.ref == certrotationImage {
			c.installer = byDigest
		}
		archives = append(archives, archive)
	}
	return archives, nil
}
