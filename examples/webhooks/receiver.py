"""
Receives webhooks with Python's standard library, and stores each event once, in a table of an SQLite file:

  WEBHOOK_SECRET=whsec_your_secret PORT=8080 python3 receiver.py inbox.db

During a rotation, set WEBHOOK_SECRET to both secrets, separated by a space. Process the stored events in another
program, or later in this one, because the service expects a response within 15 seconds.
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = os.environ.get("WEBHOOK_SECRET", "").split()
KEYS = [base64.b64decode(secret.removeprefix("whsec_"), validate=True) for secret in SECRETS]
INBOX = sys.argv[1] if len(sys.argv) > 1 else "inbox.db"
TOLERANCE_SECONDS = 300
MOST_BYTES = 1_048_576


class WebhookError(Exception):
    pass


def verify(headers, body):
    """Verifies a delivery (Standard Webhooks 1.0) and returns its event. Raises WebhookError if it is not authentic."""
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isascii() or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise WebhookError("webhook-timestamp is missing, or differs from the current time by more than 5 minutes")
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in KEYS]
    for signature in headers.get("webhook-signature", "").split():
        version, _, value = signature.partition(",")
        for right in expected:
            if version == "v1" and hmac.compare_digest(value.encode(), right):
                return json.loads(body)
    raise WebhookError("webhook-signature does not match. Check the secret")


def keep(webhook_id, body):
    """Stores an event. Returns False if it is already stored, because an event may be delivered several times."""
    with closing(sqlite3.connect(INBOX, timeout=10)) as database, database:
        return database.execute("INSERT OR IGNORE INTO inbox VALUES (?, ?)", (webhook_id, body.decode())).rowcount > 0


class Receiver(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        try:
            length = int(self.headers.get("content-length", "0"))
            if not 0 <= length <= MOST_BYTES:
                raise WebhookError("the body is too large")
            body = self.rfile.read(length)
            event = verify(self.headers, body)
            if keep(self.headers["webhook-id"], body):
                print(self.headers["webhook-id"], event["type"], flush=True)
            self.answer(204)
        except (WebhookError, ValueError) as error:
            # The service retries the delivery, because the secret may be corrected later.
            self.log_error("%s", error)
            self.answer(400)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_request(self, *_):
        pass


if not KEYS:
    sys.exit("Set WEBHOOK_SECRET.")
with closing(sqlite3.connect(INBOX)) as database:
    database.execute("CREATE TABLE IF NOT EXISTS inbox (webhook_id TEXT PRIMARY KEY, event TEXT NOT NULL)")
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print(f"Listening on port {server.server_port}.", flush=True)
server.serve_forever()
