// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"time"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// DataKeyToken is the data key of a token.
const DataKeyToken = "token"

// ControlPlaneSecretConfig is everything that a client of a control plane needs, in one Secret. It has a certificate,
// or a user with a password or a token, and a kubeconfig with them.
type ControlPlaneSecretConfig struct {
	Name string

	CertificateSecretConfig *CertificateSecretConfig

	BasicAuth *BasicAuth
	Token     *Token

	KubeConfigRequests []KubeConfigRequest
}

// KubeConfigRequest is a cluster of the kubeconfig.
type KubeConfigRequest struct {
	ClusterName   string
	APIServerHost string
	CAData        []byte
}

// ControlPlaneSecretDataKeyCertificatePEM is the data key of the certificate of a control plane secret.
func ControlPlaneSecretDataKeyCertificatePEM(name string) string { return name + ".crt" }

// ControlPlaneSecretDataKeyPrivateKey is the data key of its private key.
func ControlPlaneSecretDataKeyPrivateKey(name string) string { return name + ".key" }

// GetName implements Config.
func (c *ControlPlaneSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *ControlPlaneSecretConfig) Generate(now time.Time) (Data, error) {
	out := Map{}
	var certificate *Certificate
	if c.CertificateSecretConfig != nil {
		config := *c.CertificateSecretConfig
		config.Name = c.Name
		made, err := config.GenerateCertificate(now)
		if err != nil {
			return nil, fmt.Errorf("make control plane secret %q: %w", c.Name, err)
		}
		certificate = made
		c.putCertificate(out, made)
	}
	if c.BasicAuth != nil {
		out[DataKeyUserName], out[DataKeyPassword] = []byte(c.BasicAuth.Username), []byte(c.BasicAuth.Password)
	}
	if c.Token != nil {
		out[DataKeyToken] = []byte(c.Token.Token)
	}
	if len(c.KubeConfigRequests) > 0 {
		encoded, err := encodeKubeconfig(c.kubeconfig(certificate))
		if err != nil {
			return nil, fmt.Errorf("make kubeconfig of control plane secret %q: %w", c.Name, err)
		}
		out[DataKeyKubeconfig] = encoded
	}
	return out, nil
}

func (c *ControlPlaneSecretConfig) putCertificate(out Map, made *Certificate) {
	if made.CA != nil {
		out[DataKeyCertificateCA] = made.CA.CertificatePEM
	}
	if made.hasBoth() {
		out[ControlPlaneSecretDataKeyCertificatePEM(c.Name)] = made.CertificatePEM
		out[ControlPlaneSecretDataKeyPrivateKey(c.Name)] = made.PrivateKeyPEM
	}
}

func (c *Certificate) hasBoth() bool {
	return c != nil && c.CertificatePEM != nil && c.PrivateKeyPEM != nil
}

// kubeconfig has all available ways to authenticate. Its contexts prefer the certificate, then the token, then the
// password.
func (c *ControlPlaneSecretConfig) kubeconfig(certificate *Certificate) *clientcmdv1.Config {
	name := c.KubeConfigRequests[0].ClusterName
	out := &clientcmdv1.Config{CurrentContext: name, Clusters: []clientcmdv1.NamedCluster{}, Contexts: []clientcmdv1.NamedContext{}, AuthInfos: []clientcmdv1.NamedAuthInfo{}}
	add := func(name string, info clientcmdv1.AuthInfo) {
		out.AuthInfos = append(out.AuthInfos, clientcmdv1.NamedAuthInfo{Name: name, AuthInfo: info})
	}
	if certificate.hasBoth() {
		add(name, clientcmdv1.AuthInfo{ClientCertificateData: certificate.CertificatePEM, ClientKeyData: certificate.PrivateKeyPEM})
	}
	if c.Token != nil {
		add(name+"-token", clientcmdv1.AuthInfo{Token: c.Token.Token})
	}
	if c.BasicAuth != nil {
		add(name+"-basic-auth", clientcmdv1.AuthInfo{Username: c.BasicAuth.Username, Password: c.BasicAuth.Password})
	}
	user := ""
	if len(out.AuthInfos) > 0 {
		user = out.AuthInfos[0].Name
	}
	for _, request := range c.KubeConfigRequests {
		out.Clusters = append(out.Clusters, clientcmdv1.NamedCluster{
			Name:    request.ClusterName,
			Cluster: clientcmdv1.Cluster{CertificateAuthorityData: request.CAData, Server: schemeHTTPS + request.APIServerHost},
		})
		out.Contexts = append(out.Contexts, clientcmdv1.NamedContext{
			Name: request.ClusterName, Context: clientcmdv1.Context{Cluster: request.ClusterName, AuthInfo: user},
		})
	}
	return out
}
