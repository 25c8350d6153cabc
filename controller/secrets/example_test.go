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

// One reconciliation of a controller that manages an authority, a server and its clients, with the Secrets that it
// creates. The second one creates nothing. In a real controller, api is client.CoreV1() of a Clientset.
func Example() {
	api := apifake.New(printing{}, clock.RealClock{}).Client.CoreV1()
	reconcile := func(ctx context.Context, rotated time.Time, completing bool) (edition.Plan, error) {
		instance, err := secrets.New(ctx, clock.RealClock{}, api, "web-controller",
			secrets.WithNamespaces("web"), secrets.WithSecretNamesToTimes(map[string]time.Time{"ca": rotated}))
		if err != nil {
			return nil, err
		}
		ca := []secrets.GenerateOption{secrets.Persist(), secrets.Rotate(secrets.KeepOld)}
		if completing {
			ca = append(ca, secrets.IgnoreOldSecrets())
		}
		if _, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert, Key: "ECDSA-P256"}, ca...); err != nil {
			return nil, err
		}
		server := &kinds.CertificateSecretConfig{Name: "server", CommonName: "web", DNSNames: []string{"web"}, CertType: kinds.ServerCert, Key: "ECDSA-P256"}
		if _, err := instance.Generate(ctx, server, secrets.SignedByCA("ca")); err != nil {
			return nil, err
		}
		client := &kinds.CertificateSecretConfig{Name: "client", CommonName: "web-client", CertType: kinds.ClientCert, Key: "ECDSA-P256"}
		if _, err := instance.Generate(ctx, client, secrets.SignedByCA("ca")); err != nil {
			return nil, err
		}
		// A controller now writes its Deployments. They mount the Secrets of Get by name, so a new name restarts
		// them.
		if _, found := instance.Get("ca"); !found {
			return nil, fmt.Errorf("ca has no bundle")
		}
		return instance.Plan(), instance.Cleanup(ctx)
	}
	began := time.Unix(1646060228, 0)
	for _, phase := range []struct {
		name       string
		rotated    time.Time
		completing bool
	}{{"first", began, false}, {"again", began, false}, {"preparing", began.Add(time.Hour), false}, {"completing", began.Add(time.Hour), true}} {
		plan, err := reconcile(context.Background(), phase.rotated, phase.completing)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s:", phase.name)
		for _, step := range plan.Of(edition.Create) {
			fmt.Printf(" %s", step.Name)
		}
		fmt.Println()
	}
	// Output:
	// first: ca ca-bundle client server
	// again:
	// preparing: ca ca-bundle client
	// completing: ca-bundle server
}
