// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// look is one pass over one rollout.
type look struct {
	*Controller

	known     *inventory.Namespace
	rollout   *inventory.Rollout
	namespace string
	name      string
	now       time.Time

	// stored is the status ConfigMap, nil if there is none.
	stored *corev1.ConfigMap
	// content is the content of the sources, nil if they are not usable.
	content *nodepod.Content
	state   *rollout.State
}

func (l *look) secrets() apply.Writer[*corev1.Secret] {
	return apply.To(l.client.CoreV1().Secrets(l.namespace), "secrets", l.by)
}

func (l *look) configMaps() apply.Writer[*corev1.ConfigMap] {
	return apply.To(l.client.CoreV1().ConfigMaps(l.namespace), "configmaps", l.by)
}

func (l *look) pods() apply.Writer[*corev1.Pod] {
	return apply.To(l.client.CoreV1().Pods(l.namespace), "pods", l.by)
}

// work observes, assesses, writes the status, and acts, in this order.
func (l *look) work(ctx context.Context) (time.Duration, error) {
	if err := l.observe(ctx); err != nil {
		return 0, err
	}
	assessment := rollout.Assess(l.state)
	if assessment.NeedsQuorum {
		l.ask(ctx)
		assessment = rollout.Assess(l.state)
	}
	if err := l.report(ctx, assessment.Status); err != nil {
		return 0, err
	}
	for i := range assessment.Actions {
		if err := l.perform(ctx, &assessment.Actions[i]); err != nil {
			return 0, err
		}
	}
	if len(assessment.Actions) > 0 {
		return settle, nil
	}
	if assessment.Recheck.IsZero() {
		return 0, nil
	}
	return max(assessment.Recheck.Sub(l.clock.Now()), settle), nil
}

// observe fills the State. Without a class that permits the rollout, the sources are not read.
func (l *look) observe(ctx context.Context) error {
	l.state = &rollout.State{Name: l.name, Limits: l.limits(), Failures: l.memory.failures(l.id()), Now: l.now}
	reads := []func(context.Context) error{l.observeStatus, l.observeNodes, l.observePods, l.observeRevisions}
	if problem := l.rollout.ClassProblem; l.rollout.Class == nil {
		l.state.Refused = "nothing is permitted on the nodes"
		if problem != nil {
			l.state.Refused = problem.Object + ": " + problem.Message
		}
	} else {
		reads = append(reads, l.observeSource, l.observeCopies)
	}
	l.state.Quorum.Configured = l.rollout.Config.Quorum != nil
	if q := l.rollout.Config.Quorum; q != nil {
		l.state.Quorum.Strategy = q.Strategy
	}
	for _, read := range reads {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *look) limits() rollout.Limits {
	cfg, image := l.rollout.Config, ""
	if l.rollout.Class != nil {
		image = l.rollout.Class.Image
	}
	return rollout.Limits{
		Image:            image,
		Coalesce:         cfg.Coalesce.Duration,
		InstallerTimeout: cfg.InstallerTimeout.Duration,
		StaticPodTimeout: cfg.StaticPodTimeout.Duration,
		Missing:          missingAfter(nil, 0),
		FailedRevisions:  int(cfg.FailedRevisionLimit), SucceededRevisions: int(cfg.SucceededRevisionLimit),
	}
}

func (l *look) ask(ctx context.Context) {
	observation, err := l.quorum.Check(ctx, l.namespace, l.rollout.Configuration, l.rollout.Config.Quorum, l.nodes())
	if err != nil {
		l.state.Quorum.Failure = fmt.Sprintf("the members cannot be asked: %v", err)
		return
	}
	l.state.Quorum.Observation = &observation
}

func (l *look) nodes() []*inventory.Node {
	out := make([]*inventory.Node, 0, len(l.state.Nodes))
	for i := range l.state.Nodes {
		n := &l.state.Nodes[i]
		node := &inventory.Node{}
		node.Name, node.UID = n.Name, uid(n.UID)
		if n.Address != "" {
			node.Addresses = []string{n.Address}
		}
		out = append(out, node)
	}
	return out
}

// writeTimeout bounds the reads and the writes of one action.
const writeTimeout = 30 * time.Second

// perform executes one action, and finishes it even if ctx ends meanwhile.
func (l *look) perform(ctx context.Context, action *rollout.Action) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := l.execute(ctx, action)
	l.memory.failed(l.id(), controllerOf(action.Kind), err)
	if err != nil {
		return fmt.Errorf("%s %s, revision %d: %w", action.Kind, action.Node, action.Revision, err)
	}
	klog.FromContext(ctx).Info("Done", "action", action.Kind, "node", action.Node, "revision", action.Revision, "why", action.Reason)
	return nil
}

func (l *look) execute(ctx context.Context, action *rollout.Action) error {
	switch action.Kind {
	case rollout.CreateRevision, rollout.CompleteRevision:
		return l.makeRevision(ctx, action)
	case rollout.RunInstaller:
		return l.runInstaller(ctx, action)
	case rollout.DeleteInstallerPod, rollout.DeletePrunerPod:
		return l.deletePod(ctx, action.Pod)
	case rollout.MarkInstalled:
		return l.markInstalled(ctx, action)
	case rollout.PruneNode:
		return l.runPruner(ctx, action)
	case rollout.DeleteRevision:
		return l.deleteRevision(ctx, action.Revision)
	}
	return fmt.Errorf("action %q is unknown", action.Kind)
}

// controllerOf returns the controller whose condition shows the failure of an action.
func controllerOf(kind rollout.ActionKind) string {
	switch kind {
	case rollout.CreateRevision, rollout.CompleteRevision:
		return rollout.RevisionController
	case rollout.RunInstaller, rollout.DeleteInstallerPod, rollout.MarkInstalled:
		return rollout.InstallerController
	case rollout.PruneNode, rollout.DeletePrunerPod, rollout.DeleteRevision:
	}
	return rollout.PruneController
}
