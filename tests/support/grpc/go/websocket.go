// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/coder/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// gRPC by WebSockets, as argocd-agent's does it: one call over each, its headers in the upgrade, messages of gRPC in
// binary messages, and metadata in those whose first byte is 0x80.
const (
	protocol   = "grpc-ws"
	prefix     = 5
	isMetadata = 0x80
)

var endOfCall = []byte{isMetadata, 0, 0, 0, 0}

func size(message []byte) int { return int(binary.BigEndian.Uint32(message[1:prefix])) }

func receive(ctx context.Context, c *websocket.Conn) ([]byte, error) {
	kind, message, err := c.Read(ctx)
	if err == nil && (kind != websocket.MessageBinary || len(message) < prefix || len(message) != prefix+size(message)) {
		err = errors.New("no message of gRPC")
	}
	return message, err
}

func sendMetadata(ctx context.Context, c *websocket.Conn, h http.Header) {
	var lines bytes.Buffer
	h.Write(&lines)
	message := binary.BigEndian.AppendUint32([]byte{isMetadata}, uint32(lines.Len()))
	c.Write(ctx, websocket.MessageBinary, append(message, lines.Bytes()...))
}

// ---- server ----

// requestBody is what the client sends, as grpc-go wants to read it: Read ends when grpc-go closes, while the
// WebSocket is still read.
type requestBody struct {
	messages chan []byte
	closed   chan struct{}
	rest     []byte
}

// pump ends when the client has closed, and the call with it.
func (b *requestBody) pump(ctx context.Context, cancel context.CancelFunc, c *websocket.Conn) {
	defer cancel()
	for ended := false; ; {
		message, err := receive(ctx, c)
		if err != nil || ended {
			return
		}
		if ended = bytes.Equal(message, endOfCall); ended {
			close(b.messages)
			continue
		}
		select {
		case b.messages <- message:
		case <-b.closed:
		}
	}
}

func (b *requestBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		select {
		case message, open := <-b.messages:
			if !open {
				return 0, io.EOF
			}
			b.rest = message
		case <-b.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *requestBody) Close() error {
	close(b.closed)
	return nil
}

// answer takes what grpc-go answers.
type answer struct {
	ctx     context.Context
	c       *websocket.Conn
	header  http.Header
	begun   bool
	trailer []string
	message []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(int) {
	if a.begun {
		return
	}
	a.begun = true
	a.trailer = a.header["Trailer"]
	a.header.Del("Trailer")
	sendMetadata(a.ctx, a.c, a.header)
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(200)
	a.message = append(a.message, p...)
	for len(a.message) >= prefix && len(a.message) >= prefix+size(a.message) {
		n := prefix + size(a.message)
		if err := a.c.Write(a.ctx, websocket.MessageBinary, a.message[:n]); err != nil {
			return 0, err
		}
		a.message = a.message[n:]
	}
	return len(p), nil
}

func (a *answer) Flush() { a.WriteHeader(200) }

func (a *answer) end() {
	trailer := http.Header{}
	for _, name := range a.trailer {
		trailer[name] = a.header[name]
	}
	for name, values := range a.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			trailer[strings.TrimPrefix(name, http.TrailerPrefix)] = values
		}
	}
	sendMetadata(a.ctx, a.c, trailer)
}

func upgrade(server *grpc.Server, w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil {
		return
	}
	c.SetReadLimit(maxBytes + prefix)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	call := r.Clone(ctx)
	call.Method, call.Proto, call.ProtoMajor, call.ProtoMinor = http.MethodPost, "HTTP/2.0", 2, 0
	for name := range call.Header {
		if name == "Connection" || name == "Upgrade" || strings.HasPrefix(name, "Sec-Websocket-") {
			delete(call.Header, name)
		}
	}
	body := &requestBody{messages: make(chan []byte), closed: make(chan struct{})}
	go body.pump(ctx, cancel, c)
	call.Body = body
	a := &answer{ctx: ctx, c: c, header: http.Header{}}
	server.ServeHTTP(a, call)
	a.end()
	c.Close(websocket.StatusNormalClosure, "")
}

func serveWebSockets(server *grpc.Server, listener net.Listener, certs string) {
	web := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { upgrade(server, w, r) })}
	if certs == "-" {
		die(web.Serve(listener))
	}
	web.TLSConfig = tlsConfig(certs, "server")
	die(web.ServeTLS(listener, "", ""))
}

// ---- client ----

func readMetadata(message []byte) (http.Header, error) {
	lines := io.MultiReader(bytes.NewReader(message[prefix:]), strings.NewReader("\r\n"))
	h, err := textproto.NewReader(bufio.NewReader(lines)).ReadMIMEHeader()
	return http.Header(h), err
}

func sendRequest(ctx context.Context, c *websocket.Conn, body io.Reader) error {
	for {
		message := make([]byte, prefix)
		if _, err := io.ReadFull(body, message); err == io.EOF {
			return c.Write(ctx, websocket.MessageBinary, endOfCall)
		} else if err != nil {
			return err
		}
		message = append(message, make([]byte, size(message))...)
		if _, err := io.ReadFull(body, message[prefix:]); err != nil {
			return err
		}
		if err := c.Write(ctx, websocket.MessageBinary, message); err != nil {
			return err
		}
	}
}

func readAnswer(ctx context.Context, c *websocket.Conn, w http.ResponseWriter) error {
	for begun := false; ; {
		message, err := receive(ctx, c)
		if err != nil {
			return err
		}
		if message[0]&isMetadata == 0 {
			if !begun {
				return errors.New("a message before the headers")
			}
			w.Write(message)
			w.(http.Flusher).Flush()
			continue
		}
		h, err := readMetadata(message)
		if err != nil {
			return err
		}
		last := begun || h.Get("Grpc-Status") != ""
		for name, values := range h {
			if begun {
				name = http.TrailerPrefix + name
			}
			w.Header()[name] = values
		}
		if last {
			return nil
		}
		begun = true
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
	}
}

// translate gives the port of a server of HTTP/2 that calls on by WebSockets.
func translate(certs, name, port string) string {
	scheme, transport := "http", &http.Transport{}
	if certs != "-" {
		scheme, transport.TLSClientConfig = "https", tlsConfig(certs, name)
		transport.TLSClientConfig.NextProtos = nil // Go offers nothing here, and neither does argocd-agent
	}
	handle := func(w http.ResponseWriter, r *http.Request) {
		c, _, err := websocket.Dial(r.Context(), fmt.Sprintf("%s://localhost:%s%s", scheme, port, r.URL.Path),
			&websocket.DialOptions{HTTPHeader: r.Header, HTTPClient: &http.Client{Transport: transport},
				Subprotocols: []string{protocol}})
		if err != nil {
			fmt.Println("lost", err)
			panic(http.ErrAbortHandler) // the caller sees it
		}
		c.SetReadLimit(maxBytes + prefix)
		go sendRequest(r.Context(), c, r.Body)
		if err := readAnswer(r.Context(), c, w); err != nil && r.Context().Err() == nil {
			fmt.Println("lost", err)
			panic(http.ErrAbortHandler)
		}
		c.Close(websocket.StatusNormalClosure, "")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	die(err)
	// A call that waits must not hold up the others of its connection.
	windows := http.HTTP2Config{MaxReceiveBufferPerConnection: 64 << 20, MaxReceiveBufferPerStream: 1 << 20}
	server := http.Server{Handler: http.HandlerFunc(handle), Protocols: new(http.Protocols), HTTP2: &windows}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(listener)
	_, own, _ := net.SplitHostPort(listener.Addr().String())
	return own
}

// ---- bridge ----

// relay hands a call on as it comes.
func relay(to *grpc.ClientConn) grpc.StreamHandler {
	return func(_ any, from grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(from)
		in, _ := metadata.FromIncomingContext(from.Context())
		ctx := metadata.NewOutgoingContext(from.Context(), metadata.MD{"authorization": in["authorization"]})
		out, err := to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			return err
		}
		go func() {
			for {
				var m []byte
				if from.RecvMsg(&m) != nil {
					out.CloseSend()
					return
				}
				if out.SendMsg(&m) != nil {
					return
				}
			}
		}()
		for {
			var m []byte
			if err := out.RecvMsg(&m); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := from.SendMsg(&m); err != nil {
				return err
			}
		}
	}
}

func bridge(certs, port, name string) {
	if name != "-" {
		fmt.Println("port", translate(certs, name, port))
		select {}
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(maxBytes), grpc.MaxSendMsgSize(maxBytes),
		grpc.UnknownServiceHandler(relay(dial(certs, port))))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	die(err)
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	serveWebSockets(server, listener, certs)
}
