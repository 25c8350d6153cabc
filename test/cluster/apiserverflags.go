// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"path/filepath"
)

// MakePKI makes what is missing of a control plane's certificates in dir, for programs that run kube-apiserver by
// themselves (see APIServerFlags). The addresses are where it is reached besides the loopback.
func MakePKI(dir string, addresses ...net.IP) error {
	_, err := loadOrMakeCertificates(dir, addresses...)
	return err
}

// APIServerFlags are the flags of kube-apiserver that depend neither on its address nor on etcd: who it is, whom it
// believes, by the certificates that MakePKI makes in pkiDir.
func APIServerFlags(pkiDir string) []string {
	path := func(file string) string { return filepath.Join(pkiDir, file) }
	return []string{
		"--tls-cert-file=" + path("apiserver.crt"),
		"--tls-private-key-file=" + path("apiserver.key"),
		"--client-ca-file=" + path("ca.crt"),
		// How it asks a kubelet for the logs of a pod, where there are nodes.
		"--kubelet-client-certificate=" + path("kubelet-client.crt"),
		"--kubelet-client-key=" + path("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", // The machine has no names for them.
		"--authorization-mode=Node,RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + path("service-accounts.pub"),
		"--service-account-signing-key-file=" + path("service-accounts.key"),
		// The aggregation layer: how an aggregated server knows who a forwarded request is from.
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

// GracefulFlags let a kube-apiserver end without a failed request, once it was taken out of the balancer:
//
//   - shutdown-delay-duration: it goes on as before for clients whose connection was being made when it was taken out.
//   - shutdown-watch-termination-grace-period: watches end in order, and not all at once.
//
// After the delay the server says goodbye (GOAWAY) on each connection, and clients make a new one. A request that crosses
// the goodbye is answered by 503 with Retry-After, which client-go obeys. shutdown-send-retry-after is left out: it keeps a
// listener open that the balancer does not need any more, and each connection from before gets a 429 that tells its client
// to pause for 5 s, where the goodbye alone mostly costs nothing.
func GracefulFlags() []string {
	return []string{"--shutdown-delay-duration=2s", "--shutdown-watch-termination-grace-period=5s"}
}
