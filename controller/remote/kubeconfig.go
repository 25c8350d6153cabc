// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/tls"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigKey is the key of the Secret with the kubeconfig.
const KubeconfigKey = "kubeconfig"

// maxKubeconfig bounds a kubeconfig in bytes.
const maxKubeconfig = 128 << 10

// access is what a kubeconfig says.
type access struct {
	server *url.URL
	tls    *tls.Config
	token  string
}

// parse reads the current context of a kubeconfig. why says what is wrong, without anything of its content.
func parse(text []byte) (_ *access, why string) {
	if len(text) > maxKubeconfig {
		return nil, "is longer than 128 KiB"
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, "is no kubeconfig that can be read"
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil {
		return nil, "has no current-context that is one of its contexts"
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return nil, "has no cluster or no user of its current-context"
	}
	if field := refused(cluster, user); field != "" {
		return nil, "has the field " + field + ", which is not accepted"
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" || server.User != nil || server.RawQuery != "" || server.Fragment != "" {
		return nil, "has a server that is not of the form https://HOST:PORT/PATH"
	}
	if user.Token == "" && len(user.ClientCertificateData) == 0 {
		return nil, "has neither a token nor a client certificate"
	}
	verify, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAData: cluster.CertificateAuthorityData, ServerName: cluster.TLSServerName,
		CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
	}})
	if err != nil {
		return nil, "has a certificate authority, or a client certificate with its key, that cannot be read"
	}
	if verify == nil {
		verify = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &access{server: server, tls: verify, token: user.Token}, ""
}

// refused names a field that is set and not accepted: it would run a program, read a file of the controller, go through
// another server, or trust any. It is "" if there is none.
func refused(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) string {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"insecure-skip-tls-verify", cluster.InsecureSkipTLSVerify},
		{"certificate-authority", cluster.CertificateAuthority != ""},
		{"proxy-url", cluster.ProxyURL != ""},
		{"exec", user.Exec != nil},
		{"auth-provider", user.AuthProvider != nil},
		{"client-certificate", user.ClientCertificate != ""},
		{"client-key", user.ClientKey != ""},
		{"tokenFile", user.TokenFile != ""},
		{"username", user.Username != ""},
		{"password", user.Password != ""},
		{"as", user.Impersonate != ""},
		{"as-uid", user.ImpersonateUID != ""},
		{"as-groups", len(user.ImpersonateGroups) > 0},
		{"as-user-extra", len(user.ImpersonateUserExtra) > 0},
	} {
		if field.set {
			return field.name
		}
	}
	return ""
}
