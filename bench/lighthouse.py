"""Lighthouse's scores of the built page, on a phone and on a desk: python bench/lighthouse.py

Needs `cargo xtask page`, Chromium, and Node with npx, which fetches Lighthouse. Files are sent compressed, as hosts do.
"""

import gzip
import http.server
import json
import os
import subprocess
import threading
from pathlib import Path

LIGHTHOUSE = "lighthouse@12.8.2"
DIST = Path(__file__).resolve().parent.parent / "dist"
COMPRESSED = {".js", ".css", ".html", ".wasm", ".json", ".svg"}
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm"}
AUDITS = ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift"]


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = DIST / (self.path.split("?")[0].strip("/") or "index.html")
        if not path.is_file():
            return self.send_error(404)
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
        if path.suffix in COMPRESSED:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def scores(address, arguments):
    command = ["npx", "--yes", LIGHTHOUSE, address, "--quiet", "--output=json", "--output-path=stdout", *arguments]
    flags = "--chrome-flags=--headless=new --no-sandbox"
    return json.loads(subprocess.run([*command, flags], check=True, capture_output=True, text=True).stdout)


def main():
    os.environ.setdefault("CHROME_PATH", "/usr/bin/chromium")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, arguments in [("phone", []), ("desk", ["--preset=desktop"])]:
        report = scores(f"http://127.0.0.1:{server.server_address[1]}/", arguments)
        found = {key: round(100 * category["score"]) for key, category in report["categories"].items()}
        times = {audit: report["audits"][audit]["displayValue"] for audit in AUDITS}
        print(name, found, times)


if __name__ == "__main__":
    main()
