// Starts the page's program, whose files have a hash in their names. What stands in the page without it is painted first.
if (!document.hidden) await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
const { program, wasm } = document.querySelector("script[data-program]").dataset;
try {
  const module = fetch(new URL(wasm, document.baseURI));
  const { default: start } = await import(new URL(program, document.baseURI));
  await start({ module_or_path: module });
} catch (error) {
  const notice = document.getElementById("starting");
  if (notice) notice.textContent = `The page could not start (${error.message}). Reload it, or try another browser.`;
  throw error;
}
