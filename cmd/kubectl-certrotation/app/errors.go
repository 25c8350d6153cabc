// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// interrupted reports that the person stopped the command, and what continues without it.
type interrupted struct{ message string }

func (e *interrupted) Error() string { return e.message }

// verbRead is the verb of a failed get, list or watch. The other verbs are names of subresources.
const verbRead = "read"

type failed struct {
	verb   string
	target *target
	err    error
}

func (e *failed) Error() string { return fmt.Sprintf("%s %s: %v", e.verb, e.target, e.err) }

func (e *failed) Unwrap() error { return e.err }

// fail wraps an error of a request with its verb and target, so that explain can name the next step.
func fail(verb string, t *target, err error) error {
	return &failed{verb: verb, target: t, err: err}
}

// explain is the text of an error for a person: what is wrong and, if there is one, the next step.
func explain(err error) string {
	text, next := err.Error(), ""
	if request, ok := errors.AsType[*failed](err); ok {
		text, next = request.explain()
	}
	var unreachable net.Error
	var address *url.Error
	switch {
	case clientcmd.IsEmptyConfig(err):
		text, next = "no cluster is configured", "Set KUBECONFIG, or pass --kubeconfig or --context."
	case errors.As(err, &address) && errors.As(err, &unreachable):
		next = "Is the API server running, and does the kubeconfig (--kubeconfig, --context) name the right one?"
	}
	if next == "" {
		return clean(text)
	}
	return clean(text) + "\n" + next
}

// apiService is the APIService that registers the group.
const apiService = "v1alpha1." + v1alpha1.GroupName

func (e *failed) explain() (text, next string) {
	t := e.target
	switch {
	case notInstalled(e.err):
		return "the API " + v1alpha1.SchemeGroupVersion.String() + " is not served by this cluster",
			"Look at: kubectl get apiservice " + apiService
	case apierrors.IsServiceUnavailable(e.err):
		return statusText(e.err), "The certrotation API server may be down. Look at: kubectl get apiservice " + apiService
	case apierrors.IsNotFound(e.err):
		return statusText(e.err), "See what exists: kubectl get certificaterotations -n " + t.namespace
	case apierrors.IsForbidden(e.err) && e.verb != verbRead:
		return statusText(e.err), fmt.Sprintf("Ask for the verb create on certificaterotations/%s. What you may do: kubectl auth can-i --list -n %s",
			e.verb, t.namespace)
	case apierrors.IsForbidden(e.err):
		return statusText(e.err), "Ask for the verbs get, list and watch on certificaterotations and bundlestatuses of the group " + v1alpha1.GroupName + "."
	case apierrors.IsConflict(e.err):
		return statusText(e.err), "See where it stands: " + t.command("tree")
	}
	return e.Error(), ""
}

// notInstalled tells a missing API from a missing object. Only for a missing API does something other than the API
// answer.
func notInstalled(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// statusText is the server's own message, without the preamble that wraps a conflict.
func statusText(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	text := status.Status().Message
	if rest, ok := strings.CutPrefix(text, "Operation cannot be fulfilled on "); ok {
		if _, refusal, ok := strings.Cut(rest, `": `); ok {
			return refusal
		}
	}
	return text
}
