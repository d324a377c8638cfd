/** What a source or sink says while its plugin is away: it comes back by itself with the plugin. */
export function missingPlugin(name: string): Error {
  return new Error(`wasm plugin ${name} is not there any more, or is no program`);
}
