// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/survey"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// namespaces with a configuration, sorted.
func (c *checkedObjects) namespaces() []string {
	var out []string
	for name := range c.configurations {
		out = append(out, name.Namespace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sources are the objects of a namespace as the guard reads them. Nodes are in no file, so leaves of nodes are unknown.
func (c *checkedObjects) sources(namespace string) *inventory.Sources {
	out := &inventory.Sources{Namespace: cmp.Or(namespace, metav1.NamespaceDefault)}
	for name, object := range c.secrets {
		if name.Namespace == namespace {
			out = out.WithSecret(name.Name, object)
		}
	}
	for name, object := range c.configMaps {
		if name.Namespace == namespace {
			out = out.WithConfigMap(name.Name, object)
		}
	}
	for name, object := range c.configurations {
		if name.Namespace == namespace {
			out = out.WithConfiguration(name.Name, object)
		}
	}
	return out
}

// configured adds the problems of configurations to findings, except those that were found already.
func configured(in *checkReader, findings []survey.Finding, now time.Time) []survey.Finding {
	out := findings
	for _, namespace := range in.objects.namespaces() {
		built := inventory.Build(in.objects.sources(namespace))
		problems := slices.Clone(built.Problems)
		for _, d := range built.Domains {
			problems = append(problems, trust.Assess(d, now).Problems...)
		}
		for i := range problems {
			f := in.objects.problem(&problems[i], namespace)
			if !slices.ContainsFunc(findings, func(known survey.Finding) bool { return sameFault(&known, &f) }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// problem is a finding of the model. What the controller makes when it is missing, passwords that may come from elsewhere,
// and objects that were not adopted, are warnings.
func (c *checkedObjects) problem(p *trust.Problem, namespace string) survey.Finding {
	severity := survey.Error
	if slices.Contains([]trust.Reason{trust.ReasonMissing, trust.ReasonNotAdopted, trust.ReasonUnreadBlock, trust.ReasonKeystorePassword}, p.Reason) {
		severity = survey.Warning
	}
	kind, name, _ := strings.Cut(p.Object, "/")
	file := c.files[checkedKey{trust.ObjectKind(kind), types.NamespacedName{Namespace: namespace, Name: name}}]
	return survey.Finding{
		Kind: survey.Kind(p.Reason), Severity: severity, Place: survey.Place{File: file, Object: p.Object, Namespace: namespace},
		Message: p.Message, // It names the next step.
	}
}

// sameFault reports whether the survey has found a problem of the model: both judge the same content.
func sameFault(known, f *survey.Finding) bool {
	if known.Object != f.Object || known.Namespace != f.Namespace {
		return false
	}
	return known.Kind == f.Kind || f.Kind == survey.Kind(trust.ReasonUnparsable) && (known.Kind == survey.UnreadableKey || known.Kind == survey.UnreadableCertificate) ||
		f.Kind == survey.Kind(trust.ReasonUnreadBlock) && known.Kind == survey.UnreadableCertificate
}

// secretOf and configMapOf are nil for nil.
func secretOf(o object) *corev1.Secret { secret, _ := o.(*corev1.Secret); return secret }

func configMapOf(o object) *corev1.ConfigMap { cm, _ := o.(*corev1.ConfigMap); return cm }
