// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster/installation"
)

// reviews is the path to which kube-apiserver sends admission reviews.
const reviews = "/apis/certrotation.dev/v1alpha1/reviews"

// TestBorders sends unauthorized requests to the port of serve. serve runs with its own rights and the manifests
// of manifests/base.
func TestBorders(t *testing.T) {
	d := newDemo(t, "borders")
	configurations := d.own.ConfigV1alpha1().RotationConfigurations(d.namespace)
	eventually(t, "kube-apiserver asks the guard", func(ctx context.Context) error {
		_, err := configurations.Patch(ctx, "service", types.MergePatchType, []byte(brokenPatch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "admission webhook") {
			return fmt.Errorf("a broken configuration: %w", err)
		}
		return nil
	})
	t.Run("reviews", func(t *testing.T) { testReviewsAreForKubeAPIServer(t, d) })
	t.Run("large reviews", func(t *testing.T) { testLargeReviews(t, d) })
	t.Run("strangers cost nothing", func(t *testing.T) { testStrangersCostNothing(t, d) })
	t.Run("reporters", func(t *testing.T) { testReporters(t, d) })
	t.Run("records", func(t *testing.T) { testNobodyWritesRecords(t, d) })
}

// removal returns a review whose denial would name the members that depend on the bundle.
func removal(t *testing.T, d *demo) []byte {
	t.Helper()
	bundle, err := d.client.CoreV1().ConfigMaps(d.namespace).Get(t.Context(), "service-ca-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(bundle)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Namespace: d.namespace, Name: bundle.Name, Operation: admissionv1.Delete,
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			OldObject: runtime.RawExtension{Raw: old},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func testReviewsAreForKubeAPIServer(t *testing.T, d *demo) {
	body := removal(t, d)
	admin, err := d.client.CoreV1().RESTClient().Post().AbsPath(reviews).SetHeader("Content-Type", "application/json").Body(body).DoRaw(t.Context())
	if !apierrors.IsForbidden(err) || strings.Contains(string(admin), "service-") {
		t.Errorf("an administrator has it reviewed through kube-apiserver: %v\n%s", err, admin)
	}
	tenant, err := d.UserConfig("tenant")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(tenant)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.CoreV1().RESTClient().Post().AbsPath(reviews).SetHeader("Content-Type", "application/json").Body(body).DoRaw(t.Context())
	if !apierrors.IsForbidden(err) || strings.Contains(string(answer), "service-") {
		t.Errorf("a tenant has it reviewed through kube-apiserver: %v\n%s", err, answer)
	}
	for name, headers := range map[string]http.Header{
		"nobody":                 {},
		"who says that it is it": {"X-Remote-User": {"system:apiserver"}, "X-Remote-Group": {"system:masters"}},
		"who has a token":        {"Authorization": {"Bearer x"}},
	} {
		code, answer := d.direct(t, http.MethodPost, reviews, headers, body)
		if code != http.StatusForbidden && code != http.StatusUnauthorized || strings.Contains(answer, "service-") {
			t.Errorf("%s has it reviewed: %d\n%s", name, code, answer)
		}
	}
}

// testLargeReviews: the aggregation layer passes the largest possible objects. The guard fails closed here, so it
// has reviewed an allowed edit.
func testLargeReviews(t *testing.T, d *demo) {
	const namespace = "large"
	if _, err := d.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"certrotation.dev/guard": "enabled"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	maps := d.client.CoreV1().ConfigMaps(namespace)
	large, err := maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"a": strings.Repeat("a", 1000_000)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	large.Data["a"] = strings.Repeat("b", 1000_000)
	if _, err := maps.Update(t.Context(), large, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// direct requests from the port of serve itself, without a client certificate.
func (d *demo) direct(t *testing.T, method, path string, headers http.Header, body []byte) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), method, d.APIURL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = headers.Clone()
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

var questionsMetric = regexp.MustCompile(`(?m)^apiserver_request_total\{[^}]*resource="(?:tokenreviews|subjectaccessreviews)"[^}]*\} (\S+)$`)

// questions counts the TokenReviews and SubjectAccessReviews that kube-apiserver has answered.
func (d *demo) questions(t *testing.T) float64 {
	t.Helper()
	metrics, err := installation.Scrape(t.Context(), d.AdminConfig(), d.AdminConfig().Host+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, match := range questionsMetric.FindAllStringSubmatch(metrics, -1) {
		value, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// testStrangersCostNothing makes a hundred different requests, so that no cache helps. It tolerates a few reviews
// for other requests, because the aggregator requests OpenAPI meanwhile.
func testStrangersCostNothing(t *testing.T, d *demo) {
	const knocks = 100
	before := d.questions(t)
	for i := range knocks {
		headers := http.Header{"Authorization": {"Bearer " + strconv.Itoa(i)}}
		if i%2 == 0 {
			headers = http.Header{"Impersonate-User": {strconv.Itoa(i)}}
		}
		for _, path := range []string{"/apis/certrotation.dev/v1alpha1/namespaces/" + strconv.Itoa(i) + "/bundlestatuses", "/" + strconv.Itoa(i), reviews} {
			if code, answer := d.direct(t, http.MethodGet, path, headers, nil); code != http.StatusForbidden && code != http.StatusUnauthorized {
				t.Fatalf("%s answers a stranger with %d: %s", path, code, answer)
			}
		}
	}
	if asked := d.questions(t) - before; asked > knocks/10 {
		t.Errorf("strangers had kube-apiserver asked %g times", asked)
	}
	// Metrics requests with tokens cause reviews, but not without a bound.
	before = d.questions(t)
	began := time.Now()
	for i := range knocks {
		if code, _ := d.direct(t, http.MethodGet, "/metrics", http.Header{"Authorization": {"Bearer m" + strconv.Itoa(i)}}, nil); code != http.StatusUnauthorized {
			t.Errorf("/metrics answers a token that nobody gave with %d", code)
		}
	}
	if asked, most := d.questions(t)-before, 30+6*time.Since(began).Seconds(); asked > most {
		t.Errorf("%d tokens had kube-apiserver asked %g times in %s, want %g at most", knocks, asked, time.Since(began), most)
	}
}

// testReporters: the right to acknowledge to a signer does not include the right to report for every member. The
// record names the user who reported.
func testReporters(t *testing.T, d *demo) {
	role := func(name string, resourceNames ...string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"certrotation.dev"}, Resources: []string{"certificaterotations/acknowledge"}, ResourceNames: resourceNames, Verbs: []string{"create"},
		}}}
	}
	for _, r := range []*rbacv1.Role{
		role("signer-only", "service-signer"), role("client-a", "service-signer", "service-signer/client-a/client-a"), role("everybody"),
	} {
		if _, err := d.client.RbacV1().Roles(d.namespace).Create(t.Context(), r, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		bind(t, d, r.Name, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.Name})
	}
	for _, tc := range []struct {
		user, party string
		allowed     bool
	}{
		{"client-a", "client-a", true},
		{"client-a", "client-b", false},
		{"signer-only", "client-a", false},
		{"everybody", "client-a", true},
		{"everybody", "client-b", true},
		{"nobody", "client-a", false},
	} {
		t.Run(tc.user+" for "+tc.party, func(t *testing.T) {
			err := d.acknowledge(t, tc.user, tc.party)
			if tc.allowed && err != nil || !tc.allowed && !apierrors.IsForbidden(err) {
				t.Errorf("error %v, want it let through: %t", err, tc.allowed)
			}
			if tc.user == "signer-only" && (err == nil || !strings.Contains(err.Error(), "service-signer/client-a/client-a")) {
				t.Errorf("%v does not say what to bind", err)
			}
		})
	}
	kept := d.records(t)["evidence.service.client-a.client-a"].Evidence.Processes
	if len(kept) != 1 || kept[0].ReportedBy != "everybody" {
		t.Errorf("recorded %+v, want one process, last reported by everybody", kept)
	}
}

func bind(t *testing.T, d *demo, user string, role rbacv1.RoleRef) {
	t.Helper()
	if _, err := d.client.RbacV1().RoleBindings(d.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: role,
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// acknowledge reports as a user, for the only member of a party.
func (d *demo) acknowledge(t *testing.T, user, party string) error {
	t.Helper()
	_, err := d.as(t, user).CertrotationV1alpha1().CertificateRotations(d.namespace).Acknowledge(t.Context(), "service-signer", &v1alpha1.Acknowledgement{
		Party: party, Member: party, Instance: "pod", Trusts: []string{},
		StartedAt: metav1.NewMicroTime(time.Now().Add(-time.Minute)), ObservedAt: metav1.NowMicro(),
	}, metav1.CreateOptions{})
	return err
}

func (d *demo) as(t *testing.T, user string, groups ...string) versioned.Interface {
	t.Helper()
	config, err := d.UserConfig(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// testNobodyWritesRecords: no role for people permits to write records, with or without the guard. The guard also
// refuses an administrator.
func testNobodyWritesRecords(t *testing.T, d *demo) {
	users := []string{}
	for _, role := range []string{
		"view", "edit", "admin", "certrotation-viewer", "certrotation-operator", "certrotation-waiver", "certrotation-ca-installer", "certrotation-relying-party", "certrotation-configuration-editor",
	} {
		user := "has-" + role
		bind(t, d, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
		users = append(users, user)
	}
	attempts := func(t *testing.T, who versioned.Interface, name string, refused func(error) bool) {
		t.Helper()
		records, dry := who.ConfigV1alpha1().RotationRecords(d.namespace), []string{metav1.DryRunAll}
		forged := &configv1alpha1.RotationRecord{
			ObjectMeta: metav1.ObjectMeta{Name: "evidence.service.client-b.client-b"},
			Spec: configv1alpha1.RotationRecordSpec{
				TrustDomain: "service", Kind: configv1alpha1.RecordEvidence, Subject: "client-b/client-b",
				Evidence: &configv1alpha1.RecordedEvidence{Party: "client-b", Member: "client-b"},
			},
		}
		_, err := records.Create(t.Context(), forged, metav1.CreateOptions{DryRun: dry})
		if !refused(err) {
			t.Errorf("%s creates a record: %v", name, err)
		}
		_, err = records.Patch(t.Context(), "evidence.service.client-a.client-a", types.MergePatchType,
			[]byte(`{"spec":{"evidence":{"processes":[]}}}`), metav1.PatchOptions{DryRun: dry})
		if !refused(err) {
			t.Errorf("%s changes a record: %v", name, err)
		}
		if err := records.Delete(t.Context(), "evidence.service.client-a.client-a", metav1.DeleteOptions{DryRun: dry}); !refused(err) {
			t.Errorf("%s deletes a record: %v", name, err)
		}
	}
	t.Cleanup(func() {
		if err := d.apply(context.WithoutCancel(t.Context()), "base/webhook.yaml"); err != nil {
			t.Error(err)
		}
	})
	byGuard := func(err error) bool { return err != nil && strings.Contains(err.Error(), string(trust.ContentDecides)) }
	for _, user := range users {
		attempts(t, d.as(t, user), user, apierrors.IsForbidden)
	}
	attempts(t, d.own, "an administrator", byGuard)
	if err := d.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "certrotation-guard", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "kube-apiserver asks no guard", func(ctx context.Context) error {
		return d.own.ConfigV1alpha1().RotationRecords(d.namespace).Delete(ctx, "evidence.service.client-a.client-a", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})
	for _, user := range users {
		attempts(t, d.as(t, user), user, apierrors.IsForbidden)
	}
	for _, account := range []string{"default", "certrotation-other"} {
		attempts(t, d.as(t, "system:serviceaccount:"+systemNamespace+":"+account, "system:serviceaccounts"), account, apierrors.IsForbidden)
	}
}
