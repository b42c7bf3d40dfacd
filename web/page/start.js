// Starts the page's program, whose files have a hash in their names.
const { program, wasm } = document.querySelector("script[data-program]").dataset;
const { default: start } = await import(new URL(program, document.baseURI));
await start({ module_or_path: new URL(wasm, document.baseURI) });
