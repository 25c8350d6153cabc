// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart checks that the Helm chart makes the objects of the overlays, no more and no less, and that it refuses bad values.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// definitions are installed before an overlay, and are in the chart.
const definitions = "manifests/crds"

// same are an overlay, and the values by which the chart makes the same.
var same = []struct{ overlay, values string }{
	{"manifests/overlays/default", "replicas: 1"},
	{"manifests/overlays/ha", ""},
	{"manifests/overlays/openshift", "openshift: true"},
	{"manifests/overlays/kubeadm", `
nodeSelector: {node-role.kubernetes.io/control-plane: ""}
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]
`},
	{"manifests/overlays/namespaced", "namespaces: [mtls-demo]"},
	{"test/rbac/testdata/ca-bundles", "caBundles: true"},
	{"test/rbac/testdata/workloads", "workloads: true"},
	{"test/rbac/testdata/cert-manager", "certManager: true"},
	{"hack/chart/testdata/prometheus-operator", "prometheusOperator: true"},
	{"hack/chart/testdata/environment", `env: [{name: KUBERNETES_SERVICE_HOST, value: 192.0.2.1}]`},
}

// bad values, and what is said of them.
var bad = []struct{ values, says string }{
	{"replicas: 0", "/replicas"},
	{"replica: 2", "replica"},
	{"image: {digest: latest}", "/image/digest"},
	{`image: {repository: ""}`, "/image/repository"},
	{"namespaces: [Web]", "/namespaces/0"},
	{"namespace: Pki", "/namespace"},
	{"namespace: kube-system", "/namespace"},
	{"caBundles: always", "/caBundles"},
	{"env: [{name: A, valueFrom: {}}]", "/env/0"},
}

// defaultNamespace is that of the overlays.
const defaultNamespace = "certrotation-system"

// unpinned is the digest of the overlays.
const unpinned = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// chart is what is compared with the overlays.
type chart struct {
	// helm is the program.
	helm string
	// path of the directory or the package.
	path string
	// digest that the chart has where the overlays have unpinned.
	digest string
}

func main() {
	var c chart
	flag.StringVar(&c.helm, "helm", "bin/tools/helm", "helm")
	flag.StringVar(&c.path, "chart", "manifests/chart", "The chart, or its package.")
	flag.StringVar(&c.digest, "digest", unpinned, "The digest by which the chart names the image.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := c.check(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (c *chart) check(ctx context.Context, out io.Writer) error {
	var errs []error
	for _, pair := range same {
		for _, namespace := range []string{defaultNamespace, "pki"} {
			n, err := c.compare(ctx, pair.overlay, pair.values, namespace)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s in the namespace %s: %w", pair.overlay, namespace, err))
				continue
			}
			fmt.Fprintf(out, "%-32s %d objects in %s, as those of the chart\n", pair.overlay, n, namespace)
		}
	}
	for _, b := range bad {
		text, err := c.render(ctx, b.values)
		switch {
		case err == nil:
			errs = append(errs, fmt.Errorf("the chart takes the values %s", b.values))
		case !strings.Contains(err.Error(), b.says):
			errs = append(errs, fmt.Errorf("the chart refuses the values %s, and says nothing of %s: %w\n%s", b.values, b.says, err, text))
		}
	}
	fmt.Fprintf(out, "%d bad values are refused\n", len(bad))
	return errors.Join(errs...)
}

// compare returns how many objects both make in a namespace: the overlay as docs/install.md says.
func (c *chart) compare(ctx context.Context, overlay, values, namespace string) (int, error) {
	wanted, err := build(overlay, definitions)
	if err != nil {
		return 0, err
	}
	want, err := objects([]byte(strings.NewReplacer(unpinned, c.digest, defaultNamespace, namespace).Replace(string(wanted))))
	if err != nil {
		return 0, err
	}
	rendered, err := c.render(ctx, values+"\nnamespace: "+namespace)
	if err != nil {
		return 0, err
	}
	got, err := objects(rendered)
	if err != nil {
		return 0, err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return 0, fmt.Errorf("the chart differs (-overlay +chart):\n%s", diff)
	}
	return len(want), nil
}

// build is what kustomizations make.
func build(dirs ...string) ([]byte, error) {
	var out bytes.Buffer
	for _, dir := range dirs {
		resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.FromSlash(dir))
		if err != nil {
			return nil, err
		}
		text, err := resources.AsYaml()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

// render is what the chart makes of values.
func (c *chart) render(ctx context.Context, values string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.helm, "template", "certrotation", c.path, "--include-crds", "--values=-")
	cmd.Stdin = strings.NewReader(values)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("helm: %w: %s", err, errs.String())
	}
	return out.Bytes(), nil
}

// objects by kind, namespace and name. One that is there twice is an error.
func objects(text []byte) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read objects: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		key := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		if out[key] != nil {
			return nil, fmt.Errorf("%s is there twice, beside %s", key, slices.Sorted(maps.Keys(out)))
		}
		out[key] = object.Object
	}
	return out, nil
}
