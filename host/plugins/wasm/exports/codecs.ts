/** Codecs of a plugin as functions: one makes JSON of a message, the other a message of JSON. */
import type { PluginCodec, PluginFunction, PluginManifest } from '../../manifest.js';

export type Direction = 'decode' | 'encode';

export const directions: readonly Direction[] = ['decode', 'encode'];

/** Name of the function of a codec, which is no name in SQL: `frame.decode`. */
function codecEntry(codec: string, direction: Direction): string {
  return `${codec}.${direction}`;
}

/** Function of a codec for one direction; undefined when the codec lacks it. */
export function codecFunction(codec: PluginCodec, direction: Direction): PluginFunction | undefined {
  const exported = codec[direction];
  if (exported === undefined) return undefined;
  const decodes = direction === 'decode';
  return {
    name: codecEntry(codec.name, direction),
    export: exported,
    args: [decodes ? { name: 'message', type: 'bytea' } : { name: 'rows', type: 'string' }],
    result: decodes ? 'string' : 'bytea',
    nulls: 'skip',
    batch: codec.batch === true,
  };
}

/** The functions of all codecs, with the field of the manifest that names the export of each. */
export function codecFunctions({ codecs = [] }: PluginManifest): (readonly [fn: PluginFunction, field: string])[] {
  return codecs.flatMap((codec, i) =>
    directions.flatMap((direction) => {
      const fn = codecFunction(codec, direction);
      return fn === undefined ? [] : [[fn, `codecs[${i}].${direction}`] as const];
    }),
  );
}
