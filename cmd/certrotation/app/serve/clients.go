// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"certrotation.dev/generated/clientset/versioned"
)

// clientConfig is the base of the configuration of all clients of the API server.
func clientConfig(base *rest.Config) *rest.Config {
	config := rest.CopyConfig(base)
	config.UserAgent = "certrotation-serve"
	// Secrets are listed and watched: protobuf takes a fraction of the memory and time of JSON.
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// A compressed watch holds 40 KiB for as long as it lasts, and each namespace has several.
	config.DisableCompression = true
	// No client-side limit: the API server's priority and fairness shares its capacity. A limit here would only queue
	// requests invisibly.
	config.QPS = -1
	return config
}

type clients struct {
	kube     kubernetes.Interface
	metadata metadata.Interface
	// own is for RotationConfigurations and RotationRecords.
	own versioned.Interface
}

func newClients(config *rest.Config) (clients, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("make the client of the API server: %w", err)
	}
	meta, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		return clients{}, fmt.Errorf("make the metadata client of the API server: %w", err)
	}
	// Custom resources have no protobuf.
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	own, err := versioned.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("make the client of configurations and records: %w", err)
	}
	return clients{kube: kube, metadata: meta, own: own}, nil
}
