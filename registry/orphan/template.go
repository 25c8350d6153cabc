// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// template is the secretName of a per-node leaf.
type template struct {
	text   string
	domain *trust.Domain
	// nodes are the names of the nodes that the selector chooses now.
	nodes map[string]bool
}

// templatesOf returns the templates of all configurations, in the order of the domains.
func templatesOf(s *inventory.Sources, n *inventory.Namespace) []template {
	var out []template
	for _, name := range n.Configurations {
		configuration := s.Configurations[name]
		if configuration == nil || configuration.Loaded == nil {
			continue
		}
		for i := range configuration.Loaded.TrustDomains {
			cfg := &configuration.Loaded.TrustDomains[i]
			domain := n.Domain(cfg.Name)
			if domain == nil {
				continue
			}
			for j := range cfg.Leaves {
				if leaf := &cfg.Leaves[j]; leaf.ForEachNode != nil {
					out = append(out, template{text: leaf.SecretName, domain: domain, nodes: selected(s, leaf.ForEachNode)})
				}
			}
		}
	}
	return out
}

func selected(s *inventory.Sources, selector *metav1.LabelSelector) map[string]bool {
	nodes := map[string]bool{}
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nodes
	}
	for name, node := range s.Nodes {
		if chosen.Matches(labels.Set(node.Labels)) {
			nodes[name] = true
		}
	}
	return nodes
}

// nodeOf returns the node for which the template makes exactly this name.
func (t *template) nodeOf(name string) (string, bool) {
	before, after, ok := strings.Cut(t.text, configv1alpha1.NodePlaceholder)
	if !ok {
		return "", false
	}
	places := 1 + strings.Count(after, configv1alpha1.NodePlaceholder)
	length := len(name) - (len(t.text) - places*len(configv1alpha1.NodePlaceholder))
	if length <= 0 || length%places != 0 || !strings.HasPrefix(name, before) {
		return "", false
	}
	node := name[len(before) : len(before)+length/places]
	if strings.ReplaceAll(t.text, configv1alpha1.NodePlaceholder, node) != name || len(validation.IsDNS1123Subdomain(node)) > 0 {
		return "", false
	}
	return node, true
}
