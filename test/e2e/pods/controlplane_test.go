// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/cluster/workernodes"
)

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

const (
	// logged is a pod of the hosted control plane, whose node is asked for its log.
	logged = "logged"
	// untouched is a Secret that only a rewrite of everything encrypts anew.
	untouched = "untouched"
	// maxInterrupted is the percentage of the requests that may be interrupted.
	maxInterrupted = 1
)

// TestControlPlanes rotates all credentials of hosted control planes, all at once, in both phases. All the time, clients
// use them by what was handed out last, and by what was handed out in the phase before. Each request is one of
// kube-apiserver to etcd, its members and a webhook too, and asks a kubelet.
func TestControlPlanes(t *testing.T) {
	s := besideScenarios(t, append([]string{workernodes.OperatorNamespace}, workernodes.PlaneNamespaces...)...)
	if err := s.InstallControlPlanes(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The second plane is asked to rotate as any other signer is. Only an operation begins the rotation of keys.
	starts := [][][]string{
		{operation("rotate-credentials-start")},
		{operation("rotate-serviceaccount-key-start;rotate-etcd-encryption-key-start"), {"rotate", "ca"}},
	}
	for i, namespace := range workernodes.PlaneNamespaces {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			of := *s
			of.namespace = namespace
			t.Cleanup(func() { of.tellIfFailed(t) })
			p := &hostedPlane{system: &of, reasons: map[string]int{}, searched: map[string]int{}}
			p.rotate(t, starts[i])
		})
	}
}

func operation(name string) []string { return []string{"operate", "control-plane", name} }

// rotate rotates all credentials. start are the commands that begin it.
func (p *hostedPlane) rotate(t *testing.T, start [][]string) {
	t.Helper()
	handedOut := map[string]*access{}
	before := p.handOut(t)
	handedOut["before"] = before
	p.runLogged(t, before)
	formerKey := p.storeUntouched(t, before)
	p.searchLogs(nil)
	stop := p.use(t, "newest", p.current)
	stopProxy := p.use(t, "front-proxy", p.frontProxy)
	stopBefore := p.use(t, "before", before.always)
	p.reach(t, edition.Prepared, start...)
	prepared := p.handOut(t)
	handedOut["prepared"] = prepared
	p.matrix(t, handedOut, map[string]bool{"before": true, "prepared": true})
	stopBefore()
	stopPrepared := p.use(t, "prepared", prepared.always)
	p.reach(t, edition.Completed, operation("rotate-credentials-complete"))
	stop()
	stopProxy()
	stopPrepared()
	handedOut["completed"] = p.handOut(t)
	p.matrix(t, handedOut, map[string]bool{"before": false, "prepared": true, "completed": true})
	until(t, "every trust domain is at rest", p.atRest)
	p.encryptedAnew(t, formerKey)
	p.tellTraffic(t)
}

func (p *hostedPlane) tellTraffic(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("traffic: %d requests, interrupted: %d, not trusted: %d", p.requests, p.interrupted, len(p.failures))
	if len(p.failures) > 0 || p.requests == 0 {
		t.Errorf("requests failed: %s", strings.Join(p.failures, "; "))
	}
	for reason, n := range p.reasons {
		t.Logf("interrupted %d times: %s", n, reason)
	}
	if p.interrupted*100 > p.requests*maxInterrupted {
		t.Errorf("%d of %d requests were interrupted, want at most %d %%", p.interrupted, p.requests, maxInterrupted)
	}
}

// reach runs commands of the plugin and waits for the phase. Meanwhile, no server of the plane may log a certificate
// that it or its peer refuses.
func (p *hostedPlane) reach(t *testing.T, phase edition.Phase, commands ...[]string) {
	t.Helper()
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), p.Binary("kubectl-certrotation"), append(slices.Clone(command), "-n", p.namespace)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Installation.Cluster.Kubeconfig())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	until(t, "all credentials are "+string(phase), func(ctx context.Context) error {
		p.searchLogs(t)
		plane, err := p.rot.ConfigV1alpha1().RotationConfigurations(p.namespace).Get(ctx, "control-plane", metav1.GetOptions{})
		if err != nil {
			return err
		}
		rotations := edition.RotationsOf(plane)
		for _, c := range edition.AllCredentials() {
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

// matrix prints who has access now, and compares it with what is wanted: by a certificate, and by a token.
func (p *hostedPlane) matrix(t *testing.T, handedOut map[string]*access, want map[string]bool) {
	t.Helper()
	now, err := p.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for when, wanted := range want {
		a := handedOut[when]
		// With the newest bundle, so that the token or certificate alone decides.
		byToken, byCertificate := &access{bundle: now.bundle, token: a.token}, &access{bundle: now.bundle, cert: a.cert, key: a.key}
		for how, a := range map[string]*access{"certificate": byCertificate, "token": byToken} {
			until(t, fmt.Sprintf("the access by the %s of %s is %t", how, when, wanted), func(ctx context.Context) error {
				client, err := p.connect(ctx, a)
				if err != nil {
					return err
				}
				_, err = client.CoreV1().Secrets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
				if how == "token" && apierrors.IsForbidden(err) {
					// It is known who asks.
					err = nil
				}
				if wanted && err != nil || !wanted && !apierrors.IsUnauthorized(err) {
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

// storeUntouched stores a Secret that nobody touches, and returns the key that encrypts it.
func (p *hostedPlane) storeUntouched(t *testing.T, a *access) *kinds.ETCDEncryptionKey {
	t.Helper()
	client, err := p.connect(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a Secret is stored", func(ctx context.Context) error {
		_, err := client.CoreV1().Secrets(metav1.NamespaceDefault).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: untouched}, Data: map[string][]byte{"a": []byte(untouched)},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	secret, err := p.newest(t.Context(), "etcd-encryption-key")
	if err != nil {
		t.Fatal(err)
	}
	key, err := kinds.LoadETCDEncryptionKey(secret.Data)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// encryptedAnew fails unless what was stored before the rotation can be read, though no kube-apiserver has the former key.
func (p *hostedPlane) encryptedAnew(t *testing.T, former *kinds.ETCDEncryptionKey) {
	t.Helper()
	until(t, "no kube-apiserver has the former encryption key", func(ctx context.Context) error {
		list, err := p.Client.CoreV1().Secrets(p.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		configurations := 0
		for i := range list.Items {
			configuration, found := list.Items[i].Data["encryption.yaml"]
			if !found {
				continue
			}
			configurations++
			if bytes.Contains(configuration, []byte(former.ConfigurationSecret())) {
				return fmt.Errorf("%s has it", list.Items[i].Name)
			}
		}
		if configurations == 0 {
			return errors.New("there is no configuration of encryption")
		}
		return nil
	})
	until(t, "what was stored before can be read", func(ctx context.Context) error {
		now, err := p.current(ctx)
		if err != nil {
			return err
		}
		client, err := p.connect(ctx, now)
		if err != nil {
			return err
		}
		stored, err := client.CoreV1().Secrets(metav1.NamespaceDefault).Get(ctx, untouched, metav1.GetOptions{})
		if err == nil && string(stored.Data["a"]) != untouched {
			err = fmt.Errorf("it has %d values of data", len(stored.Data))
		}
		return err
	})
}

// searchLogs searches what was logged since the last call. A refused certificate between kube-apiserver, etcd and its
// members would otherwise show only as a time-out. Without a test it only skips what was logged.
func (p *hostedPlane) searchLogs(t *testing.T) {
	for _, node := range p.Network.Nodes() {
		// The pattern is valid. Logs of deleted pods are removed, so each poll searches.
		files, _ := filepath.Glob(node.Path("/var/log/pods/" + p.namespace + "_*/*/*.log"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			from := p.searched[file]
			if from > len(text) {
				from = 0
			}
			end := from + bytes.LastIndexByte(text[from:], '\n') + 1
			p.searched[file] = end
			if t == nil {
				continue
			}
			for line := range strings.Lines(string(text[from:end])) {
				if refusedCertificate.MatchString(line) {
					t.Errorf("%s: %s: %.300s", node.Name(), filepath.Base(filepath.Dir(file)), strings.TrimSpace(line))
					break
				}
			}
		}
	}
}
