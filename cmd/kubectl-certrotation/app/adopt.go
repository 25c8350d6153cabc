// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/trust"
)

// fieldManager owns the fields that this program writes.
const fieldManager = "kubectl-certrotation"

// consentOptions are shared by adopt and release.
type consentOptions struct {
	yes    bool
	dryRun dryRun
	output output
}

func (o *consentOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&o.yes, "yes", "y", false, "Do not ask before something is changed.")
	flags.StringVar((*string)(&o.dryRun), "dry-run", "none",
		`"none", "client" to only print what would be changed, or "server" to have the changes checked and change nothing.`)
	flags.Lookup("dry-run").NoOptDefVal = "client"
	o.output = addObjectOutputFlags(cmd)
}

func (o *consentOptions) validate() error {
	return errors.Join(o.dryRun.validate(), o.output.validate())
}

func (p *plugin) newAdopt() *cobra.Command {
	o := &consentOptions{}
	cmd := &cobra.Command{
		Use:   "adopt CONFIGURATION",
		Short: "Let a configuration use the Secrets and ConfigMaps that are there already",
		Long: `Give the consent of the Secrets and ConfigMaps of a configuration that existed before it. Without it certrotation neither
reads their keys, nor signs with them, nor writes them: the right to write a configuration gives no power over other objects.

First it is shown what would be touched: each object that exists and does not consent yet, what it is to the configuration, what
it holds and who wrote it last. You need the rights to get and patch each of them; if one lacks, nothing is changed. Then
each is annotated with certrotation.dev/configuration. An object that consents to another configuration is refused.

The Namespace needs the label certrotation.dev/managed=true as well, or nothing of the configuration takes effect. It is set if
you may patch the Namespace.`,
		Example: `  # What would be adopted?
  kubectl certrotation adopt -n openshift-etcd etcd --dry-run

  # Adopt it
  kubectl certrotation adopt -n openshift-etcd etcd

  # In a script
  kubectl certrotation adopt -n openshift-etcd etcd --yes -o json`,
		Args:              oneConfiguration,
		ValidArgsFunction: p.completesConfigurations(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.adopt(cmd.Context(), o, args[0]) },
	}
	o.addFlags(cmd)
	return cmd
}

func oneConfiguration(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one RotationConfiguration, got %d arguments; see %s --help", cmd.CommandPath(), len(args), cmd.CommandPath())
	}
	return nil
}

// adoption is the output of -o.
type adoption struct {
	Namespace     string `json:"namespace"`
	Configuration string `json:"configuration"`
	// Managed reports whether the Namespace has the label, Labels whether adopt sets it now.
	Managed bool `json:"managed"`
	Labels  bool `json:"labels"`
	// Objects that exist and do not consent yet.
	Objects []*consenting `json:"objects"`
}

func (p *plugin) adopt(ctx context.Context, o *consentOptions, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	t, err := p.connectCore(name)
	if err != nil {
		return err
	}
	found, err := t.adoption(ctx)
	if err != nil {
		return err
	}
	if err := p.printAdoption(o, found); err != nil {
		return err
	}
	if o.dryRun == "client" || (len(found.Objects) == 0 && !found.Labels) {
		return nil
	}
	if !o.yes && o.dryRun == "none" {
		if err := p.confirm(fmt.Sprintf("Let the configuration %s read, sign with and write %s?", oneLine(name), plural(len(found.Objects), "object"))); err != nil {
			return err
		}
	}
	if found.Labels {
		if err := t.label(ctx, o.dryRun); err != nil {
			return err
		}
		p.done(o, "namespace/"+t.namespace, "labeled")
	}
	return p.consentAll(ctx, t, o, found.Objects, "adopted", name)
}

// adoption determines the necessary changes. It fails if the user lacks the rights to the objects.
func (t *target) adoption(ctx context.Context) (*adoption, error) {
	parts, err := t.parts(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.requireRights(ctx, parts); err != nil {
		return nil, err
	}
	objects, err := t.existing(ctx, parts)
	if err != nil {
		return nil, err
	}
	out := &adoption{Namespace: t.namespace, Configuration: t.name, Objects: []*consenting{}}
	var others []string
	for _, found := range objects {
		switch found.Configuration {
		case t.name:
		case "":
			out.Objects = append(out.Objects, found)
		default:
			others = append(others, fmt.Sprintf("%s consents to the configuration %s", found, found.Configuration))
		}
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("nothing was changed: another configuration may use what this one wants\n  %s\nRelease them from that one first, or choose other names",
			strings.Join(others, "\n  "))
	}
	namespace, err := t.core.CoreV1().Namespaces().Get(ctx, t.namespace, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", t.namespace, err)
	}
	if out.Managed = namespace.Labels[trust.LabelManaged] == trust.ManagedValue; !out.Managed {
		out.Labels, err = t.allowed(ctx, authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: "patch", Resource: "namespaces", Name: t.namespace})
	}
	return out, err
}

func (p *plugin) printAdoption(o *consentOptions, found *adoption) error {
	if o.output.requested() {
		return o.output.print(p.Streams.Out, found, identifiedAll(found.Objects)...)
	}
	out := p.Streams.Out
	label := fmt.Sprintf("%s=%s", trust.LabelManaged, trust.ManagedValue)
	switch {
	case found.Managed:
		fmt.Fprintf(out, "Namespace %s has the label %s.\n", found.Namespace, label)
	case found.Labels:
		fmt.Fprintf(out, "Namespace %s lacks the label %s, and gets it.\n", found.Namespace, label)
	default:
		fmt.Fprintf(out, "Namespace %s lacks the label %s, and you may not set it. Until its owner does nothing takes effect:\n  kubectl label namespace %s %s\n",
			found.Namespace, label, found.Namespace, label)
	}
	if len(found.Objects) == 0 {
		_, err := fmt.Fprintln(out, "No object of the configuration exists that does not consent.")
		return err
	}
	return table(out, found.Objects)
}

func (t *target) label(ctx context.Context, d dryRun) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{trust.LabelManaged: trust.ManagedValue}}})
	if err != nil {
		return fmt.Errorf("encode the label of namespace %s: %w", t.namespace, err)
	}
	if _, err := t.core.CoreV1().Namespaces().Patch(ctx, t.namespace, types.MergePatchType, patch,
		metav1.PatchOptions{DryRun: d.options(), FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("label namespace %s: %w", t.namespace, err)
	}
	return nil
}

// consentAll writes the consent of each object; an empty configuration removes it. A refused object does not stop the
// others.
func (p *plugin) consentAll(ctx context.Context, t *target, o *consentOptions, objects []*consenting, verb, configuration string) error {
	var errs []error
	for _, object := range objects {
		if err := t.consent(ctx, object, configuration, o.dryRun); err != nil {
			errs = append(errs, fmt.Errorf("%s was not %s: %s", object, verb, statusText(err)))
			continue
		}
		p.done(o, strings.ToLower(object.String()), verb)
	}
	return errors.Join(errs...)
}

// consent annotates an object in the version that was shown: the API server refuses one that has changed since.
func (t *target) consent(ctx context.Context, object *consenting, configuration string, d dryRun) error {
	metadata := map[string]any{
		"uid": object.meta.UID, "resourceVersion": object.meta.ResourceVersion,
		"annotations": map[string]any{trust.AnnotationConfiguration: configuration},
	}
	if configuration == "" {
		metadata["annotations"] = map[string]any{trust.AnnotationConfiguration: nil}
		metadata["managedFields"] = remainingOwners(&object.meta)
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode the consent of %s: %w", object, err)
	}
	opts := metav1.PatchOptions{DryRun: d.options(), FieldManager: fieldManager}
	if object.Kind == trust.SecretKind {
		_, err = t.core.CoreV1().Secrets(t.namespace).Patch(ctx, object.Name, types.MergePatchType, patch, opts)
	} else {
		_, err = t.core.CoreV1().ConfigMaps(t.namespace).Patch(ctx, object.Name, types.MergePatchType, patch, opts)
	}
	return err
}

// remainingOwners returns the managed fields without those of certrotation, so that the next owner of a released object
// applies it without a conflict. If no other manager is left, certrotation keeps its own annotations and labels: to an
// object without managers, the API server applies as if "before-first-apply" owned all of it.
func remainingOwners(of *metav1.ObjectMeta) []any {
	out := []any{}
	for _, e := range of.ManagedFields {
		if !strings.HasPrefix(e.Manager, "certrotation-") && e.Manager != fieldManager {
			out = append(out, e)
		}
	}
	if len(out) > 0 {
		return out
	}
	own := ownMetadata(of)
	if len(own) == 0 {
		// An API server takes an empty entry for none at all.
		return []any{struct{}{}}
	}
	return []any{map[string]any{
		"manager": fieldManager, "operation": metav1.ManagedFieldsOperationUpdate, "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:metadata": own},
	}}
}

// ownMetadata returns the keys of annotations and labels that only certrotation writes, as managed fields.
func ownMetadata(of *metav1.ObjectMeta) map[string]map[string]struct{} {
	out := map[string]map[string]struct{}{}
	for field, values := range map[string]map[string]string{"f:annotations": of.Annotations, "f:labels": of.Labels} {
		for key := range values {
			if !strings.HasPrefix(key, "certrotation.dev/") || key == trust.AnnotationConfiguration {
				continue
			}
			if out[field] == nil {
				out[field] = map[string]struct{}{}
			}
			out[field]["f:"+key] = struct{}{}
		}
	}
	return out
}

// done reports a change, unless -o requests output for programs.
func (p *plugin) done(o *consentOptions, object, verb string) {
	if !o.output.requested() {
		fmt.Fprintf(p.Streams.Out, "%s %s%s\n", object, verb, o.dryRun.suffix())
	}
}
