// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * A server of mutual TLS that answers what nginx answers it. Its arguments are its volume, its port, the port at which it
 * is told to reload, and the port of nginx. Each connection has a context of its own, so that no session is resumed.
 */
public class Party {
  private record Loaded(KeyManagerFactory keys, TrustManagerFactory trust) {
    SSLContext context() throws Exception {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return context;
    }
  }

  private static volatile Loaded loaded;

  public static void main(String[] args) throws Exception {
    Path volume = Path.of(args[0]);
    loaded = load(volume);
    InetAddress local = InetAddress.getByName("127.0.0.1");
    HttpServer reloads = HttpServer.create(new InetSocketAddress(local, Integer.parseInt(args[2])), 0);
    reloads.createContext("/-/reload", exchange -> {
      int status = 204;
      try {
        loaded = load(volume);
      } catch (Exception e) {
        System.err.println("cannot reload: " + e);
        status = 500;
      }
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    reloads.start();
    try (ServerSocket server = new ServerSocket(Integer.parseInt(args[1]), 100, local)) {
      while (true) {
        Socket connection = server.accept();
        new Thread(() -> serve(connection, "https://localhost:" + args[3] + "/end")).start();
      }
    }
  }

  /** Reads one request without a body, and answers it. */
  private static void serve(Socket raw, String next) {
    try (raw; SSLSocket socket = (SSLSocket) loaded.context().getSocketFactory().createSocket(raw, null, raw.getPort(), true)) {
      socket.setUseClientMode(false);
      socket.setNeedClientAuth(true);
      BufferedReader lines = new BufferedReader(new InputStreamReader(socket.getInputStream()));
      for (String line = lines.readLine(); !"".equals(line); line = lines.readLine()) {
        if (line == null) {
          return;
        }
      }
      String status = "200 OK";
      String text;
      try {
        text = call(next);
      } catch (Exception e) {
        status = "500 Internal Server Error";
        text = "java: " + e;
      }
      String head = "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + text.getBytes().length + "\r\n\r\n";
      socket.getOutputStream().write((head + text).getBytes());
    } catch (Exception e) {
      System.err.println("cannot serve: " + e);
    }
  }

  private static String call(String url) throws Exception {
    HttpsURLConnection connection = (HttpsURLConnection) new URL(url).openConnection();
    connection.setSSLSocketFactory(loaded.context().getSocketFactory());
    connection.setRequestProperty("Connection", "close");
    try (var in = connection.getInputStream()) {
      return new String(in.readAllBytes());
    }
  }

  /** Reads all files from one generation of the volume. */
  private static Loaded load(Path volume) throws Exception {
    Path now = volume.resolve("..data").toRealPath();
    KeyStore leaf = KeyStore.getInstance("PKCS12");
    leaf.load(null, null);
    leaf.setKeyEntry("leaf", key(now.resolve("tls.key")), new char[0], certificates(now.resolve("tls.crt")).toArray(new Certificate[0]));
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(leaf, new char[0]);
    KeyStore anchors = KeyStore.getInstance("PKCS12");
    anchors.load(null, null);
    for (Certificate anchor : certificates(now.resolve("ca.crt"))) {
      anchors.setCertificateEntry("anchor" + anchors.size(), anchor);
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(anchors);
    return new Loaded(keys, trust);
  }

  private static PrivateKey key(Path file) throws Exception {
    String pem = Files.readString(file).replaceAll("-----[A-Z ]+-----|\\s", "");
    return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
  }

  private static Collection<? extends Certificate> certificates(Path file) throws Exception {
    return CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
  }
}
