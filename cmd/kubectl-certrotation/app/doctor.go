// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

type doctorOptions struct {
	allNamespaces bool
	output        output
}

func (p *plugin) newDoctor() *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, every certificate and every rotation, and name the next command",
		Long: `Check the API, the guard, the definitions, certrotation's own CA, its programs, your rights, configurations,
certificates, trust anchors, rotations and clocks. What has failed comes first, with the next command. What may not be
read is unknown ("?"), with the right to ask for. Nothing is changed.

The installation is checked as a whole; configurations, certificates and rotations are those of the namespace, or of all
with -A.

Exit codes: 0 if no check failed, 1 if one did, 2 if the cluster could not be asked.`,
		Example: `  # The installation, and all certificates
  kubectl certrotation doctor -A

  # What failed, for a program
  kubectl certrotation doctor -A -o jsonpath='{.checks[?(@.result=="Failed")].message}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), o) },
	}
	addAllNamespacesFlag(cmd.Flags(), &o.allNamespaces)
	o.output = addOutputFlags(cmd)
	return cmd
}

func (p *plugin) doctor(ctx context.Context, o *doctorOptions) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	e, err := p.newExamination(ctx, o.allNamespaces)
	if err != nil {
		return &exitError{exitUnasked, err}
	}
	if err := e.examine(ctx); err != nil {
		return &exitError{exitUnasked, err}
	}
	report := newReport(e.checks)
	if o.output.requested() {
		err = o.output.print(p.Streams.Out, report)
	} else {
		_, err = fmt.Fprint(p.Streams.Out, p.screen(false).report(report))
	}
	if n := report.count(failedCheck); err == nil && n > 0 {
		return &exitError{1, errors.New(plural(n, "check") + " failed")}
	}
	return err
}

// examination is one run of doctor.
type examination struct {
	*target

	objects dynamic.Interface
	// now is the time of the API server, and skew how far the clock of this machine is ahead of it.
	now  time.Time
	skew time.Duration
	// system is the namespace of the installation.
	system string
	checks []Check
}

// newExamination connects to a cluster and reads its clock. It fails if the cluster does not answer.
func (p *plugin) newExamination(ctx context.Context, allNamespaces bool) (*examination, error) {
	t, err := p.connectCore("")
	if err != nil {
		return nil, err
	}
	if allNamespaces {
		t.namespace = metav1.NamespaceAll
	}
	e := &examination{target: t, now: p.Clock.Now(), system: defaultSystem}
	if e.objects, err = p.Dynamic(p.flags); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	served, err := p.ServerTime(ctx, p.flags)
	if err != nil {
		return nil, fmt.Errorf("read the clock of the API server: %w", err)
	}
	if !served.IsZero() {
		e.skew, e.now = p.Clock.Since(served), served.In(e.now.Location())
	}
	return e, nil
}

// examine makes all checks. It fails if the API is not served, or if nothing may be read.
func (e *examination) examine(ctx context.Context) error {
	service := e.checkAPI(ctx)
	e.checkDefinitions(ctx)
	e.checkGuard(ctx)
	e.checkPrograms(ctx)
	rotations, bundles, err := e.read(ctx)
	if err != nil && !isForbidden(err) {
		return e.unserved(err)
	}
	if err != nil {
		e.unread(groupCertificates, "list", "certificaterotations and bundlestatuses."+v1alpha1.GroupName, e.target.String(), err)
	} else {
		e.checkOwnCA(ctx, service)
		e.checkCertificates(rotations, bundles)
		e.checkRotations(newTree(rotations, bundles))
	}
	e.checkConfigurations(ctx)
	if e.nothingRead() {
		return fmt.Errorf("you may read nothing of certrotation in %s\nAsk for the ClusterRole certrotation-viewer there", e.target)
	}
	e.checkClocks(rotations)
	e.checkRights(ctx)
	return nil
}

func (e *examination) nothingRead() bool {
	for i := range e.checks {
		if e.checks[i].Result != unknownCheck {
			return false
		}
	}
	return true
}

// unserved explains why the API does not answer, by the check of the API if that says more.
func (e *examination) unserved(err error) error {
	for i := range e.checks {
		if c := &e.checks[i]; c.Group == groupAPI && c.Result == failedCheck {
			return fmt.Errorf("%s\n%s", c.Message, c.Next)
		}
	}
	return fail(verbRead, e.target, err)
}
