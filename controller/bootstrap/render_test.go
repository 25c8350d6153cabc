// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"k8s.io/klog/v2/ktesting"

	"certrotation.dev/registry/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sampleNamespace = "openshift-etcd"

func testNow() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// sample returns the objects of manifests/samples/etcd-nodes and its nodes.
func sample(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, name := range []string{"class", "namespace", "configuration", "etcd-pod", "rbac", "nodes"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "manifests", "samples", "etcd-nodes", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		out.WriteString("\n---\n")
	}
	return out.Bytes()
}

func parsed(t testing.TB, data []byte) *Input {
	t.Helper()
	in, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func rendered(t testing.TB, data []byte) *Result {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	result, err := Render(ctx, parsed(t, data), testNow())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRenderSample(t *testing.T) {
	result := rendered(t, sample(t))
	want := []string{"etcd-ca-bundle.crt", "etcd-client.crt", "etcd-client.key", "etcd-metric-client.crt", "etcd-metric-client.key", "etcd-metrics-ca-bundle.crt"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(result.TLS))); diff != "" {
		t.Errorf("tls (-want +got):\n%s", diff)
	}
	var nodes []string
	for _, node := range result.Nodes {
		nodes = append(nodes, node.Name)
		want := []string{
			"etcd-peer-" + node.Name + ".crt", "etcd-peer-" + node.Name + ".key",
			"etcd-serving-" + node.Name + ".crt", "etcd-serving-" + node.Name + ".key",
			"etcd-serving-metrics-" + node.Name + ".crt", "etcd-serving-metrics-" + node.Name + ".key",
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(node.Content.Secrets["etcd-all-certs"]))); diff != "" {
			t.Errorf("keys of %s (-want +got):\n%s", node.Name, diff)
		}
		want = []string{"metrics-ca-bundle.crt", "server-ca-bundle.crt"}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(node.Content.ConfigMaps["etcd-all-bundles"]))); diff != "" {
			t.Errorf("bundles of %s (-want +got):\n%s", node.Name, diff)
		}
		if node.Content.RestartHash() != node.RestartHash {
			t.Errorf("a node cannot recompute the restart hash of %s", node.Name)
		}
	}
	if diff := cmp.Diff([]string{"master-0", "master-1", "master-2"}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(result.Manifests))
	if names[0] != "00-namespace-cluster-openshift-etcd.yaml" || names[1] != "00-staticpodclass-cluster-etcd.yaml" || names[len(names)-1] != "90-rotationconfiguration-openshift-etcd-etcd.yaml" {
		t.Errorf("order of the manifests: %v", names)
	}
	for _, want := range []string{
		"10-configmap-openshift-etcd-etcd-pod-1.yaml", "10-configmap-openshift-etcd-etcd-all-bundles-1.yaml", "10-secret-openshift-etcd-etcd-all-certs-1.yaml",
		"10-configmap-openshift-etcd-revision-status-1.yaml", "10-secret-openshift-etcd-etcd-signer.yaml", "10-role-openshift-etcd-etcd-clients.yaml",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %v", want, names)
		}
	}
	for name, data := range result.Manifests {
		for _, forbidden := range []string{"resourceVersion", "uid:", "ownerReferences", "creationTimestamp"} {
			if bytes.Contains(data, []byte(forbidden)) {
				t.Errorf("%s has %s", name, forbidden)
			}
		}
	}
}

// TestAdoption loads the result into another API server, with other UIDs and versions. The controller creates only
// its records.
func TestAdoption(t *testing.T) {
	data := sample(t)
	result := rendered(t, data)
	for name, later := range map[string]time.Duration{"at once": 0, "an hour later": time.Hour} {
		t.Run(name, func(t *testing.T) {
			in := parsed(t, append(joined(result), nodesOf(t, data)...))
			// The reverse order gives the objects other versions and UIDs.
			objects := in.known
			slices.Reverse(objects)
			api, err := NewAPI(testNow().Add(later), objects...)
			if err != nil {
				t.Fatal(err)
			}
			_, ctx := ktesting.NewTestContext(t)
			if err := Settle(ctx, api, sampleNamespace); err != nil {
				t.Fatal(err)
			}
			want := []string{
				"create rotationrecords/clock.etcd", "create rotationrecords/roster.etcd",
				"create rotationrecords/clock.etcd-metrics", "create rotationrecords/roster.etcd-metrics",
			}
			if diff := cmp.Diff(want, api.writes); diff != "" {
				t.Errorf("writes of the controller (-want +got):\n%s", diff)
			}
			if err := Adopt(ctx, parsed(t, data), result.Manifests, testNow().Add(later)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAdoptFinds manifests that differ from the rendered ones.
func TestAdoptFinds(t *testing.T) {
	data := sample(t)
	for name, tc := range map[string]struct {
		edit func(manifests map[string][]byte)
		want string
	}{
		"a leaf is missing": {func(m map[string][]byte) { delete(m, "10-secret-openshift-etcd-etcd-client.yaml") }, "create secrets/etcd-client"},
		"a copy is missing": {func(m map[string][]byte) { delete(m, "10-secret-openshift-etcd-etcd-all-certs-1.yaml") }, "etcd-all-certs-1"},
		"a copy differs": {func(m map[string][]byte) {
			const name = "10-configmap-openshift-etcd-etcd-pod-1.yaml"
			m[name] = bytes.Replace(m[name], []byte("heartbeat-interval=200"), []byte("heartbeat-interval=201"), 1)
		}, "revision 1 is not the content of its sources"},
		"the template differs": {func(m map[string][]byte) {
			const name = "10-configmap-openshift-etcd-etcd-pod.yaml"
			m[name] = bytes.Replace(m[name], []byte("heartbeat-interval=200"), []byte("heartbeat-interval=201"), 1)
		}, "revision 1 is not the content of its sources"},
		"a manifest is cut off": {func(m map[string][]byte) {
			const name = "10-secret-openshift-etcd-etcd-signer.yaml"
			m[name] = m[name][:20]
		}, "10-secret-openshift-etcd-etcd-signer.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			result := rendered(t, data)
			tc.edit(result.Manifests)
			_, ctx := ktesting.NewTestContext(t)
			if err := Adopt(ctx, parsed(t, data), result.Manifests, testNow()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func joined(result *Result) []byte {
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(result.Manifests)) {
		all.WriteString("---\n")
		all.Write(result.Manifests[name])
	}
	return all.Bytes()
}

// nodesOf returns the documents of the nodes.
func nodesOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		if bytes.Contains(document, []byte("kind: Node\n")) {
			out.WriteString("\n---\n")
			out.Write(document)
		}
	}
	return out.Bytes()
}

// TestRenderIsDeterministic apart from keys, dates and what depends on them.
func TestRenderIsDeterministic(t *testing.T) {
	a, b := rendered(t, sample(t)), rendered(t, sample(t))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(a.Manifests)), slices.Sorted(maps.Keys(b.Manifests))); diff != "" {
		t.Errorf("names of manifests (-first +second):\n%s", diff)
	}
	for name, data := range a.Manifests {
		if strings.Contains(name, "-secret-") || strings.Contains(name, "bundle") || strings.Contains(name, "revision-status") {
			continue
		}
		if diff := cmp.Diff(string(data), string(b.Manifests[name])); diff != "" {
			t.Errorf("%s (-first +second):\n%s", name, diff)
		}
	}
}

// TestOwnAuthority keeps a CA that the input has.
func TestOwnAuthority(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ours", Key: pki.ECDSAP256, Validity: 5 * 365 * 24 * time.Hour}, testNow().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ca.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	indented := func(data []byte) string { return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n    ") }
	data := append(sample(t), []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: etcd-signer, namespace: openshift-etcd, annotations: {certrotation.dev/configuration: etcd}}\ntype: kubernetes.io/tls\nstringData:\n"+
		"  tls.crt: |\n    "+indented(ca.CertPEM())+"\n  tls.key: |\n    "+indented(key)+"\n")...)
	result := rendered(t, data)
	anchors, err := pki.ParseBundle(result.TLS["etcd-ca-bundle.crt"])
	if err != nil {
		t.Fatal(err)
	}
	if len(anchors) != 1 || !anchors[0].Equal(ca.Certificate) {
		t.Errorf("the bundle holds %d anchors, want the one that was brought", len(anchors))
	}
	leaf, err := pki.ParseChain(result.TLS["etcd-client.crt"])
	if err != nil || !leaf[0].SignedBy(ca.Certificate) {
		t.Errorf("etcd-client: %v, want it signed by the CA that was brought", err)
	}
}
