// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// DataKeyKubeconfig is the data key of a kubeconfig.
const DataKeyKubeconfig = "kubeconfig"

// KubeconfigSecretConfig is a kubeconfig of one cluster and one user.
type KubeconfigSecretConfig struct {
	Name        string
	ContextName string
	Cluster     clientcmdv1.Cluster
	AuthInfo    clientcmdv1.AuthInfo
	Namespace   string
}

// GetName implements Config.
func (c *KubeconfigSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *KubeconfigSecretConfig) Generate(time.Time) (Data, error) {
	cluster := c.Cluster
	if !strings.HasPrefix(cluster.Server, schemeHTTPS) {
		cluster.Server = schemeHTTPS + cluster.Server
	}
	encoded, err := encodeKubeconfig(&clientcmdv1.Config{
		CurrentContext: c.ContextName,
		Clusters:       []clientcmdv1.NamedCluster{{Name: c.ContextName, Cluster: cluster}},
		AuthInfos:      []clientcmdv1.NamedAuthInfo{{Name: c.ContextName, AuthInfo: c.AuthInfo}},
		Contexts: []clientcmdv1.NamedContext{{
			Name: c.ContextName, Context: clientcmdv1.Context{Cluster: c.ContextName, AuthInfo: c.ContextName, Namespace: c.Namespace},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig %q: %w", c.Name, err)
	}
	return Map{DataKeyKubeconfig: encoded}, nil
}

const schemeHTTPS = "https://"

func encodeKubeconfig(config *clientcmdv1.Config) ([]byte, error) {
	return runtime.Encode(clientcmdlatest.Codec, config)
}
