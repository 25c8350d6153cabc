// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// controllersWithoutNodes act on namespaces, references, quotas, RBAC aggregation and ServiceAccounts.
const controllersWithoutNodes = "namespace-controller,garbage-collector-controller,resourcequota-controller," +
	"serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller," +
	"clusterrole-aggregation-controller"

func (c *Cluster) etcdArgs() []string {
	client, peer := c.EtcdURL(), fmt.Sprintf("https://127.0.0.1:%d", c.ports.EtcdPeer)
	args := []string{
		"--name=default",
		"--data-dir=" + filepath.Join(c.cfg.Dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--client-cert-auth=true",
		"--trusted-ca-file=" + c.certs.path("etcd-ca.crt"),
		"--cert-file=" + c.certs.path("etcd-server.crt"),
		"--key-file=" + c.certs.path("etcd-server.key"),
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + c.certs.path("etcd-ca.crt"),
		"--peer-cert-file=" + c.certs.path("etcd-server.crt"),
		"--peer-key-file=" + c.certs.path("etcd-server.key"),
	}
	if !c.cfg.Durable {
		args = append(args, "--unsafe-no-fsync=true")
	}
	return append(args, c.cfg.EtcdFlags...)
}

func (c *Cluster) apiServerArgs() []string {
	if c.cfg.Balanced {
		return append(GracefulFlags(), c.apiServerArgsAt(c.ports.Balanced)...)
	}
	return c.apiServerArgsAt(c.ports.APIServer)
}

func (c *Cluster) apiServerArgsAt(port int) []string {
	args := []string{
		"--bind-address=" + c.cfg.Address,
		"--advertise-address=" + c.cfg.Address,
		"--secure-port=" + strconv.Itoa(port),
		"--endpoint-reconciler-type=none", // An endpoint on the loopback is invalid, and no client here needs one.
		"--etcd-servers=" + c.EtcdURL(),
		"--etcd-cafile=" + c.certs.path("etcd-ca.crt"),
		"--etcd-certfile=" + c.certs.path("etcd-client.crt"),
		"--etcd-keyfile=" + c.certs.path("etcd-client.key"),
	}
	return slices.Concat(args, APIServerFlags(c.certs.dir), c.cfg.APIServerFlags)
}

func (c *Cluster) controllerManagerArgs() []string {
	args := []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.ports.ControllerManager),
		"--tls-cert-file=" + c.certs.path("apiserver.crt"),
		"--tls-private-key-file=" + c.certs.path("apiserver.key"),
		"--kubeconfig=" + c.Kubeconfig(),
		"--authentication-kubeconfig=" + c.Kubeconfig(),
		"--authorization-kubeconfig=" + c.Kubeconfig(),
		"--leader-elect=false",
		"--controllers=" + controllersWithoutNodes,
		"--root-ca-file=" + c.certs.path("ca.crt"),
		"--service-account-private-key-file=" + c.certs.path("service-accounts.key"),
	}
	return append(args, c.cfg.ControllerManagerFlags...)
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	tlsConfig, err := c.certs.etcdClientTLS()
	if err != nil {
		return err
	}
	return getOK(ctx, tlsConfig, c.EtcdURL()+"/health?serializable=false")
}

func (c *Cluster) apiServerReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	if text, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx); err != nil {
		return fmt.Errorf("GET /readyz: %w%s", err, failedChecks(text))
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}

func (c *Cluster) controllerManagerReady(ctx context.Context) error {
	tlsConfig := &tls.Config{RootCAs: c.certs.pool("ca"), MinVersion: tls.VersionTLS12}
	if err := getOK(ctx, tlsConfig, fmt.Sprintf("https://127.0.0.1:%d/healthz", c.ports.ControllerManager)); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// getOK returns nil if url answers 200.
func getOK(ctx context.Context, tlsConfig *tls.Config, url string) error {
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("GET %s: %s", url, response.Status), errors.New(string(body)))
	}
	return nil
}

// failedChecks returns the lines of a verbose /readyz answer that name failed checks.
func failedChecks(text []byte) string {
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return !strings.HasPrefix(line, "[-]") })
	if len(lines) == 0 {
		return ""
	}
	return " (" + strings.Join(lines, ", ") + ")"
}
