/** Refusals of schemas, and of codecs that they name. */
import { errorTable } from '../../base/errors.js';

export const schemaErrors = errorTable('schema', {
  exists: ['general', (name: string) => `schema ${name} already registered`],
  missing: ['stream', (name: string) => `schema ${name} is not found`],
  missingOfType: ['stream', (type: string, name: string) => `schema ${name} of type ${type} is not found`],
  invalid: ['general', (name: string, reason: string) => `schema ${name}: ${reason}`],
  notThere: ['general', (name: string) => `schema ${name} is not found`],
  unknownType: ['general', (type: string, types: string) => `unknown schema type ${type}, there are ${types}`],
  oldVersion: [
    'general',
    (name: string, stored: unknown, given: unknown) =>
      `schema ${name} of version ${stored} is not replaced by one ${given}: it must be greater`,
  ],
  noUpload: ['general', 'a schema of type custom is no file: it has a plugin or a soFile'],
  severalFiles: ['general', (count: number) => `invalid body: the form has ${count} fields file, one is allowed`],
  noFile: ['general', 'invalid body: the form has no field file'],
  noPlugin: ['general', 'invalid body: plugin, the name of a WebAssembly plugin, or soFile is required'],
  pluginOfOther: ['general', (type: string) => `invalid body: plugin is for schemas of type custom, not ${type}`],
  nativeCodec: [
    'general',
    (name: string) =>
      `schema ${name} has a native library (soFile) only, which is not loaded: its plugin has to be named`,
  ],
  nativeMessages: [
    'stream',
    (name: string) => `schema ${name} has a native library (soFile) for its messages, which is not loaded`,
  ],
  noCodecPlugin: [
    'general',
    (name: string) => `schema ${name} of type custom is not found, nor is a wasm plugin of that name`,
  ],
  codec: ['general', (name: string, reason: string) => `schema ${name}: ${reason}`],
  pluginMissing: ['general', (plugin: string) => `wasm plugin ${plugin} is not found`],
  noCodecs: ['general', (plugin: string) => `wasm plugin ${plugin} has no codecs`],
  severalCodecs: [
    'general',
    (plugin: string, codecs: string, example: string) =>
      `wasm plugin ${plugin} has the codecs ${codecs}: name one, as ${example}`,
  ],
  noCodec: [
    'general',
    (plugin: string, wanted: string, codecs: string) =>
      `wasm plugin ${plugin} has no codec ${wanted}, it has ${codecs}`,
  ],
  messageUnnamed: ['stream', (name: string) => `message type of schema ${name} is not named, expected ${name}.Message`],
  noMessage: ['stream', (message: string, name: string) => `message type ${message} not found in schema ${name}`],
  columns: ['stream', (most: number) => `the message has more than ${most} columns, members of messages among them`],
  unreadable: ['stream', (name: string, reason: string) => `schema ${name} can't be read: ${reason}`],
});
