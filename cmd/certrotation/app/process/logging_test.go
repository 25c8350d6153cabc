// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string // part of the error, "" for none
	}{
		"nothing":          {},
		"the limit":        {args: []string{"-v=7"}},
		"bodies":           {args: []string{"-v=8"}, want: "-v=8"},
		"everything":       {args: []string{"-v=100"}, want: "-v=100"},
		"some files":       {args: []string{"-v=2", "--vmodule=server=7"}},
		"bodies by a file": {args: []string{"-v=2", "--vmodule=server=3,request=9"}, want: "request=9"},
		"bodies of all":    {args: []string{"--vmodule=*=8"}, want: "*=8"},
	} {
		t.Run(name, func(t *testing.T) {
			config, flags := logs.NewOptions(), pflag.NewFlagSet(name, pflag.ContinueOnError)
			logsapi.AddFlags(config, flags)
			if err := flags.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			err := check(config)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestLimitDebugFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, body string
		want               int
	}{
		"the limit":           {http.MethodPut, "/debug/flags/v", "7", http.StatusOK},
		"bodies":              {http.MethodPut, "/debug/flags/v", "8", http.StatusBadRequest},
		"more than a number":  {http.MethodPut, "/debug/flags/v", "99999999999999999999999", http.StatusBadRequest},
		"a negative one":      {http.MethodPut, "/debug/flags/v", "-1", http.StatusBadRequest},
		"hidden behind zeros": {http.MethodPut, "/debug/flags/v", strings.Repeat("0", 2*maxFlag) + "9", http.StatusOK},
		"another base":        {http.MethodPut, "/debug/flags/v", "0x9", http.StatusBadRequest},
		"another method":      {http.MethodPost, "/debug/flags/v", "9", http.StatusBadRequest},
		"files":               {http.MethodPut, "/debug/flags/vmodule", "request=9", http.StatusBadRequest},
		"what there is":       {http.MethodGet, "/debug/flags/v", "", http.StatusOK},
		"something else":      {http.MethodPut, "/debug/flag", "9", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			var passed string
			handler := LimitDebugFlags(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				passed = string(body)
			}))
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
			if w.Code != tt.want {
				t.Errorf("code %d, want %d", w.Code, tt.want)
			}
			if level, err := strconv.Atoi(passed); strings.HasPrefix(tt.path, "/debug/flags/") && err == nil && level > maxVerbosity {
				t.Errorf("%q is passed on", passed)
			}
		})
	}
}

const canary = "canary-of-a-private-key"

// TestNoBodyIsLogged reads a Secret at the highest allowed verbosity. The verbosity above proves that the test
// would find a logged body.
func TestNoBodyIsLogged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "signer", Namespace: "ns"}, StringData: map[string]string{"tls.key": canary},
		})
	}))
	defer server.Close()
	for verbosity, want := range map[int]bool{maxVerbosity: false, maxVerbosity + 1: true} {
		logged := logOf(t, verbosity, func() {
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
			if err != nil {
				t.Fatal(err)
			}
			secret, err := client.CoreV1().Secrets("ns").Get(t.Context(), "signer", metav1.GetOptions{})
			if err != nil || secret.StringData["tls.key"] != canary {
				t.Fatalf("%v, %v", secret, err)
			}
			if _, err := client.CoreV1().Secrets("ns").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		})
		if got := strings.Contains(logged, canary); got != want {
			t.Errorf("at verbosity %d the canary is logged: %t, want %t", verbosity, got, want)
		}
		if !strings.Contains(logged, "/api/v1/namespaces/ns/secrets/signer") {
			t.Errorf("at verbosity %d the request is not logged at all: %q", verbosity, logged)
		}
	}
}

// logOf returns what klog prints while do runs.
func logOf(t *testing.T, verbosity int, do func()) string {
	t.Helper()
	state := klog.CaptureState()
	defer state.Restore()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"v": strconv.Itoa(verbosity), "logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	klog.SetOutput(&out)
	do()
	klog.Flush()
	return out.String()
}
