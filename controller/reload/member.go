// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

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

// Environment variables of a container, which the spec of its pod sets from the fields metadata.namespace,
// metadata.name and metadata.uid.
const (
	EnvNamespace = "POD_NAMESPACE"
	EnvName      = "POD_NAME"
	EnvUID       = "POD_UID"
)

// Member identifies the process that a report is about.
type Member struct {
	Namespace, Signer string
	// Party is the relying party, Name its member and Instance the process. If the members are pods, Name and
	// Instance are the name and the UID of the pod.
	Party, Name, Instance string
}

// Pod returns the pod in which this program runs as a member.
func Pod(signer, party string) (Member, error) {
	m := Member{Signer: signer, Party: party, Namespace: os.Getenv(EnvNamespace), Name: os.Getenv(EnvName), Instance: os.Getenv(EnvUID)}
	return m, m.Check()
}

// Check returns every field that a member lacks.
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

// API accepts reports, such as the generated client of CertificateRotations in the namespace of the member.
type API interface {
	Acknowledge(ctx context.Context, signer string, ack *v1alpha1.Acknowledgement, options metav1.CreateOptions) (*v1alpha1.Acknowledgement, error)
}

// Server is an API with the skew of this machine's clock.
type Server struct {
	API

	// Skew is how far this machine's clock is ahead of the API server's. If nil, only an answer of the API server
	// reveals a skew.
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
