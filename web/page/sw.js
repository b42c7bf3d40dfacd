// Keeps the page for times without a connection. Addresses name contents (a hash, or the build), so that what is kept under them is never
// stale; the page itself comes from the server whenever there is one.
// It also says of the page that no other origin is part of it: then browsers let workers share memory, and so threads.
// The worker keeps models under names that begin with drope-, and deletes those of other builds.
const NAME = "playground";
const NAMED = /[-.][0-9a-f]{8,}[-_.]|[?]v=/;
const BUILD = new URL(self.location).searchParams.get("v");

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The page says what it consists of, and its program. One list is kept after the other.
let last = Promise.resolve();
self.addEventListener("message", (event) => {
  last = last.then(() => keep(...event.data)).catch(() => {});
  event.waitUntil(last);
});

async function keep(addresses, program) {
  const cache = await caches.open(NAME);
  const page = await fetch(self.registration.scope, { cache: "no-cache" });
  // A newer page than the one that asks keeps itself.
  if (!page.ok || !(await page.clone().text()).includes(program)) return;
  for (const address of addresses) {
    if (address === self.registration.scope || (NAMED.test(address) && (await cache.match(address)))) continue;
    await cache.add(new Request(address, { cache: NAMED.test(address) ? "default" : "no-cache" }));
  }
  // Last, so that a page that is kept has all its files.
  await cache.put(self.registration.scope, page);
  // Programs of this build stay, though this visit used other ones.
  for (const { url } of await cache.keys()) {
    if (!addresses.includes(url) && !url.endsWith(`?v=${BUILD}`)) await cache.delete(url);
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  // The page asks the server itself whether there is a newer version.
  if (request.cache === "no-store") return;
  if (request.mode !== "navigate") {
    event.respondWith(file(request));
  } else if ([self.registration.scope, `${self.registration.scope}index.html`].includes(origin + pathname)) {
    event.respondWith(fresh(request, self.registration.scope).then(isolated));
  }
  // Documents beside the page are pages of their own, which are not kept.
});

// From the server, and what is kept under the address where there is no connection or the server is out of order.
async function fresh(request, address) {
  const kept = () => caches.match(address, { cacheName: NAME });
  try {
    const response = await fetch(request);
    return response.status >= 500 ? ((await kept()) ?? response) : response;
  } catch (error) {
    const found = await kept();
    if (found) return found;
    throw error;
  }
}

function isolated(response) {
  // Nothing can be added to a redirection, which the browser follows by itself.
  if (response.type === "opaqueredirect") return response;
  const headers = new Headers(response.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

async function file(request) {
  // What has no name of its contents may be another file on the server by now.
  const response = NAMED.test(request.url)
    ? ((await caches.match(request, { cacheName: NAME })) ?? (await fetch(request)))
    : await fresh(request, request);
  // A worker's script has to say it as well.
  return request.destination === "worker" ? isolated(response) : response;
}
