// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote makes the clients of other clusters, from kubeconfigs in Secrets.
//
// A kubeconfig is untrusted: whoever writes the Secret chooses the server, its answers and the credentials.
//
// Invariants:
//
//   - The Secret must consent to the configuration that declares the cluster. It is read live when a client is made.
//   - Only credentials within the kubeconfig are used. What would run a program, read a file or use a proxy is refused
//     by name, and so is a server that is not verified.
//   - Connections go through Config.Dial. Redirects and the proxies of the environment are not followed.
//   - Each request has a deadline, an answer has a greatest size, and the text of a failed request is our own. The author
//     of a configuration must not read answers of servers that only the controller can reach.
//   - No text has anything of a kubeconfig, not even the address of the server.
//   - A client is made when it is needed. It is dropped when its Secret changes, or when Keep does not name its cluster.
//   - A cluster that did not answer is left alone for a time that doubles up to LastPause. Those that did not answer last
//     time have at most Config.Retries requests at once, so that they cannot hold all workers.
//
// It starts no goroutines beside those of net/http, and is safe for concurrent use.
package remote
