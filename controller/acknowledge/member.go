// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package acknowledge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/clockskew"
	"certrotation.dev/generated/clientset/versioned"
)

// Environment variables of a container, which its pod's spec sets from the fields metadata.namespace, metadata.name and
// metadata.uid.
const (
	EnvNamespace = "POD_NAMESPACE"
	EnvName      = "POD_NAME"
	EnvUID       = "POD_UID"
)

// Member is whom a report is for.
type Member struct {
	Namespace, Signer string
	// Party is the relying party, Name its member and Instance the process: the pod's name and its UID, if the members are pods.
	Party, Name, Instance string
}

// Pod is the pod in which this program runs, as a member.
func Pod(signer, party string) (Member, error) {
	m := Member{Signer: signer, Party: party, Namespace: os.Getenv(EnvNamespace), Name: os.Getenv(EnvName), Instance: os.Getenv(EnvUID)}
	return m, m.Check()
}

// Check returns everything that a member lacks.
func (m Member) Check() error {
	var errs []error
	for _, field := range []struct{ value, message string }{
		{m.Signer, "the signer has no name"},
		{m.Party, "the relying party has no name"},
		{m.Namespace, "the namespace is not known: set " + EnvNamespace + " from the field metadata.namespace"},
		{m.Name, "the member is not known: set " + EnvName + " from the field metadata.name"},
		{m.Instance, "the process is not known: set " + EnvUID + " from the field metadata.uid"},
	} {
		if field.value == "" {
			errs = append(errs, errors.New(field.message))
		}
	}
	return errors.Join(errs...)
}

// API is what takes reports, such as the generated client of CertificateRotations of the member's namespace.
type API interface {
	Acknowledge(ctx context.Context, signer string, ack *v1alpha1.Acknowledgement, options metav1.CreateOptions) (*v1alpha1.Acknowledgement, error)
}

// Server is an API, and how far this machine's clock is ahead of it.
type Server struct {
	API

	// Skew may be nil: then a clock that is off is recognised only by what the API server says.
	Skew func() time.Duration
}

// Connect makes a client that reports in a namespace.
func Connect(config *rest.Config, namespace string) (Server, error) {
	meter := clockskew.NewMeter(clock.RealClock{})
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return meter.Wrap(next) })
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return Server{}, fmt.Errorf("make the client that reports to %s: %w", config.Host, err)
	}
	return Server{API: client.CertrotationV1alpha1().CertificateRotations(namespace), Skew: meter.Skew}, nil
}
