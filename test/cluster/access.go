// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Dir returns the cluster's directory as an absolute path.
func (c *Cluster) Dir() string { return c.cfg.Dir }

// LogDir returns the directory of the processes' logs.
func (c *Cluster) LogDir() string { return filepath.Join(c.cfg.Dir, "logs") }

// URL returns kube-apiserver's address.
func (c *Cluster) URL() string {
	if c.cfg.ExternalURL != "" {
		return c.cfg.ExternalURL
	}
	return "https://" + net.JoinHostPort(c.cfg.Address, strconv.Itoa(c.ports.APIServer))
}

// EtcdURL returns etcd's client address.
func (c *Cluster) EtcdURL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.ports.Etcd) }

// EtcdClient returns a client with every right in etcd. The caller closes it.
func (c *Cluster) EtcdClient() (*clientv3.Client, error) {
	tlsConfig, err := c.certs.etcdClientTLS()
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{Endpoints: []string{c.EtcdURL()}, TLS: tlsConfig, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
}

// Kubeconfig returns the path of a kubeconfig file with every right (group system:masters).
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.cfg.Dir, "kubeconfig") }

// AdminConfig returns a client configuration with every right and without client-go's rate limit.
func (c *Cluster) AdminConfig() *rest.Config {
	return c.clientConfig(rest.TLSClientConfig{CertFile: c.certs.path("admin.crt"), KeyFile: c.certs.path("admin.key")})
}

// UserConfig returns a client configuration of a user with a new client certificate. RBAC objects decide the user's
// rights.
func (c *Cluster) UserConfig(user string, groups ...string) (*rest.Config, error) {
	cert, key, err := c.certs.issue("ca", clientTemplate(user, groups...))
	if err != nil {
		return nil, fmt.Errorf("make a client certificate for user %q: %w", user, err)
	}
	return c.clientConfig(rest.TLSClientConfig{CertData: cert, KeyData: key}), nil
}

// UserKubeconfig writes UserConfig to a file and returns its path, which is the same for each call with that user.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (string, error) {
	config, err := c.UserConfig(user, groups...)
	if err != nil {
		return "", err
	}
	// Escape user names such as system:serviceaccount:a:b and team/bob.
	path := filepath.Join(c.cfg.Dir, "kubeconfigs", url.QueryEscape(user))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, c.writeKubeconfig(path, config)
}

func (c *Cluster) clientConfig(identity rest.TLSClientConfig) *rest.Config {
	identity.CAFile = c.certs.path("ca.crt")
	return &rest.Config{Host: c.URL(), TLSClientConfig: identity, QPS: -1}
}

// writeKubeconfig embeds all certificates and keys, so that a copy of the file works anywhere on this machine.
func (c *Cluster) writeKubeconfig(path string, config *rest.Config) error {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	const name = "certrotation"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	text, err := clientcmd.Write(*file)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return writeFile(path, text, 0o600)
}
