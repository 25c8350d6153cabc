// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/reload"
)

// The reasons of problems, in addition to those of acknowledge.
const (
	// ReasonFilesUnreadable: a mounted file is missing or invalid.
	ReasonFilesUnreadable reload.Reason = "FilesUnreadable"
	// ReasonReloadFailed: the program could not be told to reload, or refused.
	ReasonReloadFailed reload.Reason = "ReloadFailed"
	// ReasonNotReloaded: no reload has succeeded yet.
	ReasonNotReloaded reload.Reason = "NotReloaded"
	// ReasonServerUnreachable: no handshake took place.
	ReasonServerUnreachable reload.Reason = "ServerUnreachable"
	// ReasonForeignServer: the server belongs to another PKI.
	ReasonForeignServer reload.Reason = "ForeignServer"
	// ReasonStillFormer: the program shows a former state: another leaf, a mounted anchor missing, or an anchor that
	// is no longer mounted.
	ReasonStillFormer reload.Reason = "StillFormer"
	// ReasonNothingListed: the server lists no CAs, so its anchors cannot be seen.
	ReasonNothingListed reload.Reason = "NothingListed"
	// ReasonSharedSubject: two CAs have the same subject.
	ReasonSharedSubject reload.Reason = "SharedSubject"
)

var reasons = slices.Concat(reload.Reasons, []reload.Reason{
	ReasonFilesUnreadable, ReasonReloadFailed, ReasonNotReloaded, ReasonServerUnreachable, ReasonForeignServer, ReasonStillFormer,
	ReasonNothingListed, ReasonSharedSubject,
})

var (
	errNotReloaded = errors.New("the program has not been told yet to load its files")
	errNoHandshake = errors.New("there was no handshake")
)

// part is what a problem is about. Each part has at most one problem.
type part string

const (
	partFiles           part = "files"
	partReload          part = "reload"
	partProgram         part = "program"
	partAcknowledgement part = "acknowledgement"
)

var parts = []part{partFiles, partReload, partProgram, partAcknowledgement}

func (a *Agent) problem(p part) *reload.Problem {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.problems[p]
}

// put sets the problem of a part, or clears it if nil.
func (a *Agent) put(ctx context.Context, p part, problem *reload.Problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putLocked(ctx, p, problem)
}

func (a *Agent) putLocked(ctx context.Context, p part, problem *reload.Problem) {
	former, logger := a.problems[p], klog.FromContext(ctx)
	if problem == nil {
		delete(a.problems, p)
		if former != nil {
			logger.Info("Put right", "part", string(p), "reason", former.Reason)
		}
		return
	}
	a.problems[p] = problem
	if former == nil || former.Error() != problem.Error() {
		logger.Error(problem.Err, "Not as it should be", "part", string(p), "reason", problem.Reason, "next", problem.Next)
	}
}

// all returns the current problems by part.
func (a *Agent) all() map[part]*reload.Problem {
	state := a.reporter.State()
	a.mu.Lock()
	defer a.mu.Unlock()
	out := maps.Clone(a.problems)
	if state.Problem != nil {
		out[partAcknowledgement] = state.Problem
	}
	return out
}

// Health reports whether everything is in order, and the state of each part on a line of its own.
func (a *Agent) Health() (bool, string) {
	problems, state := a.all(), a.reporter.State()
	var text strings.Builder
	for _, p := range parts {
		if problem := problems[p]; problem != nil {
			fmt.Fprintf(&text, "[-]%s: %s\n", p, problem.Error())
		} else {
			fmt.Fprintf(&text, "[+]%s ok\n", p)
		}
	}
	if state.Expires.IsZero() {
		text.WriteString("nothing has been acknowledged yet\n")
	} else {
		fmt.Fprintf(&text, "acknowledged until %s\n", state.Expires.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return len(problems) == 0 && !state.Expires.IsZero(), text.String()
}

// nextReload says what to do about a program that lags. The agent tells a program of each content once.
func (a *Agent) nextReload() string {
	switch {
	case a.config.Reload == nil:
		return "it has not reloaded by itself: restart it, or see --reload-signal, --reload-http and --reload-exec"
	case a.reloaded == a.mounted:
		return "it was told to reload, and does not show it yet: if that lasts, see its log, or restart it"
	}
	return "it will be told to reload: if this lasts, see why that fails"
}

// lagging returns how the program lags behind the mounted content, nil if it does not.
func (a *Agent) lagging(shown dial.Shown, proof *reload.Loaded) *reload.Problem {
	if a.mounted == nil || a.mounted.shown(proof) {
		return nil
	}
	address := a.config.Prove.Address
	if leaf := a.mounted.leaf; leaf != nil && leaf.Fingerprint != proof.Presents[0] {
		return &reload.Problem{
			Reason: ReasonStillFormer, Err: fmt.Errorf("%s presents %s, and %s is mounted", address, proof.Presents[0], leaf.Fingerprint),
			Next: a.nextReload(),
		}
	}
	unseen := a.mounted.unseen(proof)
	switch {
	case unseen == nil:
		return &reload.Problem{
			Reason: ReasonStillFormer, Err: fmt.Errorf("%s still accepts authority %s, which is mounted no more", address, a.mounted.surplus(proof)),
			Next: a.nextReload(),
		}
	case len(shown.Subjects) == 0:
		return &reload.Problem{
			Reason: ReasonNothingListed, Err: fmt.Errorf("%s asks for no client certificate, or lists no authorities with it: which anchors it has loaded cannot be seen", address),
			Next: "have it list them, or use --reports-files, which is the weaker proof",
		}
	case slices.Contains(shown.Subjects, unseen.SubjectHash):
		return &reload.Problem{
			Reason: ReasonSharedSubject, Err: fmt.Errorf("%s lists the subject %s, which two authorities have: that proves neither", address, unseen.Subject),
			Next: "have certrotation make the authorities, of which each has its own subject, or use --reports-files",
		}
	}
	return &reload.Problem{
		Reason: ReasonStillFormer, Err: fmt.Errorf("%s does not list %s, which is mounted", address, unseen.Subject),
		Next: a.nextReload(),
	}
}
