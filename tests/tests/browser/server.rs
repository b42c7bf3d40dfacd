//! A server of the built page whose faults a test chooses.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tiny_http::{Header, Request, Response, StatusCode};

use super::root;

/// What is wrong with one file.
#[derive(Clone, Copy)]
pub enum Fault {
    /// It is not there: status 404.
    Missing,
    /// A host's page for every unknown address, with status 200.
    WebPage,
    /// Only its first half is there.
    Half,
    /// It comes in small pieces.
    Slow,
}

/// Serves `dist/` on a free port of this machine until the tests end.
pub struct Server {
    pub address: String,
    faults: Arc<Mutex<HashMap<String, Fault>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Result<Self> {
        Self::with_headers(&[])
    }

    /// With the headers that let the page share memory.
    pub fn isolating() -> Result<Self> {
        Self::with_headers(&[
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Embedder-Policy", "require-corp"),
        ])
    }

    fn with_headers(headers: &'static [(&str, &str)]) -> Result<Self> {
        ensure!(root().join("dist/index.html").exists(), "dist/index.html is missing: `trunk build --release` first");
        let server = tiny_http::Server::http("127.0.0.1:0").map_err(|error| anyhow::anyhow!(error))?;
        let port = server.server_addr().to_ip().context("an address with a port")?.port();
        let (faults, requests) = <(Arc<Mutex<HashMap<String, Fault>>>, Arc<Mutex<Vec<String>>>)>::default();
        let here = Self { address: format!("http://127.0.0.1:{port}/"), faults, requests };
        let (faults, requests) = (here.faults.clone(), here.requests.clone());
        std::thread::spawn(move || {
            for request in server.incoming_requests() {
                let path = request.url().split('?').next().unwrap_or_default().trim_start_matches('/').to_owned();
                let path = if path.is_empty() { "index.html".to_owned() } else { path };
                let fault = faults.lock().expect("no test panics here").get(&path).copied();
                requests.lock().expect("no test panics here").push(path.clone());
                // A slow file must not hold up the others.
                std::thread::spawn(move || respond(request, &path, fault, headers));
            }
        });
        Ok(here)
    }

    /// Serves a file with this fault from now on.
    pub fn spoil(&self, path: &str, fault: Fault) {
        self.faults.lock().expect("no test panics here").insert(path.to_owned(), fault);
    }

    /// Serves every file without a fault from now on.
    pub fn mend(&self) {
        self.faults.lock().expect("no test panics here").clear();
    }

    /// How often a file was asked for.
    pub fn requests(&self, path: &str) -> usize {
        self.requests.lock().expect("no test panics here").iter().filter(|asked| *asked == path).count()
    }
}

/// The media type of a file, by its ending.
pub fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

fn respond(request: Request, path: &str, fault: Option<Fault>, others: &[(&str, &str)]) {
    let kind = if matches!(fault, Some(Fault::WebPage)) { "text/html" } else { media_type(path) };
    let header = |name: &str, value: &str| Header::from_bytes(name, value).expect("a valid header");
    let headers = others.iter().map(|(name, value)| header(name, value));
    let headers: Vec<Header> = headers.chain([header("content-type", kind)]).collect();
    let whole = |bytes: &[u8]| {
        let length = Some(bytes.len());
        Response::new(StatusCode(200), headers.clone(), Cursor::new(bytes.to_vec()), length, None)
    };
    let bytes = std::fs::read(root().join("dist").join(path));
    // Fails only when the browser has ended.
    let _ = match (bytes, fault) {
        (Err(_), _) | (_, Some(Fault::Missing)) => request.respond(Response::empty(404)),
        (Ok(bytes), None) => request.respond(whole(&bytes)),
        (Ok(bytes), Some(Fault::Half)) => request.respond(whole(&bytes[..bytes.len() / 2])),
        (Ok(_), Some(Fault::WebPage)) => request.respond(whole(b"<!doctype html><title>Home</title>")),
        (Ok(bytes), Some(Fault::Slow)) => {
            let length = Some(bytes.len());
            request.respond(Response::new(StatusCode(200), headers, Slow(Cursor::new(bytes)), length, None))
        }
    };
}

/// Bytes in pieces of 8 KB, twenty a second.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(50));
        let most = buffer.len().min(8192);
        self.0.read(&mut buffer[..most])
    }
}
