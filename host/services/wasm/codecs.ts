/**
 * Codecs that streams and actions name: a schema of type custom stands for those of a plugin, as does the plugin's own
 * name.
 */
import { HaumeaError } from '../../base/errors.js';
import type { FindCodec } from '../../plugins/define.js';
import { schemaErrors } from '../errors/schemas.js';
import type { SchemaService } from '../schemas/schemas.js';
import type { WasmPlugins } from './plugins.js';

/** Finds the codec of a schema or plugin: `frames`, or `frames.reading` where there are several. */
export function codecFinder(schemas: SchemaService, plugins: WasmPlugins): FindCodec {
  return (schemaId) => {
    const at = schemaId.indexOf('.');
    const name = at < 0 ? schemaId : schemaId.slice(0, at);
    const named = schemas.pluginOf(name);
    if (named === '') {
      throw schemaErrors.nativeCodec(name);
    }
    if (named === undefined && !plugins.has(name)) {
      throw schemaErrors.noCodecPlugin(name);
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
      throw schemaErrors.codec(name, error.message);
    }
  };
}

/** Throws when there is no plugin of the name, or none with codecs. */
export function checkCodecs(plugins: WasmPlugins, plugin: string): readonly string[] {
  if (!plugins.has(plugin)) throw schemaErrors.pluginMissing(plugin);
  const codecs = plugins.codecs(plugin);
  if (codecs.length === 0) throw schemaErrors.noCodecs(plugin);
  return codecs;
}

/** Name of the codec that is meant. */
function codecOf(plugins: WasmPlugins, plugin: string, wanted: string | undefined, name: string): string {
  const codecs = checkCodecs(plugins, plugin);
  const [only, other] = codecs;
  if (wanted === undefined) {
    if (only !== undefined && other === undefined) return only;
    throw schemaErrors.severalCodecs(plugin, codecs.join(', '), `${name}.${only}`);
  }
  if (codecs.includes(wanted)) return wanted;
  throw schemaErrors.noCodec(plugin, wanted, codecs.join(', '));
}
