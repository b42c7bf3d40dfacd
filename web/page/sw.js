// Keeps the page for times without a connection. Addresses name contents (a hash, or the build), so what is kept is never stale; the
// page itself comes from the server whenever there is one.
// It also says of the page that no other origin is part of it: then browsers let workers share memory, and so threads.
// The worker keeps models under names that begin with drope-, and deletes those of other builds.
const NAME = "playground";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The page says what it consists of. Whatever else is kept is of an older one.
self.addEventListener("message", (event) => event.waitUntil(keep(new Set(event.data))));

async function keep(addresses) {
  const cache = await caches.open(NAME);
  for (const address of addresses) {
    if (!(await cache.match(address))) await cache.add(address);
  }
  for (const request of await cache.keys()) {
    if (!addresses.has(request.url)) await cache.delete(request);
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  // Documents beside the page are pages of their own, which are not kept.
  const isDocument = request.url.startsWith(new URL("docs/", self.registration.scope).href);
  event.respondWith(request.mode === "navigate" && !isDocument ? freshPage(request) : file(request));
});

async function freshPage(request) {
  const cache = await caches.open(NAME);
  try {
    const response = await fetch(request);
    if (response.ok && (await cache.match(self.registration.scope))) await cache.put(self.registration.scope, response.clone());
    return isolated(response);
  } catch (error) {
    const kept = await cache.match(self.registration.scope);
    if (kept) return isolated(kept);
    throw error;
  }
}

function isolated(response) {
  const headers = new Headers(response.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

async function file(request) {
  const cache = await caches.open(NAME);
  const response = (await cache.match(request)) ?? (await fetch(request));
  // A worker's script has to say it as well.
  return request.destination === "worker" ? isolated(response) : response;
}
