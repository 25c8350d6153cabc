// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/cluster/workernodes"
)

const (
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
