// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/controller/secrets"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/apifake"
)

// printing is a T that prints failures.
type printing struct{}

func (printing) Helper()                           {}
func (printing) Fatalf(format string, args ...any) { fmt.Printf(format, args...) }

// A controller that manages an authority, a server and its clients, with the Secrets that each reconciliation creates.
// The second one creates nothing. Then a user rotates the authority. In a real controller, api is client.CoreV1() of a
// Clientset.
func Example() {
	api := apifake.New(printing{}, clock.RealClock{}).Client.CoreV1()
	reconcile := func(ctx context.Context, state *edition.GroupRotation) (edition.Plan, error) {
		instance, err := secrets.New(ctx, clock.RealClock{}, api, "web-controller", secrets.WithNamespaces("web"), secrets.WithGroupRotation(state, "ca"))
		if err != nil {
			return nil, err
		}
		ca := &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert, Key: "ECDSA-P256"}
		if _, err := instance.Generate(ctx, ca, secrets.Persist(), secrets.InPhase(state)); err != nil {
			return nil, err
		}
		server := &kinds.CertificateSecretConfig{Name: "server", CommonName: "web", DNSNames: []string{"web"}, CertType: kinds.ServerCert, Key: "ECDSA-P256"}
		if _, err := instance.Generate(ctx, server, secrets.SignedInPhase(state, "ca")); err != nil {
			return nil, err
		}
		client := &kinds.CertificateSecretConfig{Name: "client", CommonName: "web-client", CertType: kinds.ClientCert, Key: "ECDSA-P256"}
		if _, err := instance.Generate(ctx, client, secrets.SignedInPhase(state, "ca")); err != nil {
			return nil, err
		}
		// A controller now writes its Deployments. They mount the Secrets of Get by name, so a new name restarts
		// them.
		if _, found := instance.Get("ca"); !found {
			return nil, fmt.Errorf("ca has no bundle")
		}
		return instance.Plan(), instance.Cleanup(ctx)
	}
	state, of, now := edition.GroupRotation{}, edition.Circumstances{Settled: true}, time.Now()
	// What a user asks for, in an annotation.
	for _, asked := range []string{"", "", "rotate-ca-start", "rotate-ca-complete", ""} {
		if asked != "" {
			operations, err := edition.ParseOperations(asked)
			if err != nil {
				fmt.Println(err)
				return
			}
			if state, err = state.Do(operations[0], of, now); err != nil {
				fmt.Println(err)
				return
			}
		}
		plan, err := reconcile(context.Background(), &state)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q:", state.Phase)
		for _, step := range plan.Of(edition.Create) {
			fmt.Printf(" %s", step.Name)
		}
		fmt.Println()
		// All of it is deployed.
		state = state.Reconciled(of, now)
	}
	fmt.Println(state.Phase)
	// Output:
	// "": ca ca-bundle client server
	// "":
	// "Preparing": ca ca-bundle client
	// "Completing": server
	// "Completing": ca-bundle
	// Completed
}
