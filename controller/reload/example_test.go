// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"certrotation.dev/controller/reload"
)

// A server in a pod, and the config of a client. Certificate and key are a mounted Secret, the anchors a mounted
// ConfigMap.
func Example() {
	serve := func(ctx context.Context, handler http.Handler) error {
		files := reload.Files{Certificate: "/tls/tls.crt", Key: "/tls/tls.key", Anchors: "/trust/ca-bundle.crt"}
		source, err := reload.Load(files)
		member, notInPod := reload.Pod("service-signer", "server")
		cluster, noAccount := rest.InClusterConfig()
		if err := errors.Join(err, notInPod, noAccount); err != nil {
			return err
		}
		api, err := reload.Connect(cluster, member.Namespace)
		if err != nil {
			return err
		}
		go source.Follow(ctx, files)
		go source.Acknowledge(ctx, api, member)
		config := source.ServerConfig(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
		server := &http.Server{Addr: ":8443", Handler: handler, TLSConfig: config}
		return server.ListenAndServeTLS("", "")
	}
	client := func(source *reload.Source) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: source.ClientConfig(nil)}}
	}
	_ = client
	// The example mounts nothing, so the server does not start.
	missing, _, _ := strings.Cut(serve(context.Background(), http.NotFoundHandler()).Error(), "\n")
	fmt.Println(missing)
	// Output: load mounted files: read /tls/tls.crt: no such file or directory
}
