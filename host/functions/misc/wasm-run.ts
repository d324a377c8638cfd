import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'wasm_run',
  category: 'misc',
  args: [
    { name: 'function', type: 'string' },
    { name: 'values', type: 'any', optional: true, variadic: true },
  ],
  returns: 'any',
  nulls: 'handles',
  doc:
    'Calls a function of a WebAssembly plugin, named in the statement itself: plugin.function, or the function ' +
    'alone.',
  example: "wasm_run('geo.distance', a, b)",
  special: 'wasmRun',
});
