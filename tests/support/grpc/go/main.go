// SPDX-License-Identifier: Apache-2.0

// grpcpeer serve CERTS|- [websocket]   a server by grpc-go of the service test.Echo; prints its port
// grpcpeer check CERTS|- PORT [websocket]
//                                      a client that tries each method, and prints what fails
// grpcpeer drain CERTS|- PORT          a client that keeps a call open, and goes when the server says so
// grpcpeer stay CERTS PORT             a client that keeps a call open until it reads a line, then goes on with it, and
//                                      makes another connection
// grpcpeer stray CERTS PORT certificate|message
//                                      a client that a server has to refuse; prints the code by which its call ends
// grpcpeer push CERTS PORT NAME TOKEN  a client of that name, which calls Push of argocd-agent's EventStream: each line
//                                      of standard input is a message in base64; prints what comes back
// grpcpeer bridge CERTS PORT NAME|-     WebSockets on one side and HTTP/2 on the other: whoever calls the port that it prints
//                                      in plaintext calls PORT by WebSockets with the certificate NAME; with -, whoever
//                                      calls by WebSockets calls PORT by HTTP/2
// grpcpeer bench FLAG...               one end of what argobus-bench measures (bench.go)
//
// With "websocket", calls travel by WebSockets (websocket.go).
// tests/integration/grpc/echo_server.c says what the methods do.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	large    = 64 << 20
	maxBytes = 200 << 20
	denied   = "ne: prosím, 100% nein"
)

// raw hands messages over as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

func die(err error) {
	if err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
}

func tlsConfig(certs, name string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certs, name+".crt"), filepath.Join(certs, name+".key"))
	die(err)
	pem, err := os.ReadFile(filepath.Join(certs, "ca.crt"))
	die(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAndVerifyClientCert,
		// Also one that nobody signed whom the server names: Go would send none.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}
}

// ---- server ----

func subject(ctx context.Context) string {
	p, _ := peer.FromContext(ctx)
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		return "/" + info.State.PeerCertificates[0].Subject.String()
	}
	return ""
}

func echo(s grpc.ServerStream) error {
	for {
		var m []byte
		if err := s.RecvMsg(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

func unary(s grpc.ServerStream) error {
	var m []byte
	if err := s.RecvMsg(&m); err != nil {
		return err
	}
	return s.SendMsg(&m)
}

func many(s grpc.ServerStream) error {
	var m []byte
	var count, size int
	if err := s.RecvMsg(&m); err != nil {
		return err
	}
	fmt.Sscanf(string(m), "%d %d", &count, &size)
	block := make([]byte, size)
	for range count {
		if err := s.SendMsg(&block); err != nil {
			return err
		}
	}
	return nil
}

func count(s grpc.ServerStream) error {
	messages, bytes := 0, 0
	for {
		var m []byte
		if err := s.RecvMsg(&m); err != nil {
			break
		}
		messages++
		bytes += len(m)
	}
	reply := fmt.Appendf(nil, "%d %d", messages, bytes)
	return s.SendMsg(&reply)
}

func hold(s grpc.ServerStream) error {
	<-s.Context().Done()
	fmt.Println("Hold", s.Context().Err())
	return s.Context().Err()
}

func meta(s grpc.ServerStream) error {
	in, _ := metadata.FromIncomingContext(s.Context())
	out := metadata.Pairs("x-subject", subject(s.Context()))
	out["x-echo"] = in["x-echo"]
	out["x-echo-bin"] = in["x-echo-bin"]
	if err := s.SendHeader(out); err != nil {
		return err
	}
	reply := []byte("meta")
	return s.SendMsg(&reply)
}

func deny(grpc.ServerStream) error { return status.Error(codes.PermissionDenied, denied) }

func serve(certs string, byWebSocket bool) {
	options := []grpc.ServerOption{
		grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(maxBytes), grpc.MaxSendMsgSize(maxBytes),
	}
	if certs != "-" {
		options = append(options, grpc.Creds(credentials.NewTLS(tlsConfig(certs, "server"))))
	}
	methods := map[string]func(grpc.ServerStream) error{
		"Echo": echo, "Unary": unary, "Many": many, "Count": count, "Hold": hold, "Meta": meta, "Deny": deny,
	}
	desc := grpc.ServiceDesc{ServiceName: "test.Echo", HandlerType: (*any)(nil)}
	for name, method := range methods {
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: name, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error { return method(s) },
		})
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&desc, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	die(err)
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		if byWebSocket {
			os.Exit(0)
		}
		time.AfterFunc(time.Second, server.Stop)
		server.GracefulStop()
	}()
	if byWebSocket {
		serveWebSockets(server, listener, certs)
	}
	die(server.Serve(listener))
}

// ---- client ----

func dial(certs, port string, options ...grpc.DialOption) *grpc.ClientConn {
	return dialAs("client", certs, port, options...)
}

func dialAs(name, certs, port string, options ...grpc.DialOption) *grpc.ClientConn {
	creds := insecure.NewCredentials()
	if certs != "-" {
		creds = credentials.NewTLS(tlsConfig(certs, name))
	}
	options = append(options, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(
		grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(maxBytes), grpc.MaxCallSendMsgSize(maxBytes)))
	conn, err := grpc.NewClient("passthrough:///localhost:"+port, options...)
	die(err)
	return conn
}

func open(ctx context.Context, c *grpc.ClientConn, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	desc := grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	return c.NewStream(ctx, &desc, "/test.Echo/"+method, o...)
}

func fill(size int) []byte {
	block := make([]byte, size)
	for i := range block {
		block[i] = byte(i / 7 % 251)
	}
	return block
}

func tryUnary(c *grpc.ClientConn, size int, options ...grpc.CallOption) error {
	in, out := fill(size), []byte{}
	if err := c.Invoke(context.Background(), "/test.Echo/Unary", &in, &out, options...); err != nil {
		return err
	}
	if string(in) != string(out) {
		return fmt.Errorf("%d other bytes", len(out))
	}
	return nil
}

func tryEcho(c *grpc.ClientConn, options ...grpc.CallOption) error {
	s, err := open(context.Background(), c, "Echo", options...)
	if err != nil {
		return err
	}
	for i := range 1000 {
		in, out := fill(i*37), []byte{}
		if err := s.SendMsg(&in); err != nil {
			return err
		}
		if err := s.RecvMsg(&out); err != nil {
			return err
		}
		if string(in) != string(out) {
			return fmt.Errorf("message %d has other bytes", i)
		}
	}
	s.CloseSend()
	var rest []byte
	if err := s.RecvMsg(&rest); err != io.EOF {
		return fmt.Errorf("at the end: %v", err)
	}
	return nil
}

func tryMany(c *grpc.ClientConn) error {
	s, err := open(context.Background(), c, "Many")
	if err != nil {
		return err
	}
	in := []byte("2000 5000")
	s.SendMsg(&in)
	s.CloseSend()
	n := 0
	for {
		var m []byte
		if err := s.RecvMsg(&m); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		n += len(m)
	}
	if n != 2000*5000 {
		return fmt.Errorf("%d bytes", n)
	}
	return nil
}

func tryCount(c *grpc.ClientConn) error {
	s, err := open(context.Background(), c, "Count")
	if err != nil {
		return err
	}
	block := fill(3000)
	for range 1000 {
		if err := s.SendMsg(&block); err != nil {
			return err
		}
	}
	s.CloseSend()
	var m []byte
	if err := s.RecvMsg(&m); err != nil || string(m) != "1000 3000000" {
		return fmt.Errorf("%q, %v", m, err)
	}
	return nil
}

func expect(err error, code codes.Code, text string) error {
	if status.Code(err) != code || (text != "" && status.Convert(err).Message() != text) {
		return fmt.Errorf("not %v but: %v", code, err)
	}
	return nil
}

func invoke(ctx context.Context, c *grpc.ClientConn, method string) error {
	in, out := []byte("hello"), []byte{}
	return c.Invoke(ctx, "/test.Echo/"+method, &in, &out)
}

func tryDeadline(c *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	return expect(invoke(ctx, c, "Hold"), codes.DeadlineExceeded, "")
}

func tryCancel(c *grpc.ClientConn) error {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	return expect(invoke(ctx, c, "Hold"), codes.Canceled, "")
}

func tryMeta(c *grpc.ClientConn, secure bool) error {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-echo", "a b", "x-echo-bin", "\xff\x00z")
	in, out := []byte("hello"), []byte{}
	var header metadata.MD
	if err := c.Invoke(ctx, "/test.Echo/Meta", &in, &out, grpc.Header(&header)); err != nil {
		return err
	}
	want := map[bool]string{true: "/CN=w1", false: ""}[secure]
	got := fmt.Sprint(header["x-echo"], header["x-echo-bin"], header["x-subject"])
	if got != fmt.Sprint([]string{"a b"}, []string{"\xff\x00z"}, []string{want}) {
		return fmt.Errorf("%q", got)
	}
	return nil
}

func check(certs, port string, byWebSocket bool) {
	secure := certs != "-"
	if byWebSocket {
		certs, port = "-", translate(certs, "client", port)
	}
	c := dial(certs, port)
	gz := grpc.UseCompressor("gzip")
	failed := false
	for _, t := range []struct {
		name string
		err  error
	}{
		{"unary", tryUnary(c, 5000)},
		{"unary gzip", tryUnary(c, 5000, gz)},
		{"empty", tryUnary(c, 0)},
		{"empty gzip", tryUnary(c, 0, gz)},
		{"large", tryUnary(c, large)},
		{"large gzip", tryUnary(c, large, gz)},
		{"echo", tryEcho(c)},
		{"echo gzip", tryEcho(c, gz)},
		{"many", tryMany(c)},
		{"count", tryCount(c)},
		{"deny", expect(invoke(context.Background(), c, "Deny"), codes.PermissionDenied, denied)},
		{"unknown", expect(invoke(context.Background(), c, "None"), codes.Unimplemented, "")},
		{"deadline", tryDeadline(c)},
		{"cancel", tryCancel(c)},
		{"meta", tryMeta(c, secure)},
	} {
		if t.err != nil {
			failed = true
			fmt.Println("FAIL", t.name, t.err)
		} else {
			fmt.Println("ok", t.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// drain keeps a call open over the server's GOAWAY, and ends it then.
func drain(certs, port string) {
	c := dial(certs, port)
	s, err := open(context.Background(), c, "Echo")
	die(err)
	m := []byte("hello")
	die(s.SendMsg(&m))
	die(s.RecvMsg(&m))
	fmt.Println("open")
	for c.GetState().String() == "READY" {
		time.Sleep(time.Millisecond)
	}
	die(s.SendMsg(&m))
	die(s.RecvMsg(&m))
	s.CloseSend()
	if err := s.RecvMsg(&m); err != io.EOF {
		die(fmt.Errorf("at the end: %w", err))
	}
	fmt.Println("ended")
}

func stay(certs, port string) {
	s, err := open(context.Background(), dial(certs, port), "Echo")
	die(err)
	m := []byte("hello")
	die(s.SendMsg(&m))
	die(s.RecvMsg(&m))
	fmt.Println("open")
	bufio.NewReader(os.Stdin).ReadString('\n')
	die(s.SendMsg(&m))
	die(s.RecvMsg(&m))
	fmt.Println("goes on")
	die(tryUnary(dial(certs, port), 100))
	fmt.Println("another")
}

// stray sends a certificate that nobody signed, whatever the server asks for, or a message that may be too large.
func stray(certs, port, how string) {
	name := map[string]string{"certificate": "foreign", "message": "client"}[how]
	fmt.Println(status.Code(tryUnary(dialAs(name, certs, port), 3000)))
}

func push(certs, port, name, token string) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", token)
	desc := grpc.StreamDesc{ClientStreams: true}
	s, err := dialAs(name, certs, port).NewStream(ctx, &desc, "/eventstreamapi.EventStream/Push")
	die(err)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxBytes)
	for lines.Scan() {
		m, err := base64.StdEncoding.DecodeString(lines.Text())
		die(err)
		if s.SendMsg(&m) != nil {
			break // RecvMsg says why
		}
	}
	die(lines.Err())
	s.CloseSend()
	var m []byte
	die(s.RecvMsg(&m))
	fmt.Println(base64.StdEncoding.EncodeToString(m))
}

func main() {
	last := len(os.Args) - 1
	byWebSocket := os.Args[last] == "websocket"
	if byWebSocket {
		os.Args = os.Args[:last]
	}
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		serve(os.Args[2], byWebSocket)
	case len(os.Args) == 4 && os.Args[1] == "check":
		check(os.Args[2], os.Args[3], byWebSocket)
	case len(os.Args) == 4 && os.Args[1] == "drain":
		drain(os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "stay":
		stay(os.Args[2], os.Args[3])
	case len(os.Args) == 5 && os.Args[1] == "stray":
		stray(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 5 && os.Args[1] == "bridge":
		bridge(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 6 && os.Args[1] == "push":
		push(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	case len(os.Args) > 2 && os.Args[1] == "bench":
		runBench(os.Args[2:])
	default:
		os.Exit(2)
	}
}
