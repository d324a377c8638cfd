/** Refusals of WebAssembly modules and descriptions of external services, read with the first of them. */
import { errorTable } from '../../base/errors.js';

export const moduleErrors = errorTable('module', {
  severalModules: [
    'general',
    (names: string, name: string) => `the archive has several modules (${names}), but no file ${name}.wasm at its root`,
  ],
  noModule: ['general', 'the archive has no file that ends with .wasm'],
  manifestSize: ['general', (path: string, most: number) => `invalid zip archive: ${path} has more than ${most} bytes`],
  tooManyFiles: [
    'general',
    (path: string, most: number) =>
      `invalid zip archive: ${path} is one of more than ${most} files below files/ (plugin.wasm.maxFiles)`,
  ],
  filesSize: [
    'general',
    (path: string, bytes: number, most: number) =>
      `invalid zip archive: with ${path} the files below files/ have ${bytes} bytes, ` +
      `at most ${most} are allowed (plugin.wasm.maxFilesBytes)`,
  ],
  size: ['general', (size: number, most: number) => `it has ${size} bytes, at most ${most} are allowed`],
  installedByOther: ['general', (name: string) => `a request has installed another wasm plugin ${name}`],
  limit: [
    'general',
    (name: string, given: unknown, most: number) =>
      `invalid body: limits.${name} is ${given}, the configuration allows ${most} (plugin.wasm.${name})`,
  ],
  wasiEnv: ['general', (name: string) => `invalid body: wasi.env.${name} must be a text`],
  notProtobuf: ['general', (reason: string) => `it is no protobuf schema: ${reason}`],
  method: ['general', (name: string, reason: string) => `method ${name}: ${reason}`],
});
