// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"certrotation.dev/registry/edition"
)

// logged is a pod of the hosted control plane, whose node is asked for its log.
const logged = "logged"

// access is how somebody reaches the hosted control plane: by a certificate or by the token of a service account.
type access struct {
	bundle, cert, key []byte
	token             string
	// forAdmin means that the certificate is a front proxy's, which asks for an administrator.
	forAdmin bool
}

// hostedPlane is the control plane of the sample.
type hostedPlane struct {
	*system

	mu sync.Mutex
	// failures are requests that were not trusted, or did not trust. interrupted are those that a server which ended has
	// not answered, by their error.
	failures              []string
	requests, interrupted int
	reasons               map[string]int
	// searched is how far the logs of the pods were searched, by file.
	searched map[string]int
}

// newest returns the newest edition of a name.
func (p *hostedPlane) newest(ctx context.Context, name string) (*corev1.Secret, error) {
	list, err := p.Client.CoreV1().Secrets(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: edition.LabelName + "=" + name})
	if err != nil {
		return nil, err
	}
	var all []*edition.Edition
	byName := map[string]*corev1.Secret{}
	for i := range list.Items {
		all = append(all, edition.Of(&list.Items[i]))
		byName[list.Items[i].Name] = &list.Items[i]
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no edition of %s", name)
	}
	edition.Order(all)
	return byName[all[len(all)-1].Name], nil
}

// current returns what an administrator has now, without a token.
func (p *hostedPlane) current(ctx context.Context) (*access, error) { return p.by(ctx, "admin") }

// frontProxy returns what a front proxy has now.
func (p *hostedPlane) frontProxy(ctx context.Context) (*access, error) {
	out, err := p.by(ctx, "front-proxy")
	if err != nil {
		return nil, err
	}
	out.forAdmin = true
	return out, nil
}

// by returns the access by the newest edition of a certificate.
func (p *hostedPlane) by(ctx context.Context, certificate string) (*access, error) {
	bundle, err := p.newest(ctx, "ca-bundle")
	if err != nil {
		return nil, err
	}
	pair, err := p.newest(ctx, certificate)
	if err != nil {
		return nil, err
	}
	return &access{bundle: bundle.Data[edition.BundleKey], cert: pair.Data[corev1.TLSCertKey], key: pair.Data[corev1.TLSPrivateKeyKey]}, nil
}

// handOut returns what an administrator has now, with a new token of a service account.
func (p *hostedPlane) handOut(t *testing.T) *access {
	t.Helper()
	var out *access
	until(t, "there is a token", func(ctx context.Context) error {
		var err error
		if out, err = p.current(ctx); err != nil {
			return err
		}
		client, err := p.connect(ctx, out)
		if err != nil {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
		if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		token, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		out.token = token.Status.Token
		return nil
	})
	return out
}

// connect returns a client of one of the kube-apiservers, another one each time.
func (p *hostedPlane) connect(ctx context.Context, a *access) (kubernetes.Interface, error) {
	pods, err := p.ready(ctx, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, errors.New("no kube-apiserver is ready")
	}
	p.mu.Lock()
	pod := pods[p.requests%len(pods)]
	p.requests++
	p.mu.Unlock()
	config := &rest.Config{
		Host: "https://" + net.JoinHostPort(pod.Status.PodIP, "6443"), QPS: -1, Timeout: 10 * time.Second,
		TLSClientConfig: rest.TLSClientConfig{ServerName: "kubernetes", CAData: a.bundle},
	}
	if a.cert == nil {
		config.BearerToken = a.token
	} else {
		config.CertData, config.KeyData = a.cert, a.key
	}
	if a.forAdmin {
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return transport.NewAuthProxyRoundTripper("admin", "", []string{user.SystemPrivilegedGroup}, nil, rt)
		})
	}
	return kubernetes.NewForConfig(config)
}

// always returns what was handed out.
func (a *access) always(context.Context) (*access, error) {
	out := *a
	out.token = ""
	return &out, nil
}

// runLogged makes the pod whose log is read.
func (p *hostedPlane) runLogged(t *testing.T, a *access) {
	t.Helper()
	client, err := p.connect(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "there is a pod with a log", func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: logged},
			Spec: corev1.PodSpec{
				NodeName: "node", ServiceAccountName: "reader", AutomountServiceAccountToken: new(false),
				Containers: []corev1.Container{{Name: logged, Image: "example.com/logged"}},
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		// The operator may not have registered the node yet.
		return readLog(ctx, client)
	})
}

func readLog(ctx context.Context, client kubernetes.Interface) error {
	// DoRaw would not say what was not found.
	return client.CoreV1().Pods(metav1.NamespaceDefault).GetLogs(logged, &corev1.PodLogOptions{}).Do(ctx).Error()
}

// use reaches the control plane all the time by what credentials returns, until the returned function is called.
func (p *hostedPlane) use(t *testing.T, who string, credentials func(context.Context) (*access, error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			err := p.request(ctx, who, i, credentials)
			if err == nil || ctx.Err() != nil {
				continue
			}
			p.mu.Lock()
			if network(err) {
				p.interrupted++
				p.reasons[err.Error()]++
			} else {
				p.failures = append(p.failures, who+": "+err.Error())
			}
			p.mu.Unlock()
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

func (p *hostedPlane) request(ctx context.Context, who string, i int, credentials func(context.Context) (*access, error)) error {
	now, err := credentials(ctx)
	if err != nil {
		return err
	}
	client, err := p.connect(ctx, now)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("stored-%s-%d", who, i%10)
	secrets := client.CoreV1().Secrets(metav1.NamespaceDefault)
	if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"a": []byte("b")}}
	if _, err = secrets.Create(ctx, stored, metav1.CreateOptions{}); err != nil {
		return err
	}
	return readLog(ctx, client)
}

// network reports whether a request has failed because a server has ended or a member of etcd was replaced, and not
// because somebody was not trusted.
func network(err error) bool {
	text := err.Error()
	return !strings.Contains(text, "x509") && !strings.Contains(text, "tls:") && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err)
}
