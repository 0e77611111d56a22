// SPDX-License-Identifier: Apache-2.0

// kubelet-dev plays the kubelet for tests: a real kube-apiserver gets a node whose pods have logs, exec, attach and
// port-forward, without any container runtime. A pod is an API object, a folder, and, if asked for, one local process a
// container. The streams are served by the library that real kubelets use.
//
//	kubelet-dev -cluster DIR [-node NAME] [-port N] [-bind NS,NS..] [-data DIR] [-streams N]
//
// DIR is a folder of kube-dev's clusters. Once "kubelet-dev: ready" is printed, the Node is Ready; each request of the
// API server is then a line on stderr. SIGTERM ends all processes and makes the node not Ready; its pods stay as they
// are in the API, and the next start runs their processes again.
//
//	-cluster DIR  ca.crt, ca.key, admin.crt, admin.key and port are there (required)
//	-node NAME    the Node, made or updated (kubelet-dev)
//	-port N       port of 127.0.0.1 to serve on; 0: any (0)
//	-bind LIST    bind unbound pods of these namespaces to the node; "*": of all; empty: none, so that pods have to
//	              name it in spec.nodeName (*)
//	-data DIR     logs and working folders (kubelet, in the folder of -cluster)
//	-streams N    most requests at a time; more get 503 (200)
//
// A pod of the node becomes Running and Ready at once, its init containers Completed. When it is deleted, its processes
// get SIGTERM, and SIGKILL after its grace period; then the object goes, and its folder. When a pod is first seen, these
// annotations are read:
//
//	kubelet-dev/run      a bash script, the main process of each container: what it prints is the log, attach reaches it
//	                     (stdin and tty as in the container's spec), restartPolicy is obeyed, with 1 s between two runs.
//	                     In its environment: NAMESPACE, POD, CONTAINER, RESTARTS and LOG (the log file).
//	kubelet-dev/waiting  a reason, such as ImagePullBackOff: the containers wait for ever, without log or exec
//	kubelet-dev/ports    "80=18080,443=8443": where port-forward goes on 127.0.0.1 (else to the port itself)
//
// Nothing else of the spec is run: no image, command, volume or probe. Without kubelet-dev/run a container is Running
// for ever, and its log is what a test appends to DATA/NAMESPACE/POD/CONTAINER/N.log (N: the restart count), in the
// format of CRI: "2026-01-02T15:04:05.123456789Z stdout F text". A line is served within some 20 ms of its newline;
// followers end with the run.
//
// Exec runs the given command as the user of kubelet-dev, in the pod's folder: this is no sandbox. Hence it listens on
// 127.0.0.1 alone, and to clients with a certificate of the cluster's CA alone.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type kubelet struct {
	node, data, api string
	since           string // of its conditions
	bind            []string
	client          *http.Client
	mu              sync.Mutex
	pods            map[string]*pod // by namespace/name
	ended           sync.WaitGroup  // processes
}

type object = map[string]any

// call sends one request to the API and decodes the answer into out.
func (k *kubelet) call(method, path string, body, out any) error {
	b, _ := json.Marshal(body)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, k.api+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		var s struct{ Message string }
		json.Unmarshal(b, &s)
		return &apiError{resp.StatusCode, method + " " + path + ": " + s.Message}
	}
	if out != nil && err == nil {
		err = json.Unmarshal(b, out)
	}
	return err
}

type apiError struct {
	code int
	text string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.code, e.text) }

func code(err error) int {
	if e, ok := err.(*apiError); ok {
		return e.code
	}
	return 0
}

// heartbeat makes or updates the Node, and its conditions each 10 seconds.
func (k *kubelet) heartbeat(port int, ready string) error {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []object
	for t, s := range map[string]string{"Ready": ready, "MemoryPressure": "False",
		"DiskPressure": "False", "PIDPressure": "False"} {
		conditions = append(conditions, object{"type": t, "status": s, "reason": "KubeletDev",
			"message": "kubelet-dev", "lastHeartbeatTime": now, "lastTransitionTime": k.since})
	}
	slices.SortFunc(conditions, func(a, b object) int {
		return strings.Compare(a["type"].(string), b["type"].(string))
	})
	room := object{"cpu": "8", "memory": "16Gi", "pods": "110"}
	patch := object{"status": object{
		// A Hostname would be tried first, and has to resolve.
		"addresses":       []object{{"type": "InternalIP", "address": "127.0.0.1"}},
		"daemonEndpoints": object{"kubeletEndpoint": object{"Port": port}},
		"conditions":      conditions, "capacity": room, "allocatable": room,
		"nodeInfo": object{"kubeletVersion": "v1.36.1-dev", "operatingSystem": "linux",
			"architecture": "amd64", "containerRuntimeVersion": "kubelet-dev://1"}}}
	path := "/api/v1/nodes/" + k.node
	err := k.call("PATCH", path+"/status", patch, nil)
	if code(err) != 404 {
		return err
	}
	err = k.call("POST", "/api/v1/nodes", object{"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": k.node, "labels": object{
			"kubernetes.io/hostname": k.node, "kubernetes.io/os": "linux"}}}, nil)
	if err == nil { // without the taint not-ready that admission adds
		err = k.call("PATCH", path, object{"spec": object{"taints": nil}}, nil)
	}
	if err == nil {
		err = k.call("PATCH", path+"/status", patch, nil)
	}
	return err
}

// watch lists and watches all pods until ctx ends, and hands each one to see.
func (k *kubelet) watch(ctx context.Context) error {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []apiPod
	}
	if err := k.call("GET", "/api/v1/pods", nil, &list); err != nil {
		return err
	}
	there := map[string]string{}
	for i := range list.Items {
		p := &list.Items[i]
		there[p.key()] = p.Metadata.UID
	}
	for _, p := range k.all() { // gone while there was no watch
		if there[p.key()] != p.Metadata.UID {
			k.gone(&p.apiPod)
		}
	}
	for i := range list.Items {
		k.see(&list.Items[i])
	}
	req, err := http.NewRequestWithContext(ctx, "GET", k.api+
		"/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion="+list.Metadata.ResourceVersion, nil)
	if err != nil {
		return err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e struct {
			Type   string
			Object apiPod
		}
		if err := d.Decode(&e); err != nil {
			return err
		}
		switch e.Type {
		case "ADDED", "MODIFIED":
			k.see(&e.Object)
		case "DELETED":
			k.gone(&e.Object)
		case "ERROR":
			return fmt.Errorf("the watch of pods ended; listing again")
		}
	}
}

// certificate issues one for 127.0.0.1, signed by the cluster's CA.
func certificate(ca tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "kubelet-dev"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func run() error {
	cluster := flag.String("cluster", "", "folder with ca.crt, ca.key, admin.crt, admin.key and port")
	node := flag.String("node", "kubelet-dev", "name of the Node")
	port := flag.Int("port", 0, "port of 127.0.0.1 to serve on; 0: any")
	bind := flag.String("bind", "*", "bind unbound pods of these namespaces; *: of all")
	data := flag.String("data", "", "folder of logs (kubelet, in that of -cluster)")
	streams := flag.Int("streams", 200, "most requests at a time")
	flag.Parse()
	if *cluster == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *data == "" {
		*data = filepath.Join(*cluster, "kubelet")
	}
	file := func(name string) string { return filepath.Join(*cluster, name) }
	apiPort, err := os.ReadFile(file("port"))
	if err != nil {
		return err
	}
	ca, err := tls.LoadX509KeyPair(file("ca.crt"), file("ca.key"))
	if err != nil {
		return err
	}
	admin, err := tls.LoadX509KeyPair(file("admin.crt"), file("admin.key"))
	if err != nil {
		return err
	}
	serving, err := certificate(ca)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	k := &kubelet{node: *node, api: "https://127.0.0.1:" + strings.TrimSpace(string(apiPort)),
		pods: map[string]*pod{}, since: time.Now().UTC().Format(time.RFC3339),
		client: &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{admin}}}}}
	if k.data, err = filepath.Abs(*data); err != nil {
		return err
	}
	if *bind != "" {
		k.bind = strings.Split(*bind, ",")
	}

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() {
		served <- (&http.Server{Handler: k.handler(*streams), ConnContext: connContext,
			ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(os.Stderr, "kubelet-dev: http: ", 0),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{serving}, ClientCAs: pool,
				ClientAuth: tls.RequireAndVerifyClientCert}}).ServeTLS(watchListener{listener}, "", "")
	}()
	*port = listener.Addr().(*net.TCPAddr).Port
	if err := k.heartbeat(*port, "True"); err != nil {
		return err
	}
	fmt.Printf("kubelet-dev: ready, node %s on 127.0.0.1:%d, logs in %s\n", k.node, *port, k.data)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if err := k.watch(ctx); err != nil && ctx.Err() == nil && err != io.EOF {
				log.Print(err)
				time.Sleep(time.Second)
			}
		}
	}()
	tick := time.NewTicker(10 * time.Second)
	for {
		select {
		case err := <-served:
			return err
		case <-tick.C:
			if err := k.heartbeat(*port, "True"); err != nil {
				log.Print(err)
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	k.since = time.Now().UTC().Format(time.RFC3339)
	err = k.heartbeat(*port, "False")
	for _, p := range k.all() {
		p.kill(time.Second)
	}
	k.ended.Wait()
	return err
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	log.SetPrefix("kubelet-dev: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// A connection whose end is seen, so that its requests' contexts end with it, also
// after an upgrade, when net/http no longer looks.
type watchListener struct{ net.Listener }

type watchConn struct {
	net.Conn
	ctx context.Context
	end context.CancelFunc
}

func (l watchListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	return &watchConn{c, ctx, end}, nil
}

func (c *watchConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if e, ok := err.(net.Error); err != nil && !(ok && e.Timeout()) {
		c.end()
	}
	return n, err
}

func (c *watchConn) Close() error { c.end(); return c.Conn.Close() }

func connContext(ctx context.Context, c net.Conn) context.Context {
	w := c.(*tls.Conn).NetConn().(*watchConn)
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(w.ctx, cancel)
	return ctx
}

// logRequest is the line of one request of the API server.
func logRequest(r *http.Request, status string, since time.Time) {
	log.Printf("%s %s %s upgrade=%q stream-protocol=%q websocket-protocol=%q: %s after %s",
		r.Proto, r.Method, r.URL.RequestURI(), r.Header.Get("Upgrade"),
		strings.Join(r.Header.Values("X-Stream-Protocol-Version"), ","),
		r.Header.Get("Sec-WebSocket-Protocol"), status, time.Since(since).Round(time.Millisecond))
}
