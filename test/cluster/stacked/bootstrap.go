// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/test/cluster/nodes"
)

const nodeManifest = `---
apiVersion: v1
kind: Node
metadata:
  name: %s
  labels: {%s: ""}
status:
  addresses: [{type: InternalIP, address: %s}]
`

// bootstrapEtcd renders the files of the nodes and puts them in place, once for each directory.
func (c *Cluster) bootstrapEtcd(ctx context.Context) error {
	if exists(c.path("rendered")) {
		return nil
	}
	objects, err := c.objects(ctx)
	if err != nil {
		return err
	}
	config, staging := c.path("render.yaml"), c.path("rendered.new")
	if err := os.WriteFile(config, []byte(objects), 0o600); err != nil {
		return fmt.Errorf("write what is to be rendered: %w", err)
	}
	if err := os.RemoveAll(staging); err != nil {
		return fmt.Errorf("remove what an earlier attempt left: %w", err)
	}
	if err := run(ctx, c.binary("certrotation"), "render", "--config="+config, "--output-dir="+staging); err != nil {
		return err
	}
	for _, node := range c.Network.Nodes() {
		if err := c.place(ctx, staging, node); err != nil {
			return fmt.Errorf("put the files of node %s in place: %w", node.Name(), err)
		}
	}
	fmt.Fprintf(c.cfg.Progress, "%-24s rendered for %d nodes\n", "etcd", len(c.Network.Nodes()))
	return os.Rename(staging, c.path("rendered"))
}

// objects returns the objects of the sample, with the nodes of this cluster.
func (c *Cluster) objects(ctx context.Context) (string, error) {
	sample, err := c.Kubectl(ctx, "kustomize", filepath.Join(c.root, "manifests", "samples", "etcd-nodes"))
	if err != nil {
		return "", err
	}
	if !strings.Contains(sample, unbuilt) {
		return "", fmt.Errorf("the sample etcd-nodes has no class with the image %s", unbuilt)
	}
	sample = strings.ReplaceAll(sample, unbuilt, c.image)
	if c.cfg.Configure != nil {
		if sample, err = configured(sample, c.cfg.Configure); err != nil {
			return "", fmt.Errorf("configure the sample etcd-nodes: %w", err)
		}
	}
	var out strings.Builder
	out.WriteString(sample)
	for _, node := range c.Network.Nodes() {
		fmt.Fprintf(&out, nodeManifest, node.Name(), controlPlaneLabel, node.IP())
	}
	return out.String(), nil
}

// configured returns YAML documents with the expanded and changed configuration.
func configured(documents string, change func(*configv1alpha1.RotationConfigurationSpec)) (string, error) {
	const separator = "\n---\n"
	all := strings.Split(documents, separator)
	for i, text := range all {
		var head metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &head); err != nil {
			return "", err
		}
		if head.Kind != configv1alpha1.Kind {
			continue
		}
		configuration, err := load.Decode([]byte(text))
		if err != nil {
			return "", err
		}
		expanded, err := load.Spec(&configuration.Spec, Namespace)
		if err != nil {
			return "", err
		}
		change(expanded)
		configuration.Spec = *expanded
		changed, err := yaml.Marshal(configuration)
		if err != nil {
			return "", err
		}
		all[i] = strings.TrimSuffix(string(changed), "\n")
		return strings.Join(all, separator) + "\n", nil
	}
	return "", errors.New("there is no configuration")
}

// place copies the rendered files of a node. The manifest comes last: kubelet starts the pod when it sees it.
func (c *Cluster) place(ctx context.Context, rendered string, node *nodes.Node) error {
	if err := writeMemberEnv(node, c.Network.Nodes(), "new"); err != nil {
		return err
	}
	for _, dir := range []string{"/etc/kubernetes/static-pod-resources", nodes.ManifestDir} {
		if err := os.MkdirAll(node.Path(dir), 0o700); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
		if err := run(ctx, "cp", "-a", filepath.Join(rendered, "nodes", node.Name(), dir)+"/.", node.Path(dir)); err != nil {
			return err
		}
	}
	return nil
}

// writeMemberEnv tells a new member of etcd which peers it starts with.
func writeMemberEnv(node *nodes.Node, members []*nodes.Node, state string) error {
	var peers []string
	for _, member := range members {
		peers = append(peers, fmt.Sprintf("%s=%s", member.Name(), peerURL(member)))
	}
	file := node.Path("/etc/kubernetes/etcd-member/member.env")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make %s: %w", filepath.Dir(file), err)
	}
	text := fmt.Sprintf("ETCD_INITIAL_CLUSTER=%s\nETCD_INITIAL_CLUSTER_STATE=%s\nETCD_INITIAL_CLUSTER_TOKEN=stacked\n", strings.Join(peers, ","), state)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func peerURL(node *nodes.Node) string {
	return "https://" + net.JoinHostPort(node.IP().String(), "2380")
}

// applyRendered creates the objects of the rendered certificates, once, and sets the image of this build in the
// class.
func (c *Cluster) applyRendered(ctx context.Context) error {
	if !exists(c.path("applied")) {
		if err := c.createRendered(ctx); err != nil {
			return err
		}
	}
	_, err := c.Kubectl(ctx, "patch", "staticpodclass", "etcd", "--type=merge", fmt.Sprintf("--patch={%q:{%q:%q}}", "spec", "image", c.image))
	return err
}

func (c *Cluster) createRendered(ctx context.Context) error {
	if err := c.Installation.Cluster.ApplyDefinitions(ctx); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "apply", "-k", filepath.Join(c.root, "manifests", "samples", "etcd-nodes")); err != nil {
		return err
	}
	if c.cfg.Configure != nil {
		// The sample's preset would stay in the object beside the expanded configuration.
		if _, err := c.Kubectl(ctx, "delete", "rotationconfiguration", "etcd", "-n", Namespace); err != nil {
			return err
		}
	}
	if _, err := c.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", c.path("rendered", "manifests")); err != nil {
		return err
	}
	return os.WriteFile(c.path("applied"), nil, 0o600)
}

func run(ctx context.Context, argv ...string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
