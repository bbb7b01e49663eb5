#!/usr/bin/env python3
"""TLS in front of a port of this machine, as an API server has it: asks for a client certificate, and says on standard
output whose came. Usage: tls_front.py PORT CERTIFICATE KEY CLIENTS_CA"""

import socket
import ssl
import sys
import threading


def say(words):
    print(words, flush=True)


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(plain, context, port):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except OSError as error:
        say(f"refused {error}")
        return
    names = dict(part[0] for part in (client.getpeercert() or {}).get("subject", ()))
    say(f"client {names.get('commonName', 'nobody')} asked-for {getattr(client, 'asked_for', None)}")
    server = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


def main():
    port, certificate, key, clients = int(sys.argv[1]), *sys.argv[2:5]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(clients)
    context.verify_mode = ssl.CERT_OPTIONAL

    def on_name(connection, name, _):
        connection.asked_for = name

    context.sni_callback = on_name
    listener = socket.create_server(("127.0.0.1", 0))
    say(f"port {listener.getsockname()[1]}")
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=serve, args=(plain, context, port), daemon=True).start()


main()
