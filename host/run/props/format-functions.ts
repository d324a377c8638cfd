/** Decoders of formats as functions that the kernel calls by number: streams with the same settings have one. */
import type { FormatInput, HostDecode } from '../../codecs/define.js';
import { decodeOf, jsonOf } from '../../codecs/index.js';
import type { UserFunction } from '../../plugins/define.js';
import { newUserNumber } from '../../plugins/numbers.js';

const known = new Map<string, UserFunction>();

/**
 * Function that makes JSON of the messages of a stream; undefined where the host does not decode the format. Throws the
 * reason when it can't be.
 */
export function formatDecoder(format: string, stream: FormatInput): UserFunction | undefined {
  return hostDecoder(decodeOf(format)?.host, format, stream);
}

/**
 * Function that makes JSON of payloads, or of messages that have some; undefined where they are JSON. Throws as
 * `formatDecoder`.
 */
export function jsonDecoder(format: string, stream: FormatInput, delimiter = ','): UserFunction | undefined {
  if (format === 'delimited') {
    const columns = orderedColumns(format, stream.props, stream.schema);
    return decoder(format, {
      delimiter,
      columns: columns?.map(({ name, type }) => ({ name, type: type.type })) ?? null,
    });
  }
  return hostDecoder(jsonOf(format), format, stream);
}

/** Columns in the order of the values of a message: as the properties of the source name them, or as declared. */
export function orderedColumns(format: string, props: FormatInput['props'], schema: FormatInput['schema']) {
  const names = decodeOf(format)?.columns?.(props);
  if (names === undefined) return schema;
  return names.map(
    (name) => schema?.find((column) => column.name === name) ?? { name, type: { type: 'any' as const } },
  );
}

function hostDecoder(host: HostDecode | undefined, format: string, stream: FormatInput): UserFunction | undefined {
  if (host === undefined) return undefined;
  const settings = host.settings?.(stream) ?? {};
  return host.isNeeded?.(settings) === false ? undefined : decoder(format, settings);
}

function decoder(format: string, settings: Readonly<Record<string, unknown>>): UserFunction {
  const key = JSON.stringify([format, settings]);
  let fn = known.get(key);
  if (fn === undefined) {
    const name = `format ${format}`;
    const number = newUserNumber(name);
    fn = {
      name,
      owner: name,
      number,
      code: { kind: 'format', name: format, version: number, settings },
      entry: 'decode',
      isAggregate: false,
      args: { min: 1, max: 1 },
    };
    known.set(key, fn);
  }
  return fn;
}
