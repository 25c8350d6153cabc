// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// part is an object that a configuration uses. It need not exist.
type part struct {
	kind trust.ObjectKind
	name string
	role string
}

func (o part) String() string { return string(o.kind) + "/" + o.name }

// parts lists every object that a configuration uses, as the controller does: it expands presets and adds a leaf for
// each node.
func (t *target) parts(ctx context.Context) ([]part, error) {
	cfg, err := t.client.ConfigV1alpha1().RotationConfigurations(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read RotationConfiguration %s: %w", t, err)
	}
	sources := (&inventory.Sources{Namespace: t.namespace}).WithConfiguration(cfg.Name, cfg)
	loaded := sources.Configurations[cfg.Name]
	if loaded.Loaded == nil {
		return nil, fmt.Errorf("RotationConfiguration %s takes no effect: %s", t, loaded.Error)
	}
	if ofNodes(loaded.Loaded) {
		nodes, err := t.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list the nodes, for the names of their leaves: %w", err)
		}
		sources.Nodes = make(map[string]*inventory.Node, len(nodes.Items))
		for i := range nodes.Items {
			sources.Nodes[nodes.Items[i].Name] = inventory.ParseNode(&nodes.Items[i])
		}
	}
	return partsOf(inventory.Build(sources))
}

func ofNodes(cfg *configv1alpha1.RotationConfigurationSpec) bool {
	for i := range cfg.TrustDomains {
		for k := range cfg.TrustDomains[i].Leaves {
			if cfg.TrustDomains[i].Leaves[k].ForEachNode != nil {
				return true
			}
		}
	}
	return false
}

func partsOf(n *inventory.Namespace) ([]part, error) {
	for _, problem := range n.Problems {
		return nil, errors.New(problem.Object + " takes no effect: " + problem.Message)
	}
	var out []part
	known := map[string]bool{}
	add := func(kind trust.ObjectKind, name, role string) {
		if p := (part{kind: kind, name: name, role: role}); !known[p.String()] {
			known[p.String()] = true
			out = append(out, p)
		}
	}
	for _, d := range n.Domains {
		if d.WrittenBy != "" {
			// Its controller gives the consent of each edition that it makes.
			continue
		}
		add(trust.SecretKind, d.Signer.Name, "signer of "+d.Name)
		if d.Signer.Issued != nil {
			add(trust.SecretKind, d.Signer.Issued.Name, "CA of the issuer of "+d.Name)
		}
		add(trust.ConfigMapKind, d.Bundle.Name, "bundle of "+d.Name)
		for i := range d.Leaves {
			add(trust.SecretKind, d.Leaves[i].Name, "leaf of "+d.Name)
			if issued := d.Leaves[i].Issued; issued != nil {
				add(trust.SecretKind, issued.Name, "issued for "+d.Leaves[i].Name)
			}
		}
	}
	for _, a := range n.Aggregates {
		add(trust.ConfigMapKind, a.ConfigMap.Name, "aggregate of bundles")
		add(trust.SecretKind, a.Secret.Name, "aggregate of leaves")
	}
	for _, r := range n.Rollouts {
		of := " of the rollout " + r.Config.Name
		add(trust.ConfigMapKind, r.Config.PodConfigMapName, "manifest"+of)
		add(trust.ConfigMapKind, rollout.StatusName(r.Config.Name), "status"+of)
		for _, name := range r.Config.ConfigMapNames {
			add(trust.ConfigMapKind, name, "content"+of)
		}
		for _, name := range r.Config.SecretNames {
			add(trust.SecretKind, name, "content"+of)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Clusters)) {
		add(trust.SecretKind, n.Clusters[name].SecretName, "kubeconfig of cluster "+name)
	}
	for i := range n.Copies {
		if cp := &n.Copies[i]; cp.ToNamespace == n.Name && cp.Cluster == "" {
			add(trust.ObjectKind(cp.Kind), cp.ToName, "copy of "+cp.Name)
		}
	}
	return out, nil
}

// consenting is an existing object with the facts that a person needs to decide about it.
type consenting struct {
	Kind trust.ObjectKind `json:"kind"`
	Name string           `json:"name"`
	// Role of the object in the configuration.
	Role string `json:"role,omitempty"`
	// Holds is the subject of its certificate, or the number of its anchors.
	Holds string `json:"holds,omitempty"`
	// NotAfter is when the first of its certificates expires.
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// LastWriter is the field manager that wrote the object last.
	LastWriter string `json:"lastWriter,omitempty"`
	// Configuration that the object consents to.
	Configuration string `json:"configuration,omitempty"`

	meta metav1.ObjectMeta
}

func (c *consenting) String() string { return string(c.Kind) + "/" + c.Name }

// identifiedAll is for -o name.
func identifiedAll(objects []*consenting) []runtime.Object {
	out := make([]runtime.Object, 0, len(objects))
	for _, o := range objects {
		out = append(out, identified(corev1.SchemeGroupVersion.WithKind(string(o.Kind)), o.Name))
	}
	return out
}

func (t *target) existing(ctx context.Context, parts []part) ([]*consenting, error) {
	var out []*consenting
	for _, p := range parts {
		found, err := t.look(ctx, p)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s in namespace %s: %w", p, t.namespace, err)
		}
		out = append(out, found)
	}
	return out, nil
}

// look reads one object. It parses only the certificate of a Secret and keeps no content.
func (t *target) look(ctx context.Context, p part) (*consenting, error) {
	out := &consenting{Kind: p.kind, Name: p.name, Role: p.role}
	if p.kind == trust.SecretKind {
		secret, err := t.core.CoreV1().Secrets(t.namespace).Get(ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		out.meta = secret.ObjectMeta
		out.describe(secret.Data[inventory.ActiveCertKey], false)
	} else {
		cm, err := t.core.CoreV1().ConfigMaps(t.namespace).Get(ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		out.meta = cm.ObjectMeta
		out.describe([]byte(cm.Data[inventory.BundleKey]), true)
	}
	out.Configuration = out.meta.Annotations[trust.AnnotationConfiguration]
	out.LastWriter = lastWriter(out.meta.ManagedFields)
	return out, nil
}

func lastWriter(entries []metav1.ManagedFieldsEntry) string {
	var last metav1.ManagedFieldsEntry
	for _, e := range entries {
		if e.Time != nil && (last.Time == nil || last.Time.Before(e.Time)) {
			last = e
		}
	}
	return last.Manager
}

func resourceOf(kind trust.ObjectKind) string {
	if kind == trust.SecretKind {
		return "secrets"
	}
	return "configmaps"
}

// allowed asks whether the caller may do something. An empty name asks about all objects.
func (t *target) allowed(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	answer, err := t.core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether you may %s %s %s: %w", what.Verb, what.Resource, what.Name, err)
	}
	return answer.Status.Allowed, nil
}

// lacking lists, for a person, the rights to the objects that the caller lacks. If the caller has a right in the
// whole namespace, it does not ask for each object.
func (t *target) lacking(ctx context.Context, parts []part) ([]string, error) {
	everywhere := map[string]bool{}
	var out []string
	for _, p := range parts {
		for _, verb := range []string{"get", "patch"} {
			resource := resourceOf(p.kind)
			right := verb + " " + resource
			if _, asked := everywhere[right]; !asked {
				may, err := t.allowed(ctx, authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: verb, Resource: resource})
				if err != nil {
					return nil, err
				}
				everywhere[right] = may
			}
			if everywhere[right] {
				continue
			}
			may, err := t.allowed(ctx, authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: verb, Resource: resource, Name: p.name})
			if err != nil {
				return nil, err
			}
			if !may {
				out = append(out, right+" "+p.name)
			}
		}
	}
	return out, nil
}

// requireRights fails if any right is missing: an adoption that stops halfway leaves a configuration that half works.
func (t *target) requireRights(ctx context.Context, parts []part) error {
	lacking, err := t.lacking(ctx, parts)
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: you may not do the following in namespace %s\n  %s\nConsent is given by those who may write the object itself",
		t.namespace, strings.Join(lacking, "\n  "))
}

func (c *consenting) describe(pem []byte, anchors bool) {
	if len(pem) == 0 {
		return
	}
	read := readLeaf
	if anchors {
		read = readAnchors
	}
	certs, holds, err := read(pem)
	if err != nil {
		c.Holds = "cannot be read"
		return
	}
	c.Holds = holds
	end := slices.MinFunc(certs, func(a, b *pki.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	c.NotAfter = &metav1.Time{Time: end}
}

func readLeaf(pem []byte) (certs []*pki.Certificate, holds string, err error) {
	chain, err := pki.ParseChain(pem)
	if err != nil {
		return nil, "", err
	}
	return chain[:1], chain[0].Subject, nil
}

func readAnchors(pem []byte) (certs []*pki.Certificate, holds string, err error) {
	bundle, err := pki.ParseAnchors(pem)
	if err != nil {
		return nil, "", err
	}
	holds = plural(len(bundle.Certificates), "anchor")
	if len(bundle.Unread) > 0 {
		holds += ", cannot read " + bundle.Unread[0].Error()
	}
	return bundle.Certificates, holds, nil
}

func table(w io.Writer, objects []*consenting) error {
	out := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(out, "KIND\tNAME\tROLE\tHOLDS\tENDS\tLAST WRITER")
	for _, o := range objects {
		end := "-"
		if o.NotAfter != nil {
			end = o.NotAfter.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Kind, oneLine(o.Name), oneLine(cmp.Or(o.Role, "-")), oneLine(cmp.Or(o.Holds, "-")), end,
			oneLine(cmp.Or(o.LastWriter, "-")))
	}
	return out.Flush()
}

// confirm asks a person. An empty answer means no.
func (p *plugin) confirm(question string) error {
	fmt.Fprintf(p.Streams.ErrOut, "%s [y/N] ", question)
	answer, err := bufio.NewReader(p.Streams.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed: not confirmed (--yes does not ask)")
}

// dryRun is the value of --dry-run, as in kubectl.
type dryRun string

func (d dryRun) validate() error {
	switch d {
	case "none", "client", "server":
		return nil
	}
	return fmt.Errorf("unknown value %q of --dry-run: use none, client or server", string(d))
}

func (d dryRun) options() []string {
	if d == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (d dryRun) suffix() string {
	switch d {
	case "client":
		return " (dry run)"
	case "server":
		return " (server dry run)"
	}
	return ""
}
