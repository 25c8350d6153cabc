// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/nodes"
)

const (
	kubeadmSigner = "etcd-ca"
	// kubeadmPatience bounds a revision on three nodes: kubelet runs kubeadm's probes for the first time after ten
	// seconds.
	kubeadmPatience = 8 * time.Minute
	kubeadmEtcdTag  = "3.7.0-0"
	// kubeadmConfig lists all members of etcd at once. `kubeadm join` would add them one by one.
	kubeadmConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: %[1]s, bindPort: 6443}
nodeRegistration: {name: %[2]s, criSocket: "unix:///run/containerd/containerd.sock"}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %[3]s
imageRepository: certrotation.dev
etcd:
  local:
    imageRepository: certrotation.dev
    imageTag: %[4]s
    extraArgs:
    - {name: initial-cluster, value: "%[5]s"}
    - {name: initial-cluster-state, value: new}
`
	kubeadmConfigFile = "/etc/kubernetes/kubeadm.yaml"
	kubeadmPKI        = "/etc/kubernetes/pki"
	kubeadmAdmin      = "/etc/kubernetes/super-admin.conf"
)

// sharedPKI are the files that all control plane nodes of kubeadm share.
var sharedPKI = []string{
	"ca.crt", "ca.key", "sa.key", "sa.pub", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key",
}

// TestExtendedKubeadmControlPlane adopts an etcd that kubeadm made on three nodes, as docs/kubeadm.md says, and
// rotates its CA. Then kubeadm rewrites its manifests on one node. Meanwhile a writer writes ConfigMaps through
// the kube-apiservers of that etcd. The kubelets register with the cluster of this package, so the control plane
// of kubeadm has no nodes. The test takes eleven minutes, mostly waiting for kubelets to restart static pods.
func TestExtendedKubeadmControlPlane(t *testing.T) {
	s := theSystem(t).of(metav1.NamespaceSystem, kubeadmSigner)
	k := &kubeadmPlane{system: s}
	for _, name := range []string{"worker-0", "worker-1", "worker-2"} {
		k.nodes = append(k.nodes, s.Network.Node(name))
	}
	t.Cleanup(func() { k.remove(t) })
	k.init(t)
	authority := k.authority(t)
	within(t, kubeadmPatience, "all kube-apiservers of kubeadm serve", k.serves)
	begun := time.Now()
	writer := k.write(t)

	k.adopt(t)
	within(t, kubeadmPatience, "all nodes run a revision", k.settled)
	if row, err := s.row(t.Context()); err != nil || row.Status.Certificate.Fingerprint != authority {
		t.Fatalf("the CA is not that of kubeadm, %s: %+v, %v", authority, row.Status.Certificate, err)
	}
	k.forgetKey(t)

	before := s.rotate(t)
	within(t, kubeadmPatience, "the CA is rotated", func(ctx context.Context) error { return s.isRotated(ctx, before) })
	within(t, kubeadmPatience, "all nodes run the newest revision", k.settled)
	k.overwrite(t, k.nodes[0])
	writer.end(t)
	k.checkLogs(t, begun)
}

// kubeadmPlane has the static pods of kubeadm.
type kubeadmPlane struct {
	*system
	nodes []*nodes.Node
}

// init makes certificates and manifests with the phases of `kubeadm init` on each node.
func (k *kubeadmPlane) init(t *testing.T) {
	t.Helper()
	k.importImages(t)
	version, err := k.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for _, node := range k.nodes {
		members = append(members, fmt.Sprintf("%s=https://%s", node.Name(), net.JoinHostPort(node.IP().String(), "2380")))
	}
	for i, node := range k.nodes {
		config := fmt.Sprintf(kubeadmConfig, node.IP(), node.Name(), version.GitVersion, kubeadmEtcdTag, strings.Join(members, ","))
		write(t, node.Path(kubeadmConfigFile), []byte(config), 0o600)
		for _, program := range []string{k.Installation.Cluster.Tool("kubeadm"), k.Binary("certrotation")} {
			write(t, node.Path("/opt/"+filepath.Base(program)), read(t, program), 0o700)
		}
		for _, file := range sharedPKI {
			if i > 0 {
				write(t, node.Path(filepath.Join(kubeadmPKI, file)), read(t, k.nodes[0].Path(filepath.Join(kubeadmPKI, file))), 0o600)
			}
		}
		// etcd and kube-apiserver come last: kubelet starts a static pod as soon as its manifest exists.
		for _, phase := range []string{"certs all", "kubeconfig super-admin", "etcd local", "control-plane apiserver"} {
			k.kubeadm(t, node, append(append([]string{"init", "phase"}, strings.Fields(phase)...), "--config="+kubeadmConfigFile)...)
		}
	}
}

func (k *kubeadmPlane) kubeadm(t *testing.T, node *nodes.Node, args ...string) string {
	t.Helper()
	out, err := node.Exec(t.Context(), append([]string{"/opt/kubeadm"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// importImages imports the images that kubeadm names into the nodes.
func (k *kubeadmPlane) importImages(t *testing.T) {
	t.Helper()
	version, err := k.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	for program, tag := range map[string]string{cluster.Etcd: kubeadmEtcdTag, cluster.APIServer: version.GitVersion} {
		// kubeadm names the program without its directory.
		inside := "/usr/local/bin/" + program
		archive := filepath.Join(k.dir, "images", "kubeadm-"+program+".tar")
		if _, err := nodes.WriteImage(archive, "certrotation.dev/"+program+":"+tag, map[string]string{inside: k.Installation.Cluster.Tool(program)}, []string{inside}); err != nil {
			t.Fatal(err)
		}
		if err := k.Network.Import(t.Context(), archive); err != nil {
			t.Fatal(err)
		}
	}
}

func (k *kubeadmPlane) authority(t *testing.T) string {
	t.Helper()
	block, _ := pem.Decode(read(t, k.nodes[0].Path(kubeadmPKI+"/etcd/ca.crt")))
	if block == nil {
		t.Fatal("kubeadm has made no CA of etcd")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

func (k *kubeadmPlane) adopt(t *testing.T) {
	t.Helper()
	first := k.nodes[0]
	adoption, err := first.Command(t.Context(), "/opt/certrotation", "kubeadm", "--image="+k.Image).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "adoption.yaml")
	write(t, file, adoption, 0o600)
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range k.nodes {
		if err := node.Label(t.Context(), k.Client, map[string]string{"node-role.kubernetes.io/control-plane": ""}); err != nil {
			t.Fatal(err)
		}
	}
	pki := first.Path(kubeadmPKI + "/etcd")
	for _, args := range [][]string{
		{"create", "secret", "tls", kubeadmSigner, "-n", k.namespace, "--cert=" + pki + "/ca.crt", "--key=" + pki + "/ca.key"},
		{"apply", "-f", file},
		{"apply", "-k", filepath.Join(root, "manifests", "samples", "kubeadm-etcd")},
	} {
		if _, err := k.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), k.Binary("kubectl-certrotation"), "adopt", "-n", k.namespace, "etcd", "--yes")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Installation.Cluster.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("adopt: %v: %s", err, out)
	}
	k.label(t, trust.LabelManaged, trust.ManagedValue)
}

func (k *kubeadmPlane) status(ctx context.Context) (*rollout.Status, error) {
	cm, err := k.Client.CoreV1().ConfigMaps(k.namespace).Get(ctx, rollout.StatusName(configv1alpha1.KubeadmStaticPod), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return rollout.ReadStatus(cm, configv1alpha1.KubeadmStaticPod)
}

// settled returns nil if both static pods of each node are Ready with the newest revision.
func (k *kubeadmPlane) settled(ctx context.Context) error {
	status, err := k.status(ctx)
	if err != nil {
		return err
	}
	if len(status.Blockers) > 0 || len(status.Nodes) != len(k.nodes) || status.LatestAvailableRevision == 0 {
		return fmt.Errorf("of revision %d on %d nodes: %+v", status.LatestAvailableRevision, len(status.Nodes), status.Blockers)
	}
	for i := range status.Nodes {
		if n := &status.Nodes[i]; n.PendingSince != nil || n.CurrentRevision != status.LatestAvailableRevision {
			return fmt.Errorf("%s is at revision %d of %d", n.Name, n.CurrentRevision, status.LatestAvailableRevision)
		}
	}
	if err := k.hasAll(ctx, status.LatestAvailableRevision); err != nil {
		return err
	}
	return k.serves(ctx)
}

// hasAll returns nil if a revision has everything that is collected now. Otherwise another revision follows.
func (k *kubeadmPlane) hasAll(ctx context.Context, number int) error {
	var bundles [2]*corev1.ConfigMap
	var leaves [2]*corev1.Secret
	for i, name := range []func(string) string{
		func(name string) string { return name }, func(name string) string { return nodepod.CopyName(name, number) },
	} {
		var err error
		if bundles[i], err = k.Client.CoreV1().ConfigMaps(k.namespace).Get(ctx, name(configv1alpha1.KubeadmBundlesConfigMap), metav1.GetOptions{}); err != nil {
			return err
		}
		if leaves[i], err = k.Client.CoreV1().Secrets(k.namespace).Get(ctx, name(configv1alpha1.KubeadmCertsSecret), metav1.GetOptions{}); err != nil {
			return err
		}
	}
	if !maps.Equal(bundles[0].Data, bundles[1].Data) || !maps.EqualFunc(leaves[0].Data, leaves[1].Data, bytes.Equal) {
		return fmt.Errorf("revision %d has not all that is new", number)
	}
	return nil
}

// serves returns nil if every kube-apiserver answers from its member of etcd.
func (k *kubeadmPlane) serves(ctx context.Context) error {
	for _, node := range k.nodes {
		client, err := k.clientOf(node)
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("kube-apiserver of %s: %w", node.Name(), err)
		}
	}
	return nil
}

// forgetKey removes the key of the CA from the nodes. kubeadm then treats the CA as external, and cannot renew
// with it.
func (k *kubeadmPlane) forgetKey(t *testing.T) {
	t.Helper()
	external := regexp.MustCompile(`(?m)^etcd-ca .* yes\s*$`)
	for _, node := range k.nodes {
		if err := os.Remove(node.Path(kubeadmPKI + "/etcd/ca.key")); err != nil {
			t.Fatal(err)
		}
		if out := k.kubeadm(t, node, "certs", "check-expiration", "--config="+kubeadmConfigFile); !external.MatchString(out) {
			t.Errorf("kubeadm on %s does not take etcd's CA for an external one:\n%s", node.Name(), out)
		}
	}
}

// overwrite makes kubeadm rewrite its manifests, as an upgrade does, with the files that docs/kubeadm.md prepares
// for it. The rollout reports that, and the next revision repairs the node.
func (k *kubeadmPlane) overwrite(t *testing.T, node *nodes.Node) {
	t.Helper()
	const kubeconfig = "/etc/kubernetes/of-kubelets.conf"
	write(t, node.Path(kubeconfig), read(t, k.Installation.Cluster.Kubeconfig()), 0o600)
	script := fmt.Sprintf("set -e; export KUBECONFIG=%s PATH=/opt/node/bin:$PATH\n%s", kubeconfig, strings.Replace(beforeUpgrade(t), "node=NAME", "node="+node.Name(), 1))
	if out, err := node.Exec(t.Context(), "sh", "-c", script); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, phase := range []string{"etcd local", "control-plane apiserver"} {
		k.kubeadm(t, node, append(append([]string{"init", "phase"}, strings.Fields(phase)...), "--config="+kubeadmConfigFile)...)
	}
	within(t, kubeadmPatience, "the rollout names the node that kubeadm has written to", func(ctx context.Context) error {
		status, err := k.status(ctx)
		if err != nil {
			return err
		}
		for i := range status.Blockers {
			if b := &status.Blockers[i]; b.Node == node.Name() && b.Reason == rollout.ReasonRolledBack {
				return nil
			}
		}
		return fmt.Errorf("the blockers are %+v", status.Blockers)
	})
	within(t, kubeadmPatience, "its members work with the files of kubeadm", k.serves)
	leaf := *k.system
	leaf.signer = "etcd-server-" + node.Name()
	if before := leaf.rotate(t); before == "" {
		t.Fatalf("%s has no fingerprint", leaf.signer)
	}
	within(t, kubeadmPatience, "the next revision has put it right", func(ctx context.Context) error {
		for _, manifest := range []string{"etcd.yaml", "kube-apiserver.yaml"} {
			text, err := os.ReadFile(filepath.Join(node.Path(nodes.ManifestDir), manifest))
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), configv1alpha1.DefaultResourceDirectory) {
				return fmt.Errorf("%s is that of kubeadm", manifest)
			}
		}
		return k.settled(ctx)
	})
}

// beforeUpgrade returns the commands that docs/kubeadm.md runs on each node before `kubeadm upgrade`.
func beforeUpgrade(t *testing.T) string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(read(t, filepath.Join(root, "docs", "kubeadm.md"))), "before `kubeadm upgrade`:\n\n```\n")
	script, _, found := strings.Cut(after, "```\n")
	if !found || !strings.Contains(script, "node=NAME") {
		t.Fatal("docs/kubeadm.md has no script to run before an upgrade")
	}
	return script
}

// refusedCertificate matches what etcd or kube-apiserver logs when a handshake fails because of a certificate.
var refusedCertificate = regexp.MustCompile(`bad certificate|unknown certificate|unknown authority|has expired or is not yet valid|failed to verify certificate`)

func (k *kubeadmPlane) checkLogs(t *testing.T, since time.Time) {
	t.Helper()
	refused := 0
	for _, node := range k.nodes {
		files, err := filepath.Glob(node.Path("/var/log/pods/" + k.namespace + "_*/*/*.log"))
		if err != nil || len(files) == 0 {
			t.Errorf("find the logs on %s: %v, %v", node.Name(), files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // kubelet removes the logs of deleted pods.
			}
			for line := range strings.Lines(string(text)) {
				stamp, message, _ := strings.Cut(line, " ")
				at, err := time.Parse(time.RFC3339Nano, stamp)
				if err == nil && at.After(since) && refusedCertificate.MatchString(message) {
					if refused++; refused <= 3 {
						t.Errorf("%s: %s: %s", node.Name(), filepath.Base(filepath.Dir(file)), strings.TrimSpace(line))
					}
				}
			}
		}
	}
	t.Logf("certificates that etcd or kube-apiserver refused: %d", refused)
}

// remove restores the nodes, because the other tests run without the control plane of kubeadm.
func (k *kubeadmPlane) remove(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if t.Failed() {
		k.tell(ctx, t)
	}
	_, err := k.Kubectl(ctx, "label", "namespace", k.namespace, trust.LabelManaged+"-")
	errs := []error{err}
	if _, err := k.Kubectl(ctx, "delete", "rotationconfiguration", "etcd", "-n", k.namespace, "--ignore-not-found"); err != nil {
		errs = append(errs, err)
	}
	for _, node := range k.nodes {
		for _, manifest := range []string{"etcd.yaml", "kube-apiserver.yaml"} {
			if err := os.Remove(filepath.Join(node.Path(nodes.ManifestDir), manifest)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	errs = append(errs, cluster.Until(ctx, 250*time.Millisecond, 10*time.Second, func(ctx context.Context) error {
		for _, node := range k.nodes {
			for _, pod := range []string{configv1alpha1.KubeadmStaticPod, configv1alpha1.KubeadmCompanion} {
				_, err := k.Client.CoreV1().Pods(k.namespace).Get(ctx, pod+"-"+node.Name(), metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					return fmt.Errorf("%s runs on %s: %w", pod, node.Name(), err)
				}
			}
		}
		return nil
	}))
	if err := errors.Join(errs...); err != nil {
		t.Errorf("take the control plane of kubeadm away: %v", err)
	}
}

func (k *kubeadmPlane) tell(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, what := range []string{"certificaterotations,bundlestatuses,pods", "events"} {
		out, err := k.Kubectl(ctx, "get", what, "-n", k.namespace, "-o", "wide")
		t.Logf("%s\n%s (%v)", k.namespace, out, err)
	}
	cm, err := k.Client.CoreV1().ConfigMaps(k.namespace).Get(ctx, rollout.StatusName(configv1alpha1.KubeadmStaticPod), metav1.GetOptions{})
	if err == nil {
		t.Logf("the rollout: %v", cm.Data)
	}
	for _, node := range k.nodes {
		for _, pod := range []string{configv1alpha1.KubeadmStaticPod, configv1alpha1.KubeadmCompanion} {
			text, err := node.ContainerLogs(pod+"-"+node.Name(), pod)
			t.Logf("%s on %s: %s (%v)", pod, node.Name(), text[max(0, len(text)-2000):], err)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, file string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, mode); err != nil {
		t.Fatal(err)
	}
}
