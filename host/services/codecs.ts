/** Codecs that streams and actions name: a schema of type custom stands for those of a plugin, as does the plugin's own name. */
import { HaumeaError } from '../base/errors.js';
import type { FindCodec } from '../plugins/define.js';
import type { SchemaService } from './schemas.js';
import type { WasmPlugins } from './wasm-plugins.js';

/** Finds the codec of a schema or plugin: `frames`, or `frames.reading` where there are several. */
export function codecFinder(schemas: SchemaService, plugins: WasmPlugins): FindCodec {
  return (schemaId) => {
    const at = schemaId.indexOf('.');
    const name = at < 0 ? schemaId : schemaId.slice(0, at);
    const named = schemas.pluginOf(name);
    if (named === '') {
      throw refuse(
        `schema ${name} has a native library (soFile) only, which is not loaded: its plugin has to be named`,
      );
    }
    if (named === undefined && !plugins.has(name)) {
      throw refuse(`schema ${name} of type custom is not found, nor is a wasm plugin of that name`);
    }
    const plugin = named ?? name;
    try {
      const codec = codecOf(plugins, plugin, at < 0 ? undefined : schemaId.slice(at + 1), name);
      return {
        title: `codec ${codec} of wasm plugin ${plugin}`,
        decode: plugins.codec(plugin, codec, 'decode'),
        encode: plugins.codec(plugin, codec, 'encode'),
      };
    } catch (error) {
      if (named === undefined || !(error instanceof HaumeaError)) throw error;
      throw refuse(`schema ${name}: ${error.message}`);
    }
  };
}

/** Throws when there is no plugin of the name, or none with codecs. */
export function checkCodecs(plugins: WasmPlugins, plugin: string): readonly string[] {
  if (!plugins.has(plugin)) throw refuse(`wasm plugin ${plugin} is not found`);
  const codecs = plugins.codecs(plugin);
  if (codecs.length === 0) throw refuse(`wasm plugin ${plugin} has no codecs`);
  return codecs;
}

/** Name of the codec that is meant. */
function codecOf(plugins: WasmPlugins, plugin: string, wanted: string | undefined, name: string): string {
  const codecs = checkCodecs(plugins, plugin);
  const [only, other] = codecs;
  if (wanted === undefined) {
    if (only !== undefined && other === undefined) return only;
    throw refuse(`wasm plugin ${plugin} has the codecs ${codecs.join(', ')}: name one, as ${name}.${only}`);
  }
  if (codecs.includes(wanted)) return wanted;
  throw refuse(`wasm plugin ${plugin} has no codec ${wanted}, it has ${codecs.join(', ')}`);
}

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}
