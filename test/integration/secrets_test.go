// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"certrotation.dev/controller/secrets"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/podcontent"
)

const (
	secretsNamespace  = "secrets"
	secretsController = "web-controller"
	// secretsReplicas is how many replicas of the controller reconcile at once.
	secretsReplicas = 8
)

// secretsWorld is a controller that keeps its secrets with controller/secrets, and the programs that it deploys.
type secretsWorld struct {
	*plane

	// controller has the rights that docs/secrets.md asks for. writes counts its requests that are no reads.
	controller kubernetes.Interface
	writes     atomic.Int64
}

// deployment is what the controller deploys in a phase: the names of the Secrets that the pods of server and client
// mount.
type deployment struct{ server, client, bundle string }

// program is what a pod mounts: its pair, and the anchors by which it verifies its peer.
type program struct {
	pair  tls.Certificate
	peers *x509.CertPool
}

// TestSecretsOfAController: a controller rotates its CA with controller/secrets, in the two phases of Gardener, on a
// real API server with eight replicas at once. Servers and clients that run with the Secrets of two phases reach each
// other in the order of docs/secrets.md. In one step, as in Gardener, a client that is restarted before its server
// refuses it: first by handshakes of chosen pairs, then by the handshakes of running programs.
func TestSecretsOfAController(t *testing.T) {
	t.Parallel()
	w := newSecretsWorld(t)
	state, of := edition.GroupRotation{}, edition.Circumstances{Settled: true}
	programs, mounted := map[string]*[2]program{}, map[string]mounts{}
	for _, phase := range []struct {
		name      string
		operation edition.Operation
		// authorities is how many CAs there are then, each of them in the bundle.
		authorities int
	}{{"before", "", 1}, {"prepared", edition.OperationStart, 2}, {"reissued", edition.OperationComplete, 2}, {"completed", "", 1}} {
		if phase.operation != "" {
			var err error
			if state, err = state.Do(phase.operation, of, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		d := w.deploy(t, &state, phase.authorities)
		programs[phase.name] = &[2]program{w.mounted(t, d.server, d.bundle), w.mounted(t, d.client, d.bundle)}
		mounted[phase.name] = mounts{w.volume(t, d.server, d.bundle), w.volume(t, d.client, d.bundle)}
		state = state.Reconciled(of, time.Now())
	}
	for _, tt := range []struct{ server, client, want string }{
		{"before", "before", bothAgree},
		{"prepared", "before", bothAgree},
		{"prepared", "prepared", bothAgree},
		{"reissued", "prepared", bothAgree},
		{"prepared", "reissued", bothAgree},
		{"completed", "reissued", bothAgree},
		{"reissued", "completed", bothAgree},
		{"completed", "completed", bothAgree},
		// The client is restarted before its server has the new bundle.
		{"before", "prepared", serverRefuses},
		// The server is reissued, and the old CA forgotten, in one step, and the client is restarted first.
		{"prepared", "completed", clientRefuses},
		{"completed", "before", clientRefuses},
	} {
		got, err := handshake(t.Context(), &programs[tt.server][0], &programs[tt.client][1])
		t.Logf("%-9s server, %-9s client: %s", tt.server, tt.client, got)
		if err != nil || got != tt.want {
			t.Errorf("%s server, %s client: %s (%v), want: %s", tt.server, tt.client, got, err, tt.want)
		}
	}
	testProcesses(t, w, mounted)
}

func newSecretsWorld(t *testing.T) *secretsWorld {
	t.Helper()
	w := &secretsWorld{plane: barePlane.use(t)}
	makeNamespace(t, w.client, secretsNamespace)
	name := metav1.ObjectMeta{Name: secretsController}
	_, err := w.client.RbacV1().Roles(secretsNamespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.client.RbacV1().RoleBindings(secretsNamespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: secretsController},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: secretsController}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := w.client.CoreV1().ServiceAccounts(secretsNamespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	config := rest.CopyConfig(w.AdminConfig())
	config.Impersonate, config.QPS = rest.ImpersonationConfig{UserName: secretsController}, -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &writeCounter{next, &w.writes} })
	if w.controller, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// writeCounter counts the requests that are no reads.
type writeCounter struct {
	http.RoundTripper

	writes *atomic.Int64
}

func (c *writeCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// deploy reconciles a phase in all replicas at once, and once more, and restarts the pods. Replicas get the same
// objects, the second run writes nothing, and nothing is deleted before the pods that mount it are gone.
func (w *secretsWorld) deploy(t *testing.T, state *edition.GroupRotation, authorities int) deployment {
	t.Helper()
	var deployed [secretsReplicas]deployment
	group, ctx := errgroup.WithContext(t.Context())
	for i := range deployed {
		group.Go(func() (err error) {
			deployed[i], err = w.reconcile(ctx, state)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(deployed[:], func(d deployment) bool { return d != deployed[0] }) {
		t.Fatalf("the replicas have made different objects: %+v", deployed)
	}
	w.writes.Store(0)
	if again, err := w.reconcile(t.Context(), state); err != nil || again != deployed[0] || w.writes.Load() != 0 {
		t.Fatalf("a run after that has made %+v with %d writes (%v), want %+v with none", again, w.writes.Load(), err, deployed[0])
	}
	former := w.pods(t)
	for _, pod := range former {
		for _, name := range podcontent.Secrets(&pod.Spec) {
			if _, err := w.client.CoreV1().Secrets(secretsNamespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				t.Errorf("%s mounts it: %v", pod.Name, err)
			}
		}
	}
	w.restart(t, former, deployed[0])
	if _, err := w.reconcile(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	w.holds(t, deployed[0], authorities)
	return deployed[0]
}

// reconcile is one reconciliation of the controller.
func (w *secretsWorld) reconcile(ctx context.Context, state *edition.GroupRotation) (deployment, error) {
	instance, err := secrets.New(ctx, clock.RealClock{}, w.controller.CoreV1(), secretsController,
		secrets.WithNamespaces(secretsNamespace), secrets.WithGroupRotation(state, "ca"))
	if err != nil {
		return deployment{}, err
	}
	if _, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert, Key: pki.ECDSAP256}, secrets.InPhase(state)); err != nil {
		return deployment{}, err
	}
	server, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{
		Name: "server", CommonName: "web", DNSNames: []string{webServerName}, CertType: kinds.ServerCert, Key: pki.ECDSAP256,
	}, secrets.SignedInPhase(state, "ca"))
	if err != nil {
		return deployment{}, err
	}
	client, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{
		Name: "client", CommonName: "web-client", CertType: kinds.ClientCert, Key: pki.ECDSAP256,
	}, secrets.SignedInPhase(state, "ca"))
	if err != nil {
		return deployment{}, err
	}
	bundle, found := instance.Get("ca")
	if !found {
		return deployment{}, errors.New("the CA has no bundle")
	}
	return deployment{server: server.Name, client: client.Name, bundle: bundle.Name}, instance.Cleanup(ctx)
}

func (w *secretsWorld) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := w.client.CoreV1().Pods(secretsNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// restart replaces the pods by pods that mount what is deployed. There is no kubelet.
func (w *secretsWorld) restart(t *testing.T, former []corev1.Pod, d deployment) {
	t.Helper()
	pods := w.client.CoreV1().Pods(secretsNamespace)
	for _, pod := range former {
		if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, leaf := range map[string]string{"server-": d.server, "client-": d.client} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "program", Image: "example.com/program"}},
		}}
		for _, secret := range []string{leaf, d.bundle} {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
				Name: fmt.Sprint("v", len(pod.Spec.Volumes)), VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}},
			})
		}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// holds fails unless the namespace has what is deployed and the authorities that count, and nothing else, and all of
// it is immutable.
func (w *secretsWorld) holds(t *testing.T, d deployment, want int) {
	t.Helper()
	list, err := w.client.CoreV1().Secrets(secretsNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	authorities := 0
	for i := range list.Items {
		secret := &list.Items[i]
		switch {
		case len(secret.Data[kinds.DataKeyPrivateKeyCA]) > 0:
			authorities++
		case !slices.Contains([]string{d.server, d.client, d.bundle}, secret.Name):
			t.Errorf("Secret %s is left", secret.Name)
		}
		changed := secret.DeepCopy()
		changed.Data["more"] = []byte("data")
		if _, err := w.client.CoreV1().Secrets(secretsNamespace).Update(t.Context(), changed, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("the data of Secret %s were changed: %v", secret.Name, err)
		}
	}
	anchors, err := pki.ParseChain(w.secret(t, d.bundle).Data[kinds.DataKeyCertificateBundle])
	if err != nil || len(anchors) != want || authorities != want {
		t.Errorf("there are %d authorities, and %d in the bundle (%v), want %d", authorities, len(anchors), err, want)
	}
}

func (w *secretsWorld) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := w.client.CoreV1().Secrets(secretsNamespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// volume returns the files of a leaf and a bundle, as the sample mtls-service reads them.
func (w *secretsWorld) volume(t *testing.T, leaf, bundle string) map[string]string {
	t.Helper()
	data := w.secret(t, leaf).Data
	return map[string]string{
		corev1.TLSCertKey: string(data[kinds.DataKeyCertificate]), corev1.TLSPrivateKeyKey: string(data[kinds.DataKeyPrivateKey]),
		"ca-bundle.crt": string(w.secret(t, bundle).Data[kinds.DataKeyCertificateBundle]),
	}
}

// mounted reads the files of a pod as its program would.
func (w *secretsWorld) mounted(t *testing.T, leaf, bundle string) program {
	t.Helper()
	data := w.secret(t, leaf).Data
	pair, err := tls.X509KeyPair(data[kinds.DataKeyCertificate], data[kinds.DataKeyPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	out := program{pair: pair, peers: x509.NewCertPool()}
	if !out.peers.AppendCertsFromPEM(w.secret(t, bundle).Data[kinds.DataKeyCertificateBundle]) {
		t.Fatalf("Secret %s has no anchor", bundle)
	}
	return out
}

// Outcomes of a handshake.
const (
	bothAgree     = "both agree"
	clientRefuses = "the client refuses the server"
	serverRefuses = "the server refuses the client"
)

// handshake has a client reach a server over TCP, each of which verifies the other, and returns the outcome. An error
// is none of certificates.
func handshake(ctx context.Context, server, client *program) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	served := make(chan error, 1)
	go func() { served <- serveOne(ctx, listener, server) }()
	dialed := dialOnce(ctx, listener.Addr().String(), client)
	accepted := errors.Join(listener.Close(), <-served)
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(dialed, &unverified):
		return clientRefuses, nil
	case errors.As(accepted, &unverified):
		return serverRefuses, nil
	}
	return bothAgree, errors.Join(dialed, accepted)
}

func serveOne(ctx context.Context, listener net.Listener, server *program) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	secured := tls.Server(conn, &tls.Config{
		Certificates: []tls.Certificate{server.pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: server.peers, MinVersion: tls.VersionTLS13,
	})
	defer secured.Close()
	return secured.HandshakeContext(ctx)
}

// dialOnce returns once the server has answered the client's certificate: by the end of the connection, or by an
// alert.
func dialOnce(ctx context.Context, address string, client *program) error {
	dialer := &tls.Dialer{Config: &tls.Config{
		RootCAs: client.peers, ServerName: webServerName, MinVersion: tls.VersionTLS13,
		// Also a certificate of a CA that the server does not name.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client.pair, nil },
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.ReadAll(conn)
	return err
}
