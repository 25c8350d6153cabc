// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"path/filepath"
)

// MakePKI makes the missing certificates of a control plane in dir, for programs that run kube-apiserver themselves
// (see APIServerFlags). kube-apiserver is reached at the addresses and at the loopback.
func MakePKI(dir string, addresses ...net.IP) error {
	_, err := loadOrMakeCertificates(dir, addresses...)
	return err
}

// APIServerFlags returns the flags of kube-apiserver that depend neither on its address nor on etcd: its identity and
// the CAs that it trusts. MakePKI makes these certificates in pkiDir.
func APIServerFlags(pkiDir string) []string {
	path := func(file string) string { return filepath.Join(pkiDir, file) }
	return []string{
		"--tls-cert-file=" + path("apiserver.crt"),
		"--tls-private-key-file=" + path("apiserver.key"),
		"--client-ca-file=" + path("ca.crt"),
		// For requests to kubelets, such as for the logs of a pod.
		"--kubelet-client-certificate=" + path("kubelet-client.crt"),
		"--kubelet-client-key=" + path("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", // This machine cannot resolve node names.
		"--authorization-mode=Node,RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + path("service-accounts.pub"),
		"--service-account-signing-key-file=" + path("service-accounts.key"),
		// For the aggregation layer: aggregated servers authenticate the user of a forwarded request with these.
		"--requestheader-client-ca-file=" + path("front-proxy-ca.crt"),
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + path("front-proxy-client.crt"),
		"--proxy-client-key-file=" + path("front-proxy-client.key"),
	}
}

// GracefulFlags let kube-apiserver stop without a failed request, once the balancer sends it no new connections:
//
//   - shutdown-delay-duration: keep serving clients whose connection was being made when the server was taken out.
//   - shutdown-watch-termination-grace-period: end the watches gradually, not all at once.
//
// After the delay the server sends GOAWAY on each connection, and clients reconnect. A request that crosses the
// GOAWAY gets 503 with Retry-After, which client-go obeys. shutdown-send-retry-after stays unset: it keeps a listener
// open that the balancer does not need. Each old connection would also get a 429, which makes its client pause for 5
// s. GOAWAY alone mostly costs nothing.
func GracefulFlags() []string {
	return []string{"--shutdown-delay-duration=2s", "--shutdown-watch-termination-grace-period=5s"}
}
