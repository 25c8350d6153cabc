// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// Rollout is the rollout that a configuration requests. It is immutable.
type Rollout struct {
	// Configuration is the name of the requesting configuration.
	Configuration string
	// Config has every default filled in. It is shared and read-only.
	Config *configv1alpha1.StaticPodRollout
	// Aggregate of the same configuration, nil if it has none.
	Aggregate *trust.Aggregate
	// Nodes that run the static pod, ordered by name.
	Nodes []*Node
	// Leaves are, by node, the names of its leaves in the aggregate, ordered.
	Leaves map[string][]string
	// Domains are the names of the trust domains of the configuration, in its order.
	Domains []string
	// Status is the last written one, nil if there is none or it cannot be read.
	Status *rollout.Status
	// Class is what the owner of the nodes permits, with its defaults. It is nil if nothing is permitted, and
	// ClassProblem says why. It is shared and read-only.
	Class        *configv1alpha1.StaticPodClassSpec
	ClassProblem *trust.Problem
	// Problem is why the status cannot be read, nil if it can. It stops nothing: the controller writes a new status.
	Problem *trust.Problem
}

func (p *part) addNodeLeaf(node, template, name string) {
	if p.nodeLeaves[node] == nil {
		p.nodeLeaves[node] = map[string]string{}
	}
	p.nodeLeaves[node][template] = name
}

// rollout must run after the domains and the aggregate are built.
func (b *builder) rollout(p *part, cfg *configv1alpha1.RotationConfigurationSpec) error {
	if cfg.Rollout == nil || cfg.Rollout.StaticPod == nil {
		return nil
	}
	nodes, err := b.selected(&cfg.Rollout.StaticPod.NodeSelector)
	if err != nil {
		return err
	}
	p.rollout = &Rollout{Config: cfg.Rollout.StaticPod, Aggregate: p.aggregate, Nodes: nodes, Leaves: map[string][]string{}}
	p.rollout.Class, p.rollout.ClassProblem = b.class(p.rollout.Config)
	b.readStatus(p.rollout)
	if cfg.Aggregate == nil {
		return nil
	}
	for _, node := range nodes {
		for _, template := range cfg.Aggregate.Leaves {
			if name, ok := p.nodeLeaves[node.Name][template]; ok {
				p.rollout.Leaves[node.Name] = append(p.rollout.Leaves[node.Name], name)
			}
		}
		slices.Sort(p.rollout.Leaves[node.Name])
	}
	return nil
}

// statusKey returns the object in which the controller keeps the status of a rollout.
func statusKey(r *Rollout) objectKey {
	return objectKey{kind: trust.ConfigMapKind, name: rollout.StatusName(r.Config.Name)}
}

// checkStatus must run after everything else is claimed.
func (p *part) checkStatus() error {
	if p.rollout == nil {
		return nil
	}
	status := statusKey(p.rollout)
	if _, taken := p.claims[status]; taken {
		return fmt.Errorf("%s is claimed, but the rollout keeps its status there; use another name", objectName(status.kind, status.name))
	}
	return nil
}

func (b *builder) readStatus(r *Rollout) {
	name := statusKey(r).name
	cm := b.sources.ConfigMaps[name]
	if cm == nil || cm.Rollout == nil {
		return
	}
	if r.Status = cm.Rollout.Status; r.Status == nil {
		r.Problem = problemOf(trust.ConfigMapKind, name, ReasonInvalidStatus, fmt.Sprintf(
			"where the rollout stands is not known: %s; the controller writes it anew, so see whether it runs", cm.Rollout.Error))
	}
}

// copies collects the copies and claims those in this namespace.
func (b *builder) copies(p *part, cfg *configv1alpha1.RotationConfigurationSpec) error {
	for _, c := range cfg.Copies {
		c.ToNamespace, c.ToName = cmp.Or(c.ToNamespace, b.sources.Namespace), cmp.Or(c.ToName, c.Name)
		kind := trust.ObjectKind(c.Kind)
		if c.Cluster == "" && c.ToNamespace == b.sources.Namespace && !p.claim(kind, c.ToName, Claim{Kind: ClaimCopy}) {
			return fmt.Errorf("copies: %s is claimed twice", objectName(kind, c.ToName))
		}
		p.copies = append(p.copies, c)
	}
	return nil
}

// Reasons why a rollout does nothing on the nodes.
const (
	// ReasonNoClass: the StaticPodClass does not exist, or cannot be read.
	ReasonNoClass trust.Reason = "NoClass"
	// ReasonClassRefuses: it does not name the namespace or the static pod.
	ReasonClassRefuses trust.Reason = "ClassRefuses"
)

const classKind trust.ObjectKind = "StaticPodClass"

// Class is what is known about a StaticPodClass.
type Class struct {
	metav1.ObjectMeta
	// Loaded has every default filled in; nil if the class is invalid. It is shared and read-only.
	Loaded *configv1alpha1.StaticPodClassSpec
	// Error is the text of the error if Loaded is nil.
	Error string
}

// ParseClass loads a class.
func ParseClass(class *configv1alpha1.StaticPodClass) *Class {
	out := &Class{ObjectMeta: metav1.ObjectMeta{Name: class.Name, UID: class.UID, ResourceVersion: class.ResourceVersion}}
	loaded, err := configv1alpha1.LoadClass(&class.Spec)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Loaded = loaded
	return out
}

// class returns the class that a rollout names, if the rollout may use it.
func (b *builder) class(cfg *configv1alpha1.StaticPodRollout) (*configv1alpha1.StaticPodClassSpec, *trust.Problem) {
	name, namespace := cfg.ClassName, b.sources.Namespace
	class := b.sources.Classes[name]
	switch {
	case class == nil:
		return nil, problemOf(classKind, name, ReasonNoClass,
			"it does not exist, so nothing is permitted on the nodes; have their owner create it, or correct rollout.staticPod.className")
	case class.Loaded == nil:
		return nil, problemOf(classKind, name, ReasonNoClass, "it is not valid, so nothing is permitted on the nodes: "+class.Error)
	case !slices.Contains(class.Loaded.Namespaces, namespace):
		return nil, problemOf(classKind, name, ReasonClassRefuses, fmt.Sprintf(
			"it does not list the namespace %s; have its owner add that to spec.namespaces", namespace))
	case class.Loaded.PodName != cfg.Name:
		return nil, problemOf(classKind, name, ReasonClassRefuses, fmt.Sprintf(
			"it permits the static pod %s, and not %s; have its owner make a class for that", class.Loaded.PodName, cfg.Name))
	}
	for _, companion := range cfg.Companions {
		if class.Loaded.Companion(companion) == nil {
			return nil, problemOf(classKind, name, ReasonClassRefuses, fmt.Sprintf(
				"it does not permit the static pod %s beside %s; have its owner add that to spec.companions", companion, cfg.Name))
		}
	}
	return class.Loaded, nil
}
