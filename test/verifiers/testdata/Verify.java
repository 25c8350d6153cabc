// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Reads a usage from each line, ServerAuth or ClientAuth, and answers whether presented.pem is accepted by file.pem. */
public class Verify {
  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String usage = lines.readLine(); usage != null; usage = lines.readLine()) {
      System.out.println(answer(usage));
    }
  }

  private static String answer(String usage) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try {
      for (X509Certificate anchor : read("file.pem")) {
        store.setCertificateEntry("anchor " + store.size(), anchor);
      }
      TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
      factory.init(store);
      X509TrustManager trust = (X509TrustManager) factory.getTrustManagers()[0];
      X509Certificate[] chain = read("presented.pem");
      if (usage.equals("ServerAuth")) {
        trust.checkServerTrusted(chain, "ECDHE_ECDSA");
      } else {
        trust.checkClientTrusted(chain, "EC");
      }
      return "yes";
    } catch (Exception e) {
      return "no: " + String.valueOf(e).replace('\n', ' ');
    }
  }

  private static X509Certificate[] read(String file) throws Exception {
    try (FileInputStream in = new FileInputStream(file)) {
      return CertificateFactory.getInstance("X.509").generateCertificates(in).toArray(new X509Certificate[0]);
    }
  }
}
