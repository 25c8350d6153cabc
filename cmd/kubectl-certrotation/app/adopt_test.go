// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"certrotation.dev/apis/config/load"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

const adoptable = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web, namespace: demo}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: "web-{node}", commonName: web, usages: [ServerAuth], forEachNode: {matchLabels: {role: web}}}
    - {secretName: web-client, commonName: client, usages: [ClientAuth]}
    relyingParties:
    - {name: clients, verifies: {usages: [ServerAuth]}, presents: [web-client], evidence: {kind: acknowledgement}}
    - {name: servers, verifies: {usages: [ClientAuth]}, forEachNode: {matchLabels: {role: web}}, presents: ["web-{node}"], evidence: {kind: acknowledgement}}
`

// cluster is a shell over a namespace with objects that existed before certrotation.
type cluster struct {
	*shell

	// versions are the initial resource versions of the objects, by name.
	versions map[string]string
	// may reports whether the caller has a right. If it is nil, the caller has every right.
	may func(a *authorizationv1.ResourceAttributes) bool
}

func newCluster(t *testing.T, managed bool) *cluster {
	t.Helper()
	cfg, err := load.Decode([]byte(adoptable))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "old CA", Key: pki.ECDSAP256, Validity: 24 * time.Hour}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	if managed {
		namespace.Labels = map[string]string{trust.LabelManaged: trust.ManagedValue}
	}
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: testNow.Add(d)} }
	meta := func(name, consents string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Name: name, Namespace: "demo", UID: "uid-1", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "cluster-etcd-operator", Time: at(-time.Hour)}, {Manager: "helm", Time: at(-2 * time.Hour)}, {Manager: "nobody"},
			{Manager: "certrotation-controller", Time: at(-3 * time.Hour)},
		}}
		if consents != "" {
			m.Annotations = map[string]string{trust.AnnotationConfiguration: consents}
		}
		return m
	}
	pair := map[string][]byte{"tls.crt": ca.CertPEM(), "tls.key": []byte("CANARY")}
	objects := []runtime.Object{
		namespace,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"role": "web"}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}},
		&corev1.Secret{ObjectMeta: meta("web-signer", ""), Type: corev1.SecretTypeTLS, Data: pair},
		&corev1.Secret{ObjectMeta: meta("web-n1", ""), Type: corev1.SecretTypeTLS, Data: pair},
		&corev1.Secret{ObjectMeta: meta("web-client", "web"), Type: corev1.SecretTypeTLS, Data: pair},
		&corev1.Secret{ObjectMeta: meta("another", ""), Type: corev1.SecretTypeTLS, Data: pair},
		&corev1.ConfigMap{ObjectMeta: meta("web-bundle", ""), Data: map[string]string{"ca-bundle.crt": string(ca.CertPEM())}},
		cfg,
	}
	c := &cluster{shell: newShell(t, objects...), versions: map[string]string{}}
	for _, secret := range apifake.All(c.api, apifake.Live, &corev1.Secret{}, "demo") {
		c.versions[secret.Name] = secret.ResourceVersion
	}
	for _, bundle := range apifake.All(c.api, apifake.Live, &corev1.ConfigMap{}, "demo") {
		c.versions[bundle.Name] = bundle.ResourceVersion
	}
	c.api.Answer("selfsubjectaccessreviews", func(r *apifake.Request) (runtime.Object, error) {
		review := r.Object.(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = c.may == nil || c.may(review.Spec.ResourceAttributes)
		return review, nil
	})
	return c
}

// refuses injects a fault into patches of the named Secrets, or of all Secrets.
func (c *cluster) refuses(fault apifake.Fault, names ...string) {
	c.api.Fault = func(r *apifake.Request) apifake.Fault {
		if r.Verb == "patch" && r.Resource.Resource == "secrets" && (len(names) == 0 || slices.Contains(names, r.Name)) {
			return fault
		}
		return apifake.NoFault
	}
}

// patches returns the patches that the API server received, as "resource/name".
func (c *cluster) patches() []string {
	var out []string
	for _, action := range c.api.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			out = append(out, patch.GetResource().Resource+"/"+patch.GetName())
		}
	}
	return out
}

func (c *cluster) consents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := c.api.Client.CoreV1().Secrets("demo").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].Annotations[trust.AnnotationConfiguration]
	}
	bundle, err := c.api.Client.CoreV1().ConfigMaps("demo").Get(t.Context(), "web-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out[bundle.Name] = bundle.Annotations[trust.AnnotationConfiguration]
	return out
}

func (c *cluster) refused(t *testing.T, says string, args ...string) {
	t.Helper()
	if code := c.run(t.Context(), args...); code != 1 || !strings.Contains(c.errOut.String(), says) {
		t.Errorf("exit code %d, %q does not say %q", code, c.errOut.String(), says)
	}
}

func TestAdopt(t *testing.T) {
	all := []string{"namespaces/demo", "secrets/web-signer", "configmaps/web-bundle", "secrets/web-n1"}
	tests := []struct {
		name, golden, stdin string
		managed             bool
		args                []string
		may                 func(a *authorizationv1.ResourceAttributes) bool
		patches             []string
	}{
		{name: "asked, and confirmed", golden: "adopt.txt", stdin: "y\n", patches: all},
		{name: "not asked", golden: "adopt.txt", args: []string{"--yes"}, patches: all},
		{name: "client dry run", golden: "adopt-client.txt", args: []string{"--dry-run"}},
		{name: "server dry run", golden: "adopt-server.txt", args: []string{"--dry-run=server"}, patches: all},
		{name: "for a program", golden: "adopt.json", args: []string{"--yes", "-o", "json"}, patches: all},
		{name: "for a script", golden: "adopt-names.txt", args: []string{"--yes", "-o", "name"}, patches: all},
		{name: "a managed namespace", golden: "adopt-managed.txt", managed: true, args: []string{"--yes"}, patches: all[1:]},
		{name: "a namespace of somebody else", golden: "adopt-unmanaged.txt", args: []string{"--yes"}, patches: all[1:],
			may: func(a *authorizationv1.ResourceAttributes) bool { return a.Resource != "namespaces" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, tt.managed)
			c.stdin, c.may = tt.stdin, tt.may
			golden(t, tt.golden, c.ok(t, append([]string{"adopt", "web"}, tt.args...)...))
			if diff := cmp.Diff(tt.patches, c.patches()); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			if strings.Contains(c.out.String()+c.errOut.String(), "CANARY") {
				t.Error("a key is printed")
			}
			for _, action := range c.api.Actions() {
				patch, ok := action.(clienttesting.PatchActionImpl)
				if !ok {
					continue
				}
				if dry := slices.Contains(tt.args, "--dry-run=server"); dry != slices.Contains(patch.PatchOptions.DryRun, metav1.DryRunAll) {
					t.Errorf("%s has the options %v", patch.Name, patch.PatchOptions)
				}
				if patch.Resource.Resource != "namespaces" && !preconditioned(t, patch.Patch, c.versions[patch.Name]) {
					t.Errorf("%s is patched whatever it is: %s", patch.Name, patch.Patch)
				}
			}
		})
	}
}

func preconditioned(t *testing.T, patch []byte, version string) bool {
	t.Helper()
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(patch, &object); err != nil {
		t.Fatal(err)
	}
	return object.ResourceVersion == version && object.UID == "uid-1"
}

func TestAdoptGivesConsent(t *testing.T) {
	c := newCluster(t, true)
	c.ok(t, "adopt", "web", "--yes")
	want := map[string]string{"web-signer": "web", "web-bundle": "web", "web-n1": "web", "web-client": "web", "another": ""}
	if diff := cmp.Diff(want, c.consents(t)); diff != "" {
		t.Errorf("consents (-want +got):\n%s", diff)
	}
	c.api.ForgetActions()
	if out := c.ok(t, "adopt", "web"); !strings.Contains(out, "No object of the configuration exists that does not consent.") || len(c.patches()) > 0 {
		t.Errorf("%q, patches %v", out, c.patches())
	}
}

// TestAdoptGivesConsentOfAKubeconfig: it is shown for which cluster, and without its content.
func TestAdoptGivesConsentOfAKubeconfig(t *testing.T) {
	c := newCluster(t, true)
	cfg, err := load.Decode([]byte(adoptable + "  clusters: [{name: east, kubeconfigSecretName: east-kubeconfig}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "east-kubeconfig"}, Data: map[string][]byte{"kubeconfig": []byte("CANARY")}}
	for _, o := range []runtime.Object{cfg, kubeconfig} {
		if err := c.api.Put(o); err != nil {
			t.Fatal(err)
		}
	}
	out := c.ok(t, "adopt", "web", "--yes")
	if !strings.Contains(out, "kubeconfig of cluster east") || strings.Contains(out+c.errOut.String(), "CANARY") || c.consents(t)["east-kubeconfig"] != "web" {
		t.Errorf("%s, consents %v", out, c.consents(t))
	}
}

func TestAdoptIsRefused(t *testing.T) {
	tests := []struct {
		name, says, stdin string
		args              []string
		before            func(t *testing.T, c *cluster)
	}{
		{name: "not confirmed", says: "nothing was changed: not confirmed", stdin: "n\n"},
		{name: "nobody answers", says: "--yes does not ask"},
		{name: "one right lacks", says: "patch secrets web-n1", args: []string{"--yes"}, before: func(_ *testing.T, c *cluster) {
			c.may = func(a *authorizationv1.ResourceAttributes) bool {
				return a.Resource != "secrets" || (a.Name != "" && a.Name != "web-n1")
			}
		}},
		{name: "another configuration has one", says: "Secret/web-n1 consents to the configuration other", args: []string{"--yes"}, before: func(t *testing.T, c *cluster) {
			t.Helper()
			secret, err := c.api.Client.CoreV1().Secrets("demo").Get(t.Context(), "web-n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			secret.Annotations = map[string]string{trust.AnnotationConfiguration: "other"}
			if _, err := c.api.Client.CoreV1().Secrets("demo").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "no such dry run", says: "use none, client or server", args: []string{"--dry-run=maybe"}},
		{name: "no such format", says: `"wide"`, args: []string{"-o", "wide"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, true)
			c.stdin = tt.stdin
			if tt.before != nil {
				tt.before(t, c)
			}
			c.refused(t, tt.says, append([]string{"adopt", "web"}, tt.args...)...)
			if len(c.patches()) > 0 {
				t.Errorf("patches %v", c.patches())
			}
		})
	}
	newCluster(t, true).refused(t, `"none" not found`, "adopt", "none")
	newCluster(t, true).refused(t, "takes the name of one RotationConfiguration", "adopt")
}

// TestAdoptGoesOn: the command names the object whose patch is refused, and adopts the others.
func TestAdoptGoesOn(t *testing.T) {
	c := newCluster(t, true)
	c.refuses(apifake.Conflict, "web-signer")
	c.refused(t, "Secret/web-signer was not adopted: injected", "adopt", "web", "--yes")
	if got := c.consents(t); got["web-signer"] != "" || got["web-n1"] != "web" {
		t.Errorf("consents %v", got)
	}
}

func TestRelease(t *testing.T) {
	tests := []struct {
		name, golden string
		args         []string
		patches      []string
	}{
		{name: "a configuration", golden: "release.txt", args: []string{"web", "--yes"}, patches: []string{"secrets/web-client"}},
		{name: "one by name", golden: "release-named.txt", args: []string{"secret/web-client", "--yes"}, patches: []string{"secrets/web-client"}},
		{name: "client dry run", golden: "release-client.txt", args: []string{"web", "--dry-run"}},
		{name: "for a program", golden: "release.yaml", args: []string{"web", "--yes", "-o", "yaml"}, patches: []string{"secrets/web-client"}},
		{name: "for a script", golden: "release-names.txt", args: []string{"web", "--yes", "-o", "name"}, patches: []string{"secrets/web-client"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, true)
			golden(t, tt.golden, c.ok(t, append([]string{"release"}, tt.args...)...))
			if diff := cmp.Diff(tt.patches, c.patches()); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			if want := map[bool]string{true: "", false: "web"}[len(tt.patches) > 0]; c.consents(t)["web-client"] != want {
				t.Errorf("consents %v", c.consents(t))
			}
		})
	}
}

// TestReleaseGivesFieldsUp: the next owner applies what certrotation wrote without a conflict.
func TestReleaseGivesFieldsUp(t *testing.T) {
	c := newCluster(t, true)
	c.ok(t, "release", "web", "--yes")
	secret, err := c.api.Client.CoreV1().Secrets("demo").Get(t.Context(), "web-client", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var managers []string
	for _, entry := range secret.ManagedFields {
		managers = append(managers, entry.Manager)
	}
	if diff := cmp.Diff([]string{"cluster-etcd-operator", "helm", "nobody"}, managers); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}

// TestReleaseWithoutOtherOwners: an object that only certrotation wrote keeps a manager, of nothing but its metadata.
func TestReleaseWithoutOtherOwners(t *testing.T) {
	ours := []metav1.ManagedFieldsEntry{{Manager: "certrotation-controller"}, {Manager: fieldManager}}
	for name, test := range map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"no metadata of certrotation": {metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{trust.AnnotationConfiguration: "web"}}, `[{}]`},
		"a label and an annotation": {
			metav1.ObjectMeta{Labels: map[string]string{trust.LabelTrustDomain: "web", "app": "web"}, Annotations: map[string]string{trust.AnnotationPlan: "1"}},
			`[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:certrotation.dev/plan":{}},` +
				`"f:labels":{"f:certrotation.dev/trust-domain":{}}}},"manager":"kubectl-certrotation","operation":"Update"}]`,
		},
	} {
		test.meta.ManagedFields = ours
		got, err := json.Marshal(remainingOwners(&test.meta))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestReleaseIsRefused(t *testing.T) {
	guard := func(c *cluster) { c.refuses(apifake.Forbidden) }
	tests := []struct {
		name, says string
		args       []string
		before     func(c *cluster)
	}{
		{name: "by the guard", says: "Secret/web-client was not released: secrets \"web-client\" is forbidden: injected", args: []string{"web", "--yes"}, before: guard},
		{name: "what does not consent", says: "Secret/another does not consent", args: []string{"secret/another", "--yes"}},
		{name: "what does not exist", says: `"none" not found`, args: []string{"cm/none", "--yes"}},
		{name: "another kind", says: `"pod/x" is not of the form`, args: []string{"pod/x"}},
		{name: "two configurations", says: `"a" is not of the form`, args: []string{"a", "b"}},
		{name: "not confirmed", says: "not confirmed", args: []string{"web"}},
		{name: "without the right", says: "get secrets web-client", args: []string{"secret/web-client"}, before: func(c *cluster) {
			c.may = func(*authorizationv1.ResourceAttributes) bool { return false }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, true)
			if tt.before != nil {
				tt.before(c)
			}
			c.refused(t, tt.says, append([]string{"release"}, tt.args...)...)
			if got := c.consents(t)["web-client"]; got != "web" {
				t.Errorf("web-client consents to %q", got)
			}
		})
	}
}
