// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/generated/informers/externalversions"
	"certrotation.dev/registry/trust"
)

// TestAPI makes the requests of users.
func TestAPI(t *testing.T) {
	d := newDemo(t, "api")
	rotations := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace)
	eventually(t, "the certificates of the demo", func(ctx context.Context) error {
		list, err := rotations.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if c := ready(&list.Items[i]); c == nil || c.Status != metav1.ConditionTrue {
				return fmt.Errorf("%s is not ready: %+v", list.Items[i].Name, c)
			}
		}
		if len(list.Items) != len(demoNames()) {
			return fmt.Errorf("%d certificates, want %d", len(list.Items), len(demoNames()))
		}
		return nil
	})

	t.Run("kubectl", func(t *testing.T) { testKubectl(t, d) })
	t.Run("paging", func(t *testing.T) { testPaging(t, d) })
	t.Run("metadata only", func(t *testing.T) { testMetadataOnly(t, d) })
	t.Run("informer", func(t *testing.T) { testInformer(t, d) })
	t.Run("reader", func(t *testing.T) { testReader(t, d) })
	t.Run("rotate dry run", func(t *testing.T) { testRotateDryRun(t, d) })
	t.Run("acknowledge", func(t *testing.T) { testAcknowledge(t, d) })
	t.Run("waive", func(t *testing.T) { testWaive(t, d) })
	t.Run("rotate", func(t *testing.T) { testRotate(t, d) })
	t.Run("listeners", func(t *testing.T) { testListeners(t, d) })
	t.Run("termination", func(t *testing.T) { testTermination(t, d) })
}

func ready(rotation *v1alpha1.CertificateRotation) *metav1.Condition {
	for i := range rotation.Status.Conditions {
		if rotation.Status.Conditions[i].Type == "Ready" {
			return &rotation.Status.Conditions[i]
		}
	}
	return nil
}

func testKubectl(t *testing.T, d *demo) {
	eventually(t, "kube-apiserver publishes the OpenAPI of the group", func(context.Context) error {
		out, err := d.kubectl(t, d.Kubeconfig(), "explain", "certificaterotation")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	tests := map[string]struct {
		args []string
		want []string
		not  []string
	}{
		"table": {
			args: []string{"get", "certificaterotations", "-A"},
			want: append([]string{"NAMESPACE", "ROLE", "SIGNER", "STAGE", "TRUSTED", "EXPIRES", "ROTATES", "READY", "AGE", d.namespace}, demoNames()...),
			not:  []string{"SERIAL"},
		},
		"wide":           {args: []string{"get", "certrot", "-n", d.namespace, "-o", "wide"}, want: []string{"SERIAL", "KEY", "BLOCKER", "ECDSA-P256"}},
		"bundles":        {args: []string{"get", "bundle", "-A"}, want: []string{"ANCHORS", "SAFE-TO-REMOVE", "service-ca-bundle"}},
		"category":       {args: []string{"get", "certrotation", "-n", d.namespace}, want: []string{"certificaterotation.certrotation.dev/service-server", "bundlestatus.certrotation.dev/service-ca-bundle"}},
		"yaml":           {args: []string{"get", "certrot", "-n", d.namespace, "service-server", "-o", "yaml"}, want: []string{"role: Leaf", "fingerprint:", "type: Ready"}, not: []string{"PRIVATE KEY", "ownerReferences"}},
		"by role":        {args: []string{"get", "certrot", "-n", d.namespace, "--field-selector", "spec.role=Signer"}, want: []string{"service-signer"}, not: []string{"service-server"}},
		"by stage":       {args: []string{"get", "certrot", "-n", d.namespace, "--field-selector", "status.stage=Draining"}, want: []string{"No resources found"}},
		"by label":       {args: []string{"get", "certrot", "-n", d.namespace, "-l", "certrotation.dev/role=leaf"}, want: []string{"service-server"}, not: []string{"Signer"}},
		"chunks":         {args: []string{"get", "certrot", "-n", d.namespace, "--chunk-size=2"}, want: demoNames()},
		"describe":       {args: []string{"describe", "certrot", "-n", d.namespace, "service-server"}, want: []string{"Fingerprint", "Conditions"}},
		"explain":        {args: []string{"explain", "certificaterotation.status.certificate.notAfter"}, want: []string{"CertificateRotation", "notAfter"}},
		"explain bundle": {args: []string{"explain", "bundlestatus.status.anchors.safeToRemove"}, want: []string{"BundleStatus", "safeToRemove"}},
		"its version":    {args: []string{"get", "--raw", "/openapi/v3/apis/certrotation.dev/v1alpha1"}, want: []string{`"title":"certrotation"`, `"version":"v`}},
		"wait":           {args: []string{"wait", "--for=condition=Ready", "certrot", "-n", d.namespace, "--all", "--timeout=30s"}, want: []string{"condition met"}},
		"verbs":          {args: []string{"api-resources", "--api-group=certrotation.dev", "-o", "wide", "--no-headers"}, want: []string{"certrot", "bundle", "get,list,watch"}, not: []string{"delete", "update", "patch"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out := d.mustKubectl(t, tt.args...)
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("kubectl %v does not print %q:\n%s", tt.args, want, out)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out, not) {
					t.Errorf("kubectl %v prints %q:\n%s", tt.args, not, out)
				}
			}
		})
	}
	t.Run("watch", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		watch := exec.CommandContext(ctx, d.Tool("kubectl"), "--kubeconfig", d.Kubeconfig(), "get", "certrot", "-n", d.namespace, "service-server", "-w")
		out, err := watch.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := watch.Start(); err != nil {
			t.Fatal(err)
		}
		printed := ""
		for lines := bufio.NewScanner(out); !strings.Contains(printed, "service-server") && lines.Scan(); {
			printed += lines.Text() + "\n"
		}
		cancel()
		_ = watch.Wait() // The watch was killed, because it does not end by itself.
		if !strings.Contains(printed, "ROTATES") || !strings.Contains(printed, "service-server") {
			t.Errorf("kubectl get -w prints %q", printed)
		}
	})
	t.Run("unknown field", func(t *testing.T) {
		out, err := d.kubectl(t, d.Kubeconfig(), "get", "certrot", "-A", "--field-selector", "spec.rolle=Signer")
		if err == nil || !strings.Contains(out, "spec.rolle") {
			t.Errorf("%v, %s; want an error that names the field", err, out)
		}
	})
}

func testPaging(t *testing.T, d *demo) {
	rotations := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace)
	var names, versions []string
	options := metav1.ListOptions{Limit: 3}
	for {
		page, err := rotations.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, page.ResourceVersion)
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if !slices.Equal(names, demoNames()) || len(versions) != 2 || versions[0] != versions[1] {
		t.Errorf("pages hold %v at %v; want %v in two pages of one version", names, versions, demoNames())
	}
}

// testMetadataOnly lists like the controllers of kube-controller-manager, which prefer protobuf.
func testMetadataOnly(t *testing.T, d *demo) {
	client, err := metadata.NewForConfig(d.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	resource := v1alpha1.SchemeGroupVersion.WithResource("certificaterotations")
	list, err := client.Resource(resource).Namespace(d.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(demoNames()) {
		t.Errorf("%d objects, want %d", len(list.Items), len(demoNames()))
	}
}

// testInformer watches with client-go's informer while a Secret is deleted and recreated.
func testInformer(t *testing.T, d *demo) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(d.own, 0, externalversions.WithNamespace(d.namespace))
	informer := factory.Certrotation().V1alpha1().CertificateRotations()
	lister, hasSynced := informer.Lister().CertificateRotations(d.namespace), informer.Informer().HasSynced
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), hasSynced) {
		t.Fatal("the informer does not sync")
	}
	secrets := d.client.CoreV1().Secrets(d.namespace)
	secret, err := secrets.Get(ctx, "service-client-b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := lister.Get(secret.Name)
	if err != nil {
		t.Fatal(err)
	}
	if before.UID == secret.UID {
		t.Errorf("the virtual object has the UID of its Secret")
	}
	if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missing leaf", func(context.Context) error {
		rotation, err := lister.Get(secret.Name)
		if err != nil {
			return err
		}
		if c := ready(rotation); c == nil || c.Reason != string(trust.ReasonMissing) {
			return fmt.Errorf("condition Ready is %+v, want the reason Missing", c)
		}
		return nil
	})
	secret.ResourceVersion, secret.UID = "", ""
	create(t, d.client, secret)
	eventually(t, "the leaf made again", func(context.Context) error {
		rotation, err := lister.Get(secret.Name)
		if err != nil {
			return err
		}
		if c := ready(rotation); c == nil || c.Status != metav1.ConditionTrue || rotation.UID == before.UID {
			return fmt.Errorf("condition Ready is %+v, UID %s, before %s", c, rotation.UID, before.UID)
		}
		return nil
	})
}

// testReader acts as a user who may only read the two resources.
func testReader(t *testing.T, d *demo) {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "certrotation-reader"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations", "bundlestatuses"},
			Verbs: []string{"get", "list", "watch"},
		}},
	}
	if _, err := d.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader"}},
	}
	if _, err := d.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := d.UserKubeconfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	// kube-apiserver may have cached the earlier denial.
	eventually(t, "the reader's rights", func(context.Context) error {
		out, err := d.kubectl(t, kubeconfig, "get", "certrot,bundle", "-A")
		if err == nil && !strings.Contains(out, "service-signer") {
			err = fmt.Errorf("the signer is missing: %s", out)
		}
		return err
	})
	if out, err := d.kubectl(t, kubeconfig, "get", "secrets", "-n", d.namespace); err == nil {
		t.Errorf("the reader sees Secrets:\n%s", out)
	}
	config, err := d.UserConfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CertrotationV1alpha1().CertificateRotations(d.namespace).
		Rotate(t.Context(), "service-signer", &v1alpha1.RotationRequest{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the reader rotates: %v, want Forbidden", err)
	}
}

// testListeners checks health on both ports with the CA of the system's signer.
func testListeners(t *testing.T, d *demo) {
	secret, err := d.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), "certrotation-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := httpsClient(t, secret.Data[corev1.TLSCertKey])
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusForbidden, "/debug/pprof/heap": http.StatusForbidden,
		"/apis/certrotation.dev/v1alpha1/certificaterotations": http.StatusForbidden, "/apis/certrotation.dev/v1alpha1/reviews": http.StatusForbidden,
	} {
		if code, err := status(t.Context(), client, d.APIURL()+path); err != nil || code != want {
			t.Errorf("%s for anybody: %d, %v; want %d", path, code, err, want)
		}
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

func status(ctx context.Context, client *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// testTermination terminates the process as a node does, and restarts it for the next test.
func testTermination(t *testing.T, d *demo) {
	if err := d.Serve.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, err := d.Serve.Wait(ctx)
	if err != nil || code != 0 {
		t.Errorf("exit code %d, %v; want 0\n%s", code, err, d.Serve.LogTail())
	}
	if err := d.Serve.Start(); err != nil {
		t.Fatal(err)
	}
	if err := d.Serve.WaitReady(ctx, func(ctx context.Context) error {
		_, err := d.own.CertrotationV1alpha1().CertificateRotations("").List(ctx, metav1.ListOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
