// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
)

const (
	systemNamespace = "certrotation-system"
	serviceName     = "certrotation"
	startTimeout    = time.Minute
)

// served is a cluster with certrotation serve behind its aggregator.
type served struct {
	*cluster.Cluster

	process    *cluster.Process
	securePort int
	client     kubernetes.Interface
	own        versioned.Interface
}

// serve starts a cluster, the signer of the system and certrotation serve, and waits until the API is there. There is no
// DNS without nodes: the Service points to localhost by its external name.
func serve(t *testing.T) *served {
	t.Helper()
	c := cluster.ForTest(t)
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	makeNamespace(t, client, systemNamespace)
	return serveAs(t, c, c.Kubeconfig())
}

// serveAs has serve use a kubeconfig. Its namespace and its rights exist.
func serveAs(t *testing.T, c *cluster.Cluster, kubeconfig string) *served {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Cluster: c, client: client, own: define(t, c), securePort: freePort(t)}
	ca := newSigner(t, systemNamespace, "certrotation-signer")
	create(t, client, tlsSecret(t, systemNamespace, "certrotation-signer", ca))

	s.process = c.AddProcess("serve", build(t), "serve", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(s.securePort), "-v", "2",
		"--shutdown-watch-termination-grace-period", "1s")
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	// The aggregator asks for OpenAPI at once, and after a failure not for a while.
	https := httpsClient(t, ca.CertPEM())
	if err := s.process.WaitReady(ctx, func(ctx context.Context) error {
		code, err := status(ctx, https, localURL(s.securePort, "/readyz"))
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("readyz answers %d", code)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.register(t, ca)
	if err := s.process.WaitReady(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/certrotation.dev/v1alpha1/certificaterotations").DoRaw(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// register makes the APIService.
func (s *served) register(t *testing.T, ca *pki.Pair) {
	t.Helper()
	_, err := s.client.CoreV1().Services(systemNamespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	registrations, err := aggregator.NewForConfig(s.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, err = registrations.ApiregistrationV1().APIServices().Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1.certrotation.dev"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "certrotation.dev", Version: "v1alpha1", GroupPriorityMinimum: 100, VersionPriority: 100,
			CABundle: ca.CertPEM(),
			Service: &apiregistrationv1.ServiceReference{
				Namespace: systemNamespace, Name: serviceName, Port: new(int32(s.securePort)),
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// kubectl runs kubectl as a user with that kubeconfig and returns what it printed.
func (s *served) kubectl(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), s.Tool("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// mustKubectl runs kubectl as the administrator.
func (s *served) mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.kubectl(t, s.Kubeconfig(), args...)
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return out
}

// build builds the binary; the build cache makes a second time short.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "certrotation")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "certrotation.dev/cmd/certrotation")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	return path
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func makeNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue}}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// define has the cluster serve our own kinds, and returns a client of them.
func define(t *testing.T, c *cluster.Cluster) versioned.Interface {
	t.Helper()
	if err := c.ApplyDefinitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// configure makes a configuration that is written as people do.
func configure(t *testing.T, client versioned.Interface, namespace, text string) {
	t.Helper()
	configuration, err := configv1alpha1.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ConfigV1alpha1().RotationConfigurations(namespace).Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, client kubernetes.Interface, secret *corev1.Secret) {
	t.Helper()
	if _, err := client.CoreV1().Secrets(secret.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newSigner(t *testing.T, namespace, name string) *pki.Pair {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(namespace, name, now), Key: pki.ECDSAP256, Validity: 1000 * time.Hour, Backdate: 5 * time.Minute,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// consent is the annotation of what the configuration "service" may use.
var consent = map[string]string{trust.AnnotationConfiguration: "service"}

func tlsSecret(t *testing.T, namespace, name string, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: consent},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: key},
	}
}

// eventually waits until a condition holds, and fails with its last reason.
func eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	eventuallyWithin(t, startTimeout, what, condition)
}

// eventuallyWithin does so for what takes its time.
func eventuallyWithin(t *testing.T, timeout time.Duration, what string, condition func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		err := condition(ctx)
		if last == nil || err == nil || ctx.Err() == nil {
			// What is cut off by the end of the time says nothing.
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// httpsClient trusts only the given CA.
func httpsClient(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no CA")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// status asks for a path of a listener.
func status(ctx context.Context, client *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func localURL(port int, path string) string { return fmt.Sprintf("https://127.0.0.1:%d%s", port, path) }
