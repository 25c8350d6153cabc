// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
)

type operateOptions struct {
	maintenance bool
	output      output
}

func (p *plugin) newOperate() *cobra.Command {
	o := &operateOptions{}
	cmd := &cobra.Command{
		Use:   "operate CONFIGURATION OPERATION",
		Short: "Rotate the credentials of a configuration by Gardener's phases",
		Long: `Ask the controller that writes the editions of a configuration for an operation, by the annotation
` + edition.AnnotationOperation + `. CREDENTIALS are ca, serviceaccount-key, etcd-encryption-key, or credentials for all of them:

  rotate-CREDENTIALS-start                           make new ones, and have everything inside know them
  rotate-CREDENTIALS-start-without-workers-rollout   the same, without the worker pools
  rotate-rollout-workers=POOL,...                    the pools are rolled out; * for all
  rotate-CREDENTIALS-complete                        every client outside has the new ones: drop the former ones
  rotate-CREDENTIALS-abort                           return to the former ones

Several are separated by semicolons. The guard refuses what is not possible in the phase.`,
		Example: `  # Begin to rotate everything, and complete it when every client outside has its new credentials
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-start
  kubectl wait -n plane-a rotconf/control-plane --for=jsonpath='{.status.credentials.certificateAuthorities.phase}'=Prepared
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-complete`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: p.completesConfigurations(),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.operate(cmd.Context(), o, args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.maintenance, "maintenance", false, "Ask for it in the next maintenance window, not at once.")
	o.output = addObjectOutputFlags(cmd)
	return cmd
}

func (p *plugin) operate(ctx context.Context, o *operateOptions, name, operation string) error {
	if _, err := edition.ParseOperations(operation); err != nil {
		return err
	}
	if err := o.output.validate(); err != nil {
		return err
	}
	t, err := p.connect(name)
	if err != nil {
		return err
	}
	configurations := t.client.ConfigV1alpha1().RotationConfigurations(t.namespace)
	cfg, err := configurations.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read RotationConfiguration %s: %w", t, err)
	}
	annotation := edition.AnnotationOperation
	if o.maintenance {
		annotation = edition.AnnotationMaintenanceOperation
	}
	if asked := cfg.Annotations[annotation]; asked != "" {
		return fmt.Errorf("%s was asked for and is not executed yet: see why the controller that writes the editions of %s does not", asked, t)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": cfg.ResourceVersion, "annotations": map[string]string{annotation: operation},
	}})
	if err != nil {
		return fmt.Errorf("encode the annotation: %w", err)
	}
	asked, err := configurations.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("ask %s for %s: %w", t, operation, err)
	}
	if o.output.requested() {
		kind := configv1alpha1.SchemeGroupVersion.WithKind("RotationConfiguration")
		asked.SetGroupVersionKind(kind)
		return o.output.print(p.Streams.Out, asked, identified(kind, name))
	}
	return printPhases(p.Streams.Out, t, cfg, operation)
}

// printPhases prints what was asked for and the phases before that.
func printPhases(out io.Writer, t *target, cfg *configv1alpha1.RotationConfiguration, operation string) error {
	rotations := edition.RotationsOf(cfg)
	phases := make([]string, 0, len(edition.AllCredentials()))
	for _, c := range edition.AllCredentials() {
		phases = append(phases, fmt.Sprintf("%s %s", c, rotations.Of(c).PhaseText()))
	}
	_, err := fmt.Fprintf(out, "rotationconfiguration.%s/%s: %s requested\nbefore: %s\nFollow it: kubectl get rotconf -n %s %s -o yaml\n",
		configv1alpha1.GroupName, t.name, operation, strings.Join(phases, ", "), t.namespace, t.name)
	return err
}
