// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads a usage from each line, ServerAuth or ClientAuth, and answers whether BoringSSL accepts presented.pem by file.pem, as
// gRPC and Envoy ask it.

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

static STACK_OF(X509) *read_all(const char *file) {
  STACK_OF(X509) *certs = sk_X509_new_null();
  FILE *in = fopen(file, "r");
  if (certs == NULL || in == NULL) {
    return NULL;
  }
  for (X509 *cert = PEM_read_X509(in, NULL, NULL, NULL); cert != NULL; cert = PEM_read_X509(in, NULL, NULL, NULL)) {
    sk_X509_push(certs, cert);
  }
  fclose(in);
  // The last error is the end of the file.
  int ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return ended ? certs : NULL;
}

static const char *refusal(int server, STACK_OF(X509) *file, STACK_OF(X509) *presented) {
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *ctx = X509_STORE_CTX_new();
  for (size_t i = 0; i < sk_X509_num(file); i++) {
    if (!X509_STORE_add_cert(store, sk_X509_value(file, i))) {
      return "it does not read the file of anchors";
    }
  }
  X509_STORE_CTX_init(ctx, store, sk_X509_value(presented, 0), presented);
  X509_STORE_CTX_set_default(ctx, server ? "ssl_server" : "ssl_client");
  const char *why = NULL;
  if (X509_verify_cert(ctx) != 1) {
    why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
  }
  X509_STORE_CTX_free(ctx);
  X509_STORE_free(store);
  return why;
}

int main(void) {
  char line[32];
  while (fgets(line, sizeof line, stdin) != NULL) {
    STACK_OF(X509) *file = read_all("file.pem"), *presented = read_all("presented.pem");
    if (file == NULL || presented == NULL) {
      printf("a file cannot be read\n");
    } else {
      const char *why = refusal(strncmp(line, "Server", 6) == 0, file, presented);
      printf(why == NULL ? "yes\n" : "no: %s\n", why);
    }
    fflush(stdout);
    sk_X509_pop_free(file, X509_free);
    sk_X509_pop_free(presented, X509_free);
  }
  return 0;
}
