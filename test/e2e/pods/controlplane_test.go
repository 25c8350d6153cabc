// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/cluster/workernodes"
)

// access is how somebody reaches the hosted control plane: by a certificate or by the token of a service account.
type access struct {
	bundle, cert, key []byte
	token             string
}

// hostedPlane is the control plane of the sample.
type hostedPlane struct {
	*system

	mu sync.Mutex
	// failures are requests that were not trusted, or did not trust. interrupted is the number of those that a server
	// which ended has not answered.
	failures              []string
	requests, interrupted int
}

// logged is a pod of the hosted control plane, whose node is asked for its log.
const logged = "logged"

// TestControlPlane rotates all credentials of a hosted control plane in both phases. All the time, clients use it by what
// was handed out last, and by what was handed out in the phase before. Each request is one of kube-apiserver to etcd, its
// members and a webhook too, and asks a kubelet.
func TestControlPlane(t *testing.T) {
	s := *besideScenarios(t, workernodes.OperatorNamespace, workernodes.PlaneNamespace)
	s.namespace = workernodes.PlaneNamespace
	t.Cleanup(func() { s.tellIfFailed(t) })
	if err := s.InstallControlPlane(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &hostedPlane{system: &s}
	handedOut := map[string]*access{}
	before := p.handOut(t)
	handedOut["before"] = before
	p.runLogged(t, before)
	stop := p.use(t, "newest", p.current)
	stopBefore := p.use(t, "before", before.always)
	p.operate(t, "rotate-credentials-start", edition.Prepared)
	prepared := p.handOut(t)
	handedOut["prepared"] = prepared
	p.matrix(t, handedOut, map[string]bool{"before": true, "prepared": true})
	stopBefore()
	stopPrepared := p.use(t, "prepared", prepared.always)
	p.operate(t, "rotate-credentials-complete", edition.Completed)
	stop()
	stopPrepared()
	handedOut["completed"] = p.handOut(t)
	p.matrix(t, handedOut, map[string]bool{"before": false, "prepared": true, "completed": true})
	until(t, "every trust domain is at rest", p.atRest)
	p.encryptedAnew(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("traffic: %d requests, interrupted: %d, not trusted: %d", p.requests, p.interrupted, len(p.failures))
	if len(p.failures) > 0 || p.requests == 0 {
		t.Errorf("requests failed: %s", strings.Join(p.failures, "; "))
	}
}

// operate asks the operator for an operation and waits for the phase.
func (p *hostedPlane) operate(t *testing.T, operation string, phase edition.Phase) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.Binary("kubectl-certrotation"), "operate", "-n", p.namespace, "control-plane", operation)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Installation.Cluster.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, out)
	}
	until(t, "all credentials are "+string(phase), func(ctx context.Context) error {
		plane, err := p.rot.ConfigV1alpha1().RotationConfigurations(p.namespace).Get(ctx, "control-plane", metav1.GetOptions{})
		if err != nil {
			return err
		}
		rotations := edition.RotationsOf(plane)
		for _, c := range []edition.Credentials{edition.Authorities, edition.ServiceAccountKey, edition.ETCDEncryptionKey} {
			if state := rotations.Of(c); state.Phase != phase {
				return fmt.Errorf("%s is %s; annotations %v", c, state.Phase, plane.Annotations)
			}
		}
		return nil
	})
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
func (p *hostedPlane) current(ctx context.Context) (*access, error) {
	bundle, err := p.newest(ctx, "ca-bundle")
	if err != nil {
		return nil, err
	}
	pair, err := p.newest(ctx, "admin")
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
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
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
	_, err = client.CoreV1().Pods(metav1.NamespaceDefault).GetLogs(logged, &corev1.PodLogOptions{}).DoRaw(ctx)
	return err
}

// network reports whether a request has failed because a server has ended or a member of etcd was replaced, and not
// because somebody was not trusted.
func network(err error) bool {
	text := err.Error()
	return !strings.Contains(text, "x509") && !strings.Contains(text, "tls:") && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err)
}

// matrix prints who has access now, and compares it with what is wanted: by a certificate, and by a token.
func (p *hostedPlane) matrix(t *testing.T, handedOut map[string]*access, want map[string]bool) {
	t.Helper()
	now, err := p.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for when, wanted := range want {
		a := handedOut[when]
		// So that the token alone decides.
		byToken := &access{bundle: now.bundle, token: a.token}
		for how, a := range map[string]*access{"certificate": a, "token": byToken} {
			until(t, fmt.Sprintf("the access by the %s of %s is %t", how, when, wanted), func(ctx context.Context) error {
				client, err := p.connect(ctx, a)
				if err != nil {
					return err
				}
				_, err = client.Discovery().ServerVersion()
				if how == "token" && err == nil {
					_, err = client.CoreV1().Secrets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
					if apierrors.IsForbidden(err) {
						// It is known who asks.
						err = nil
					}
				}
				if (err == nil) != wanted {
					return fmt.Errorf("it is not: %w", err)
				}
				return nil
			})
			t.Logf("%-11s of %-9s: %t", how, when, wanted)
		}
	}
}

// atRest reports what is not at rest.
func (p *hostedPlane) atRest(ctx context.Context) error {
	rows, err := p.rot.CertrotationV1alpha1().CertificateRotations(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var open []string
	for i := range rows.Items {
		if row := &rows.Items[i]; row.Status.Stage != v1alpha1.StageStable {
			open = append(open, fmt.Sprintf("%s is %s: %s", row.Name, row.Status.Stage, blockers(row)))
		}
	}
	if len(open) > 0 || len(rows.Items) == 0 {
		return fmt.Errorf("of %d rows: %s", len(rows.Items), strings.Join(open, "; "))
	}
	return nil
}

// encryptedAnew fails unless what is stored can be read, though only the newest key is left.
func (p *hostedPlane) encryptedAnew(t *testing.T) {
	t.Helper()
	until(t, "everything that is stored can be read", func(ctx context.Context) error {
		now, err := p.current(ctx)
		if err != nil {
			return err
		}
		client, err := p.connect(ctx, now)
		if err != nil {
			return err
		}
		list, err := client.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("nothing is stored")
		}
		return err
	})
}
