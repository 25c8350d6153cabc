// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/remote"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// token of all kubeconfigs, which must not be seen anywhere.
const token = "canary-token-of-a-kubeconfig"

// farConfig has copies in two other clusters, the leaf first.
var farConfig = withoutCopies + `  clusters:
  - {name: east, kubeconfigSecretName: east-kubeconfig}
  - {name: west, kubeconfigSecretName: west-kubeconfig}
  copies:
  - {kind: Secret, name: web-client, cluster: east, toNamespace: demo, toName: client}
  - {kind: ConfigMap, name: web-bundle, cluster: east, toNamespace: demo}
  - {kind: Secret, name: web-client, cluster: west, toNamespace: demo, toName: client}
  - {kind: ConfigMap, name: web-bundle, cluster: west, toNamespace: demo}
`

// far is another cluster: an API server behind a TLS server.
type far struct {
	*world

	name   string
	server *httptest.Server
	mu     sync.Mutex
	down   bool
}

// unserved makes another cluster without a server, whose namespace demo accepts copies.
func (w *world) unserved(name string) *far {
	w.t.Helper()
	f := &far{world: &world{t: w.t, clock: w.clock}, name: name}
	f.api = apifake.New(w.t, w.clock)
	f.api.Admit = f.note
	f.agree(home, accepting)
	return f
}

// cluster makes another cluster, and the Secret with its kubeconfig.
func (w *world) cluster(name string) *far {
	w.t.Helper()
	f := w.unserved(name)
	f.server = httptest.NewTLSServer(f)
	w.t.Cleanup(f.server.Close)
	w.put(home, f.kubeconfig(nil))
	return f
}

// kubeconfig is the Secret with the kubeconfig of the cluster.
func (f *far) kubeconfig(change func(*clientcmdapi.AuthInfo)) *corev1.Secret {
	f.t.Helper()
	config, cluster, user := clientcmdapi.NewConfig(), clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server, user.Token = f.server.URL, token
	cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
	if change != nil {
		change(user)
	}
	config.Clusters["c"], config.AuthInfos["u"], config.CurrentContext = cluster, user, "x"
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	text, err := clientcmd.Write(*config)
	if err != nil {
		f.t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: f.name + "-kubeconfig", Annotations: map[string]string{trust.AnnotationConfiguration: "certrotation"}},
		Data:       map[string][]byte{remote.KubeconfigKey: text},
	}
}

// setDown makes the cluster unreachable, or reachable again.
func (f *far) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	f.server.CloseClientConnections()
}

func (f *far) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

// connected returns a controller that connects to the clusters.
func (w *world) connected(clusters ...*far) *Controller {
	w.t.Helper()
	dialer := dial.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)
	connections, err := remote.New(remote.Config{Client: w.api.Client, Clock: w.clock, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		for _, f := range clusters {
			if f.server.Listener.Addr().String() == address && f.isDown() {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
		}
		return dialer.DialContext(ctx, network, address)
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { connections.Keep(home, func(string) bool { return false }) })
	return w.copies(func(cfg *Config) { cfg.Clusters = connections })
}

// farWorld is a world in the stage Stable with two other clusters, in which nothing was copied yet.
func farWorld(t testing.TB) (w *world, c *Controller, east, west *far) {
	t.Helper()
	w = newWorld(t, farConfig)
	w.rotate()
	east, west = w.cluster("east"), w.cluster("west")
	return w, w.connected(east, west), east, west
}

// settle reconciles until the leaves follow the bundles.
func (w *world) settle(c *Controller) {
	w.t.Helper()
	for range 3 {
		if err := c.Reconcile(w.ctx(), home); err != nil && obstacleOf(err) == nil {
			w.t.Fatal(err)
		}
	}
}

// follows reports whether a cluster has the copies as their sources are.
func (f *far) follows(w *world) bool {
	leaf, copied := w.secret(home, client), &corev1.Secret{}
	copied.Namespace, copied.Name = home, "client"
	copied, there := apifake.Get(f.api, copied)
	held, has := apifake.Get(f.api, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: bundle}})
	return there && has && string(copied.Data[inventory.ActiveCertKey]) == string(leaf.Data[inventory.ActiveCertKey]) &&
		held.Data[inventory.BundleKey] == w.configMap(home, bundle).Data[inventory.BundleKey]
}

// ServeHTTP implements http.Handler: the requests of the controller, answered by the API server.
func (f *far) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(rw, "who are you?", http.StatusUnauthorized)
		return
	}
	answer, err := f.respond(r)
	status, is := errors.AsType[*apierrors.StatusError](err)
	switch {
	case is:
		http.Error(rw, err.Error(), int(status.Status().Code))
	case err != nil:
		http.Error(rw, err.Error(), http.StatusInternalServerError)
	default:
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(answer)
	}
}

func (f *far) respond(r *http.Request) (runtime.Object, error) {
	// api/v1/namespaces/NAMESPACE/RESOURCE/NAME
	parts := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), "", "")
	namespace, resource, name := parts[3], parts[4], parts[5]
	switch core := f.api.Client.CoreV1(); resource {
	case "":
		return core.Namespaces().Get(r.Context(), namespace, metav1.GetOptions{})
	case "secrets":
		return serve(r, core.Secrets(namespace), name, &corev1.Secret{})
	case "configmaps":
		return serve(r, core.ConfigMaps(namespace), name, &corev1.ConfigMap{})
	}
	return nil, fmt.Errorf("%s is not served", r.URL.Path)
}

// objects is a typed client of the fake API server.
type objects[T any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

func serve[T runtime.Object](r *http.Request, from objects[T], name string, object T) (runtime.Object, error) {
	switch r.Method {
	case http.MethodGet:
		return from.Get(r.Context(), name, metav1.GetOptions{})
	case http.MethodDelete:
		opts := metav1.DeleteOptions{}
		if err := json.NewDecoder(r.Body).Decode(&opts); err != nil {
			return nil, err
		}
		return &metav1.Status{}, from.Delete(r.Context(), name, opts)
	}
	if err := json.NewDecoder(r.Body).Decode(object); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		return from.Create(r.Context(), object, metav1.CreateOptions{})
	}
	return from.Update(r.Context(), object, metav1.UpdateOptions{})
}
