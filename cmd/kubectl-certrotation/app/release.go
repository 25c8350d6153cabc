// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"certrotation.dev/registry/trust"
)

func (p *plugin) newRelease() *cobra.Command {
	o := &consentOptions{}
	cmd := &cobra.Command{
		Use:   "release CONFIGURATION | KIND/NAME...",
		Short: "Take Secrets and ConfigMaps away from a configuration",
		Long: `Take back the consent of Secrets and ConfigMaps, the annotation certrotation.dev/configuration: of all objects of a configuration,
or of those that are named. certrotation does not write them any more, and does not read their keys; they stay as they are.

The guard may refuse that while a rotation is in flight or while leaves need what is released; its answer is shown. What the
configuration still asks for is held until the object consents again or the configuration does not name it any more. You
need the rights to get and patch each object.`,
		Example: `  # Take everything away from a configuration
  kubectl certrotation release -n openshift-etcd etcd

  # One object, such as what was dropped from the configuration
  kubectl certrotation release -n openshift-etcd secret/etcd-client`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completesConfigurations(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.release(cmd.Context(), o, args) },
	}
	o.addFlags(cmd)
	return cmd
}

// released is the output of -o.
type released struct {
	Namespace string `json:"namespace"`
	// Objects that consent now, and no longer do after the release.
	Objects []*consenting `json:"objects"`
}

func (p *plugin) release(ctx context.Context, o *consentOptions, args []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	named, err := namedParts(args)
	if err != nil {
		return err
	}
	t, err := p.connectCore(args[0])
	if err != nil {
		return err
	}
	objects, err := t.releasable(ctx, named)
	if err != nil {
		return err
	}
	if err := p.printReleased(o, t, objects); err != nil || len(objects) == 0 || o.dryRun == "client" {
		return err
	}
	if !o.yes && o.dryRun == "none" {
		if err := p.confirm(fmt.Sprintf("Take %s away from certrotation?", plural(len(objects), "object"))); err != nil {
			return err
		}
	}
	return p.consentAll(ctx, t, o, objects, "released", "")
}

func (p *plugin) printReleased(o *consentOptions, t *target, objects []*consenting) error {
	switch {
	case o.output.requested():
		return o.output.print(p.Streams.Out, &released{Namespace: t.namespace, Objects: objects}, identifiedAll(objects)...)
	case len(objects) == 0:
		_, err := fmt.Fprintln(p.Streams.Out, "No object consents.")
		return err
	}
	return table(p.Streams.Out, objects)
}

// namedParts reads KIND/NAME arguments. It returns none for the name of a configuration.
func namedParts(args []string) ([]part, error) {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return nil, nil
	}
	var out []part
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		switch strings.ToLower(kind) {
		case "secret", "secrets":
			out = append(out, part{kind: trust.SecretKind, name: name})
		case "configmap", "configmaps", "cm":
			out = append(out, part{kind: trust.ConfigMapKind, name: name})
		default:
			ok = false
		}
		if !ok || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not of the form secret/NAME or configmap/NAME; the name of a configuration stands alone", arg)
		}
	}
	return out, nil
}

// releasable returns the objects that consent. Each named object must consent; without names it returns those of the
// configuration.
func (t *target) releasable(ctx context.Context, named []part) ([]*consenting, error) {
	parts := named
	if len(named) == 0 {
		var err error
		if parts, err = t.parts(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.requireRights(ctx, parts); err != nil {
		return nil, err
	}
	if len(named) == 0 {
		found, err := t.existing(ctx, parts)
		out := []*consenting{}
		for _, object := range found {
			if object.Configuration == t.name {
				out = append(out, object)
			}
		}
		return out, err
	}
	out, errs := []*consenting{}, []error(nil)
	for _, p := range named {
		object, err := t.look(ctx, p)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("read %s in namespace %s: %w", p, t.namespace, err))
		case object.Configuration == "":
			errs = append(errs, fmt.Errorf("%s does not consent to any configuration", p))
		default:
			object.Role = "of " + object.Configuration
			out = append(out, object)
		}
	}
	return out, errors.Join(errs...)
}
