// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
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

// TestAPI asks as users do.
func TestAPI(t *testing.T) {
	s := serve(t)
	demo(t, s)
	client := s.own
	rotations := client.CertrotationV1alpha1().CertificateRotations(demoNamespace)
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

	t.Run("kubectl", func(t *testing.T) { testKubectl(t, s) })
	t.Run("paging", func(t *testing.T) { testPaging(t, client) })
	t.Run("metadata only", func(t *testing.T) { testMetadataOnly(t, s) })
	t.Run("informer", func(t *testing.T) { testInformer(t, s, client) })
	t.Run("reader", func(t *testing.T) { testReader(t, s) })
	t.Run("rotate dry run", func(t *testing.T) { testRotateDryRun(t, s, client) })
	t.Run("acknowledge", func(t *testing.T) { testAcknowledge(t, s, client) })
	t.Run("waive", func(t *testing.T) { testWaive(t, s, client) })
	t.Run("rotate", func(t *testing.T) { testRotate(t, s, client) })
	t.Run("listeners", func(t *testing.T) { testListeners(t, s) })
	t.Run("termination", func(t *testing.T) { testTermination(t, s) })
}

func ready(rotation *v1alpha1.CertificateRotation) *metav1.Condition {
	for i := range rotation.Status.Conditions {
		if rotation.Status.Conditions[i].Type == "Ready" {
			return &rotation.Status.Conditions[i]
		}
	}
	return nil
}

func testKubectl(t *testing.T, s *served) {
	eventually(t, "kube-apiserver publishes the OpenAPI of the group", func(context.Context) error {
		out, err := s.kubectl(t, s.Kubeconfig(), "explain", "certificaterotation")
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
			want: append([]string{"NAMESPACE", "ROLE", "SIGNER", "STAGE", "TRUSTED", "EXPIRES", "ROTATES", "READY", "AGE", demoNamespace}, demoNames()...),
			not:  []string{"SERIAL"},
		},
		"wide":           {args: []string{"get", "certrot", "-n", demoNamespace, "-o", "wide"}, want: []string{"SERIAL", "KEY", "BLOCKER", "ECDSA-P256"}},
		"bundles":        {args: []string{"get", "bundle", "-A"}, want: []string{"ANCHORS", "SAFE-TO-REMOVE", "service-ca-bundle"}},
		"category":       {args: []string{"get", "certrotation", "-n", demoNamespace}, want: []string{"certificaterotation.certrotation.dev/service-server", "bundlestatus.certrotation.dev/service-ca-bundle"}},
		"yaml":           {args: []string{"get", "certrot", "-n", demoNamespace, "service-server", "-o", "yaml"}, want: []string{"role: Leaf", "fingerprint:", "type: Ready"}, not: []string{"PRIVATE KEY", "ownerReferences"}},
		"by role":        {args: []string{"get", "certrot", "-n", demoNamespace, "--field-selector", "spec.role=Signer"}, want: []string{"service-signer"}, not: []string{"service-server"}},
		"by stage":       {args: []string{"get", "certrot", "-n", demoNamespace, "--field-selector", "status.stage=Draining"}, want: []string{"No resources found"}},
		"by label":       {args: []string{"get", "certrot", "-n", demoNamespace, "-l", "certrotation.dev/role=leaf"}, want: []string{"service-server"}, not: []string{"Signer"}},
		"chunks":         {args: []string{"get", "certrot", "-n", demoNamespace, "--chunk-size=2"}, want: demoNames()},
		"describe":       {args: []string{"describe", "certrot", "-n", demoNamespace, "service-server"}, want: []string{"Fingerprint", "Conditions"}},
		"explain":        {args: []string{"explain", "certificaterotation.status.certificate.notAfter"}, want: []string{"CertificateRotation", "notAfter"}},
		"explain bundle": {args: []string{"explain", "bundlestatus.status.anchors.safeToRemove"}, want: []string{"BundleStatus", "safeToRemove"}},
		"wait":           {args: []string{"wait", "--for=condition=Ready", "certrot", "-n", demoNamespace, "--all", "--timeout=30s"}, want: []string{"condition met"}},
		"verbs":          {args: []string{"api-resources", "--api-group=certrotation.dev", "-o", "wide", "--no-headers"}, want: []string{"certrot", "bundle", "get,list,watch"}, not: []string{"delete", "update", "patch"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out := s.mustKubectl(t, tt.args...)
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
		// The server ends the watch after the timeout; what was printed until then is what counts.
		out, err := s.kubectl(t, s.Kubeconfig(), "get", "certrot", "-n", demoNamespace, "service-server", "-w", "--request-timeout=2s")
		if !strings.Contains(out, "ROTATES") || !strings.Contains(out, "service-server") {
			t.Errorf("kubectl get -w: %v\n%s", err, out)
		}
	})
	t.Run("unknown field", func(t *testing.T) {
		out, err := s.kubectl(t, s.Kubeconfig(), "get", "certrot", "-A", "--field-selector", "spec.rolle=Signer")
		if err == nil || !strings.Contains(out, "spec.rolle") {
			t.Errorf("%v, %s; want an error that names the field", err, out)
		}
	})
}

func testPaging(t *testing.T, client versioned.Interface) {
	rotations := client.CertrotationV1alpha1().CertificateRotations(demoNamespace)
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

// testMetadataOnly lists as the controllers of kube-controller-manager do, which prefer protobuf.
func testMetadataOnly(t *testing.T, s *served) {
	client, err := metadata.NewForConfig(s.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	resource := v1alpha1.SchemeGroupVersion.WithResource("certificaterotations")
	list, err := client.Resource(resource).Namespace(demoNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(demoNames()) {
		t.Errorf("%d objects, want %d", len(list.Items), len(demoNames()))
	}
}

// testInformer watches with client-go's own informer while a Secret is deleted and made again.
func testInformer(t *testing.T, s *served, client versioned.Interface) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(demoNamespace))
	informer := factory.Certrotation().V1alpha1().CertificateRotations()
	lister, hasSynced := informer.Lister().CertificateRotations(demoNamespace), informer.Informer().HasSynced
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), hasSynced) {
		t.Fatal("the informer does not sync")
	}
	secrets := s.client.CoreV1().Secrets(demoNamespace)
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
	create(t, s.client, secret)
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

// testReader has a user who may read the two resources, and nothing else.
func testReader(t *testing.T, s *served) {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "certrotation-reader"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations", "bundlestatuses"},
			Verbs: []string{"get", "list", "watch"},
		}},
	}
	if _, err := s.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader"}},
	}
	if _, err := s.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := s.UserKubeconfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	// The denial of a moment ago may be cached.
	eventually(t, "the reader's rights", func(context.Context) error {
		out, err := s.kubectl(t, kubeconfig, "get", "certrot,bundle", "-A")
		if err == nil && !strings.Contains(out, "service-signer") {
			err = fmt.Errorf("the signer is missing: %s", out)
		}
		return err
	})
	if out, err := s.kubectl(t, kubeconfig, "get", "secrets", "-n", demoNamespace); err == nil {
		t.Errorf("the reader sees Secrets:\n%s", out)
	}
	config, err := s.UserConfig("reader")
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CertrotationV1alpha1().CertificateRotations(demoNamespace).
		Rotate(t.Context(), "service-signer", &v1alpha1.RotationRequest{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the reader rotates: %v, want Forbidden", err)
	}
}

// testListeners checks health on both ports against the CA of the system's signer.
func testListeners(t *testing.T, s *served) {
	secret, err := s.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), "certrotation-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := httpsClient(t, secret.Data[corev1.TLSCertKey])
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusForbidden, "/debug/pprof/heap": http.StatusForbidden,
		"/apis/certrotation.dev/v1alpha1/certificaterotations": http.StatusForbidden, "/apis/certrotation.dev/v1alpha1/reviews": http.StatusForbidden,
	} {
		if code, err := status(t.Context(), client, localURL(s.securePort, path)); err != nil || code != want {
			t.Errorf("%s for anybody: %d, %v; want %d", path, code, err, want)
		}
	}
}

// testTermination ends the process as a node does.
func testTermination(t *testing.T, s *served) {
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	code, err := s.process.Wait(ctx)
	if err != nil || code != 0 {
		t.Errorf("exit code %d, %v; want 0\n%s", code, err, s.process.LogTail())
	}
}
