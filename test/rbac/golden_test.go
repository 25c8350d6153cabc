// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	rbacv1 "k8s.io/api/rbac/v1"
	kyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden file")

const manifests = "../../manifests"

// TestRules compares every rule in base, deployment, components and overlays, with its reason, to the reviewed list.
func TestRules(t *testing.T) {
	var out strings.Builder
	for _, dir := range []string{"base", "deployment", "components", "overlays"} {
		for _, file := range manifestsIn(t, filepath.Join(manifests, dir)) {
			for _, document := range documents(t, file) {
				describe(t, &out, file, document)
			}
		}
	}
	const golden = "testdata/rules.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("rights have changed; if that was agreed upon: go test ./test/rbac -update (-want +got):\n%s", diff)
	}
}

func manifestsIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests in %s: %v", len(files), dir, err)
	}
	slices.Sort(files)
	return files
}

// documents returns the YAML documents of a file with their comments.
func documents(t *testing.T, file string) []*yaml.Node {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, document.Content[0])
	}
}

func field(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

func describe(t *testing.T, out io.Writer, file string, document *yaml.Node) {
	t.Helper()
	data, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	kind := field(document, "kind")
	switch {
	case kind == nil:
		return
	case kind.Value == "RoleBinding" || kind.Value == "ClusterRoleBinding":
		var binding rbacv1.ClusterRoleBinding
		if err := kyaml.Unmarshal(data, &binding); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		fmt.Fprintf(out, "%s %s: %s %s\n", kind.Value, name(binding.Namespace, binding.Name), binding.RoleRef.Kind, binding.RoleRef.Name)
		for _, s := range binding.Subjects {
			fmt.Fprintf(out, "  to %s %s\n", s.Kind, name(s.Namespace, s.Name))
		}
		fmt.Fprintln(out)
		return
	case kind.Value != "Role" && kind.Value != "ClusterRole":
		return
	}
	if err := kyaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	path, err := filepath.Rel(manifests, file)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "%s %s (%s)\n", kind.Value, name(role.Namespace, role.Name), path)
	for _, label := range []string{"view", "edit", "admin"} {
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+label] == "true" {
			fmt.Fprintf(out, "  is in %s\n", label)
		}
	}
	nodes := field(document, "rules").Content
	for i := range role.Rules {
		reason := strings.Join(strings.Fields(strings.ReplaceAll(nodes[i].HeadComment, "#", "")), " ")
		if reason == "" {
			t.Errorf("%s: rule %d of %s has no reason: write it above the rule", file, i, role.Name)
		}
		fmt.Fprintf(out, "  %s\n    %s\n", text(&role.Rules[i]), reason)
	}
	fmt.Fprintln(out)
}

func name(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func text(r *rbacv1.PolicyRule) string {
	verbs := strings.Join(r.Verbs, ",")
	if len(r.NonResourceURLs) > 0 {
		return verbs + " " + strings.Join(r.NonResourceURLs, ",")
	}
	var what []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				resource += "." + group
			}
			what = append(what, resource)
		}
	}
	out := verbs + " " + strings.Join(what, ",")
	if len(r.ResourceNames) > 0 {
		out += " named " + strings.Join(r.ResourceNames, ",")
	}
	return out
}
