// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/kubeletvolume"
)

// TestAgent runs certrotation agent, with its own account, beside a server that reloads only when the test tells
// it to.
func TestAgent(t *testing.T) {
	d := newDemo(t, "agent")
	ca, next := kubeletvolume.Authority(t, "ca"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, ca)
	secret, bundle := kubeletvolume.New(t), kubeletvolume.New(t)
	secret.Swap(t, kubeletvolume.Secret(t, leaf))
	bundle.Swap(t, kubeletvolume.Bundle(ca))
	server := startServer(t, leaf)
	server.load(ca)

	account := "system:serviceaccount:" + d.namespace + ":client-a"
	kubeconfig, err := d.UserKubeconfig(account, "system:serviceaccounts")
	if err != nil {
		t.Fatal(err)
	}
	agent := d.AddProcess("agent", d.program, "agent", "--kubeconfig="+kubeconfig, "--namespace="+d.namespace, "--signer=service-signer",
		"--party=client-a", "--member=client-a", "--instance=pod-uid", "--certificate="+secret.Path("tls.crt"), "--anchors="+bundle.Path("ca-bundle.crt"),
		"--prove="+server.address, "--bind-address=127.0.0.1:0")
	startInOrder(t, agent)
	health := ""
	eventually(t, "the agent serves", func(context.Context) (err error) {
		health, err = healthAddress(agent)
		return err
	})

	says(t, health, http.StatusServiceUnavailable, "[-]acknowledgement: Forbidden")
	grantReports(t, d.plane, d.namespace, "service-signer", "client-a", account)
	says(t, health, http.StatusOK, "acknowledged until")
	acknowledged(t, d, leaf, ca)

	bundle.Swap(t, kubeletvolume.Bundle(ca, next))
	says(t, health, http.StatusServiceUnavailable, "does not list CN=next")
	acknowledged(t, d, leaf, ca)
	server.load(ca, next)
	says(t, health, http.StatusOK, "acknowledged until")
	acknowledged(t, d, leaf, ca, next)
}

// startInOrder starts a process that ends with the test.
func startInOrder(t *testing.T, process *cluster.Process) {
	t.Helper()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s does not end in order: %v", process.Name(), err)
		}
	})
}

// says waits until /readyz of the agent returns this code and text.
func says(t *testing.T, address string, code int, want string) {
	t.Helper()
	eventually(t, "/readyz says "+want, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != code || !strings.Contains(string(body), want) {
			return fmt.Errorf("%s: %s, %w", response.Status, body, err)
		}
		return nil
	})
}

// grantReports binds the rights that docs/pods.md asks for, for a party with one member of the same name.
func grantReports(t *testing.T, p *plane, namespace, signer, party, account string) {
	t.Helper()
	roles := p.client.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: party}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations/acknowledge"}, Verbs: []string{"create"},
		ResourceNames: []string{signer, trust.ReportName(signer, party, party)},
	}}}
	if _, err := roles.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: party}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: party},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}},
	}
	if _, err := roles.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// acknowledged waits until the record of the member has exactly this leaf and these anchors.
func acknowledged(t *testing.T, d *demo, leaf *pki.Pair, anchors ...*pki.Pair) {
	t.Helper()
	var want []string
	for _, anchor := range anchors {
		want = append(want, string(anchor.Certificate.Fingerprint))
	}
	slices.Sort(want)
	eventually(t, "the record has what is loaded", func(context.Context) error {
		evidence := d.records(t)["evidence.service.client-a.client-a"].Evidence
		if evidence == nil || len(evidence.Processes) != 1 {
			return fmt.Errorf("the evidence is %+v", evidence)
		}
		process := evidence.Processes[0]
		if process.Instance != "pod-uid" || !slices.Equal(slices.Sorted(slices.Values(process.Trusts)), want) ||
			!slices.Equal(process.Presents, []string{string(leaf.Certificate.Fingerprint)}) {
			return fmt.Errorf("%s trusts %v and presents %v, want %v", process.Instance, process.Trusts, process.Presents, want)
		}
		return nil
	})
}

// reloadable is a server that verifies its clients by the anchors that the test loads into it.
type reloadable struct {
	address string
	pool    atomic.Pointer[x509.CertPool]
}

func (r *reloadable) load(anchors ...*pki.Pair) {
	pool := x509.NewCertPool()
	for _, anchor := range anchors {
		pool.AppendCertsFromPEM(anchor.Certificate.PEM())
	}
	r.pool.Store(pool)
}

func startServer(t *testing.T, leaf *pki.Pair) *reloadable {
	t.Helper()
	certificate, err := dial.Certificate(leaf)
	if err != nil {
		t.Fatal(err)
	}
	r := &reloadable{}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientCAs: r.pool.Load(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r.address = listener.Addr().String()
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(listener) }() // Until the listener is closed.
	return r
}
